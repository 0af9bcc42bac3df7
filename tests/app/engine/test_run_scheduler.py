"""Runs start, or are queued until they have a place."""

import time
from typing import Any

import pytest

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.queue import TooManyRuns
from kvscope.app.store.budget import Full
from kvscope.app.store.database import LOG_BYTES
from kvscope.model.api import RunRequest
from kvscope.model.log.frames import header
from tests.support.engine_side import Started, closed
from tests.support.waiting import eventually


def test_the_open_frame_is_stored_when_a_start_returns(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.2")
    engine.start("a")
    assert header(engine.log.frames("a", -1)[0]).kind == "open"


def test_a_call_without_answer_ends_and_leaves_no_run(engine_side: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_side(model="delay=4", call_timeout_s=2)
    engine.start("a", max_new_tokens=256)
    call = engine.calls.call

    def answers(method: str, *more: Any, **named: Any) -> Any:
        return 0 if method == "most_bytes" else call(method, *more, **named)

    monkeypatch.setattr(engine.calls, "call", answers)
    time.sleep(0.5)  # or the engine may hear of "b" before the step of "a" that keeps it for four seconds
    with pytest.raises(EngineUnavailable, match="in time"):  # the engine is in the middle of a step
        engine.start("b", max_new_tokens=256)
    assert closed(engine.log, "b") == "stopped"
    assert engine.log.open_runs() == ["a"]


def test_who_waits_begins_when_a_place_is_free(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    engine.start("a", max_new_tokens=256)
    places = [engine.start(run, max_new_tokens=1) for run in ("b", "c")]
    assert [place.place for place in places if place] == [1, 2]
    assert engine.log.head("b") is None
    engine.scheduler.control("a", "stop")
    assert closed(engine.log, "b") == closed(engine.log, "c") == "length"
    assert engine.scheduler.waits("c") is None
    engine.start("d", max_new_tokens=256)
    assert engine.start("e").estimate_s is not None


def test_a_line_is_as_long_as_it_may_be_for_all_and_for_each(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1, max_waiting=4, max_waiting_by_client=2)
    engine.start("a", max_new_tokens=256)
    for run in ("b", "c"):
        engine.start(run, client="one", address="here")
    with pytest.raises(TooManyRuns, match="2 of your runs are queued") as refused:
        engine.start("d", client="one", address="here")
    assert (refused.value.limit, refused.value.retry_after) == (2, 5)
    engine.start("e", client="made up", address="here")
    with pytest.raises(TooManyRuns, match="3 runs from your address"):
        engine.start("f", client="made up, too", address="here")
    engine.start("g")
    with pytest.raises(TooManyRuns, match="4 runs are queued"):
        engine.start("h")


def test_a_place_is_left_for_others_however_many_names_an_address_makes_up(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.02", max_open_runs=4, max_waiting=4)
    waits = [engine.start(f"r{number}", address="one", max_new_tokens=256) for number in range(6)]
    assert [wait is None for wait in waits] == [True, True, True, False, False, False]
    with pytest.raises(TooManyRuns, match="3 runs from your address"):
        engine.start("r6", address="one")
    assert engine.start("z", address="other", max_new_tokens=1) is None
    assert closed(engine.log, "z") == "length"


ROOM = LOG_BYTES + 6_500_000
"""For a run of 256 tokens whose frames have 20,000 bytes, and not for two."""


def test_a_run_waits_until_the_disk_has_room_for_all_of_it(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1,bytes=20000", max_disk_bytes=ROOM)
    assert engine.start("a", max_new_tokens=256) is None
    with pytest.raises(Full, match="may need"):
        engine.start("never", max_new_tokens=1000)
    assert engine.start("b", max_new_tokens=256) is not None
    engine.scheduler.control("a", "stop")
    eventually(lambda: engine.log.head("b"))
    assert engine.scheduler.waits("b") is None


def test_a_run_leaves_the_line_by_its_token(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    engine.start("a", max_new_tokens=256)
    started = engine.scheduler.start(RunRequest("b", "abc"))
    assert not engine.scheduler.leave("b", "guessed")
    assert engine.scheduler.leave("b", started.token)
    assert engine.scheduler.waiting == 0
    assert not engine.scheduler.leave("b", started.token)


def test_who_waits_outlives_the_engine(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.01", max_open_runs=1)
    engine.start("a", max_new_tokens=256)
    engine.start("b", max_new_tokens=2)
    engine.kill_engine()
    assert closed(engine.log, "a") == "interrupted"
    assert closed(engine.log, "b") == "length"
