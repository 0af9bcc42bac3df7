"""Changed runs as logs, and what is refused of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from kvscope.model.api import ChangedRequest, ChangedRun, Frame, ReadmitRequest
from kvscope.model.log.frames import header
from kvscope.model.log.reader import LogReader
from kvscope.model.service import ModelService
from kvscope.model.settings import MAX_CHANGES, Change
from tests.support.changed_logs import checked
from tests.support.refused import refusal
from tests.support.tiny import check_cache
from tests.support.tiny_runs import (
    chosen,
    datas,
    encoded,
    finish,
    fork_of,
    kinds,
    payloads,
    request,
    run_to_end,
    service,
    twin_of,
    what_twins_need,
)

HEAD_OFF = Change(site="head", op="zero", layer=0, head=1)
MLP_MEAN = Change(site="mlp", op="mean", layer=1)


def asked(parent: list[Frame], *changes: Change, run: str = "changed") -> ChangedRequest:
    return ChangedRequest(run, parent[0].run, changes, (parent[0].payload,))


def changed_run(made: ModelService, *changes: Change) -> tuple[list[Frame], list[Frame]]:
    """The logs of a run and of the changed run that is made from it."""
    parent = run_to_end(made, request(max_new_tokens=8))
    return parent, made.changed(asked(parent, *changes)) + finish(made)


def test_its_log_is_that_of_a_run_and_says_what_is_changed() -> None:
    made = service()
    parent, log = changed_run(made, HEAD_OFF, MLP_MEAN)
    opened, was = datas(log, "open")[0], datas(parent, "open")[0]
    changes = [change.model_dump() for change in (HEAD_OFF, MLP_MEAN)]
    assert opened["changed"] == {"of": "a", "changes": changes}
    other = {"changed": None, "created": "", "prefix": None}
    assert {**opened, **other} == {**was, **other}
    assert opened["prefix"] is None, "it reads nothing of what an earlier run left"
    assert kinds(log) == kinds(parent)
    assert chosen(log) != chosen(parent)
    checked(payloads(log))
    check_cache(made.engine)


def test_its_exact_values_are_those_that_its_frames_show() -> None:
    made = service()
    _, log = changed_run(made, HEAD_OFF)
    run, ids = ChangedRun.of(datas(log, "open")[0]), encoded()
    shown = LogReader(payloads(log))
    for layer in (0, 1):
        exact = safetensors.numpy.load(made.of_changed(run, "head", ids, 0, layer, 2))["weights"]
        assert np.abs(exact - shown.attention(0, layer, 2)).max() < 0.004
    plain = safetensors.numpy.load(made.head(ids, 0, 1, 2))["weights"]
    assert np.abs(exact - plain).max() > 0.004
    again = safetensors.numpy.load(made.head(ids, 0, 1, 2))["weights"]
    assert np.array_equal(plain, again)


def test_what_is_made_from_it_has_its_changes() -> None:
    made = service()
    parent, log = changed_run(made, HEAD_OFF, MLP_MEAN)
    twin = made.twin(twin_of(log, "none")) + finish(made)
    assert chosen(twin) == chosen(log)
    branch = made.fork(fork_of(log, 2, chosen(log)[2])) + finish(made)
    assert chosen(branch) == chosen(log)
    begun = made.changed(asked(parent, HEAD_OFF, MLP_MEAN, run="paused"))
    while len(chosen(begun)) < 3:
        begun += made.advance()
    made.control("paused", "pause")
    begun += made.advance()
    made.evict_run("paused")
    made.readmit(ReadmitRequest("paused", begun[-1].seq + 1, what_twins_need(begun)))
    made.control("paused", "resume")
    assert chosen(begun + finish(made)) == chosen(log)
    check_cache(made.engine)


def test_the_token_that_a_branch_set_stays_set() -> None:
    made = service()
    parent = run_to_end(made, request(max_new_tokens=8))
    other = (chosen(parent)[1] + 1) % 259
    branch = made.fork(fork_of(parent, 1, other, "b")) + finish(made)
    forced = [payload for payload in payloads(branch, ["step"]) if header(payload).data["token"].get("forced")]
    log = made.changed(ChangedRequest("c", "b", (HEAD_OFF,), (branch[0].payload, *forced))) + finish(made)
    assert chosen(log)[1] == other
    assert datas(log, "open")[0]["parent"] is None


PATCH = {"site": "residual", "op": "patch", "layer": 0}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"site": "mlp", "op": "zero", "layer": 2}, "layer"),
        ({"site": "head", "op": "zero", "layer": 0, "head": 4}, "head"),
        ({"site": "v", "op": "zero", "layer": 0, "head": 2}, "head"),
        ({"site": "token", "op": "zero", "position": 512}, "position"),
        ({**PATCH, "source": "The cat"}, "source"),
        ({**PATCH, "source": "The cat sat!", "position": 12}, "position"),
        ({**PATCH, "source": "The cat sat!", "from_step": 1}, "from_step"),
    ],
)
def test_what_it_names_must_be_there(change: dict[str, Any], field: str) -> None:
    made = service()
    parent = run_to_end(made, request())
    assert refusal(made.changed, asked(parent, MLP_MEAN, Change(**change))).field == f"changes[1].{field}"
    assert run_to_end(made, request("after")) is not None
    check_cache(made.engine)


def test_numbers_that_overflow_end_the_run_and_no_other() -> None:
    made = service()
    parent = run_to_end(made, request())
    huge = [Change(site="layer", op="scale", layer=layer, factor=1e9) for layer in (0, 1)] * (MAX_CHANGES // 2)
    log = made.changed(asked(parent, *huge)) + made.start(request("beside"))
    log += finish(made)
    ended = {frame.run: header(frame.payload).data for frame in log if frame.kind == "close"}
    assert ended["changed"]["reason"] == "failed"
    assert "NaN" in ended["changed"]["error"] or "finite" in ended["changed"]["error"]
    assert chosen([frame for frame in log if frame.run == "beside"]) == chosen(parent)
    check_cache(made.engine)


def test_experts_that_a_layer_lacks_are_refused() -> None:
    dense = service()
    parent = run_to_end(dense, request(max_new_tokens=2))
    expert = Change(site="expert", op="zero", layer=0, head=1)
    refused = refusal(dense.changed, asked(parent, expert))
    assert (refused.field, refused.message) == ("changes[0].site", "The MLP of this layer has no experts.")
