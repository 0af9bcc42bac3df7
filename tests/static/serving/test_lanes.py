"""The lanes on a session's card are those that the page draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvscope.app.travel.lanes import lanes_of
from kvscope.model.log.frames import header, split
from tests.support.node import answer_of
from tests.support.recorded import SERVING

SCRIPT = Path(__file__).with_name("lanes-answer.js")


@pytest.mark.parametrize("count", [4, 20, None], ids=["begun", "in the middle", "whole"])
def test_python_and_the_page_have_the_same_lanes(count: int | None) -> None:
    log = [header(frame.payload) for frame in split(SERVING.read_bytes())][:count]
    python = lanes_of(log)
    page = answer_of(SCRIPT, [{"kind": frame.kind, "data": frame.data, "seq": at, "run": "w1"} for at, frame in enumerate(log)])
    assert page["passes"] == python.passes
    for lane, drawn in zip(python.lanes, page["lanes"], strict=True):
        assert (drawn["arrives"], drawn["ends"]) == (lane.arrives, lane.ends)
        assert drawn["words"] == lane.words
        assert drawn["reads"] == [list(read) for read in lane.reads]
