"""A log that begins with another run's fits where the other fitted."""

from __future__ import annotations

import numpy as np
import pytest

from kvscope.model.api import ForkRequest, Frame, Refused
from kvscope.model.log.derived import LARGEST_OPENING, MOST_RECOMPUTED, forked, study_opening
from kvscope.model.log.frames import MAX_OPENING_BYTES, encode, header

LONGEST = "0123456789abcdef" * 4
"""As long as an id of a run may be."""
MOST = 2**31
TOP = {"top_ids": np.array([1, 2], np.int32), "top_logits": np.array([0.0, -1.0], np.float32)}
STUDIES = [
    {"kind": "twin", "of": LONGEST, "cache": "forgotten"},
    {"kind": "beam", "of": LONGEST, "step": MOST, "beams": MOST, "length": MOST},
]


def opening(size: int) -> bytes:
    """An `open` frame of exactly so many bytes, with all that a fork or a study changes as short as can be."""
    data = {"prompt": "", "limits": {"max_new_tokens": 1}, "parent": None, "study": None}
    data["created"] = "2026-01-01T00:00:00+00:00"
    empty = encode("a", 0, "open", data)
    made = encode("a", 0, "open", {**data, "prompt": "x" * (size - len(empty.payload))})
    assert len(made.payload) == size
    return made.payload


def fork(payload: bytes) -> list[Frame]:
    data = {"step": 0, "log_z": 0.0, "token": {"id": 1}}
    step = encode("a", 1, "step", data, TOP).payload
    return forked(ForkRequest(LONGEST, LONGEST, MOST, MOST, (payload, step)), {"id": MOST}, MOST_RECOMPUTED)


def test_a_fork_of_the_largest_run_fits() -> None:
    made, step = fork(opening(LARGEST_OPENING))
    assert LARGEST_OPENING < len(made.payload) <= MAX_OPENING_BYTES
    parent = {"run": LONGEST, "position": MOST, "token": MOST, "recomputed": MOST_RECOMPUTED}
    assert header(made.payload).data["parent"] == parent
    assert header(step.payload).data["token"]["forced"]
    again, _ = forked(
        ForkRequest(LONGEST, LONGEST, MOST, MOST, (made.payload, step.payload)), {"id": MOST}, MOST_RECOMPUTED
    )
    assert len(again.payload) == len(made.payload)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_of_the_largest_run_fits(study: dict[str, object]) -> None:
    made = study_opening(opening(LARGEST_OPENING), LONGEST, study, MOST)
    assert LARGEST_OPENING < len(made.payload) <= MAX_OPENING_BYTES
    data = header(made.payload).data
    assert (data["study"], data["parent"], data["limits"]["max_new_tokens"]) == (study, None, MOST)


@pytest.mark.parametrize("study", STUDIES)
def test_what_an_older_log_has_no_room_for_is_refused(study: dict[str, object]) -> None:
    full = opening(MAX_OPENING_BYTES)
    for derive in (lambda: fork(full), lambda: study_opening(full, LONGEST, study, 5)):
        with pytest.raises(Refused, match=r"would have 52\d,\d{3} bytes; the limit is 524,288\.$") as refused:
            derive()
        assert (refused.value.field, refused.value.limit, refused.value.status) == ("run", MAX_OPENING_BYTES, 409)
