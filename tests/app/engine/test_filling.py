"""A queued request is the same after it was stored, and is filled from the log of the run that it names."""

from pathlib import Path

import pytest

from kvscope.app.engine.filling import METHODS, Request, filled, from_json, to_json
from kvscope.app.store.runs import RunLog
from kvscope.model.api import BeamRequest, ForkRequest, Keeping, Refused, RunRequest, TwinRequest, WorkloadRequest
from kvscope.model.settings import Sampling, Workload
from tests.support.stored import run_of

FORK = ForkRequest("f", "a", 2, 7, ())
TWIN = TwinRequest("t", "a", "kept", (), Keeping("window", 8))
BEAM = BeamRequest("b", "a", 1, 3, 4, [5, 100], b"")
REQUESTS: list[Request] = [
    RunRequest("r", "Où ? 🙂", max_new_tokens=9, sampling=Sampling(strategy="sample", seed=7), owner="somebody"),
    FORK,
    TWIN,
    BEAM,
    WorkloadRequest("w", Workload.model_validate({"requests": [{"prompt": "x"}], "rounds": [{}]})),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_request_comes_back_as_it_was_stored(request_: Request) -> None:
    assert from_json(METHODS[type(request_)], to_json(request_)) == request_


def test_what_another_version_stored_is_refused() -> None:
    for kind, text in (("dance", "{}"), ("start", "{}"), ("start", "no JSON")):
        with pytest.raises(ValueError, match=r".+"):
            from_json(kind, text)


def test_what_names_another_run_gets_its_frames(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        log.append(run_of("a", 3))
        frames = list(log.all_frames("a"))
        fork, twin, beam = (filled(request, log) for request in (FORK, TWIN, BEAM))
        assert list(fork.frames) == frames[:5]
        assert list(twin.frames) == [frames[0], frames[2], frames[4], frames[6]]
        assert beam.opening == frames[0]
        assert filled(REQUESTS[0], log) is REQUESTS[0]


@pytest.mark.parametrize("request_", [FORK, TWIN, BEAM], ids=lambda request: type(request).__name__)
def test_what_names_a_run_that_was_deleted_is_refused(tmp_path: Path, request_: Request) -> None:
    with RunLog(tmp_path) as log, pytest.raises(Refused, match="was deleted"):
        filled(request_, log)
