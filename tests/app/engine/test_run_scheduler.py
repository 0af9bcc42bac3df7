"""Runs are let in, stand in line, are paused and give way."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.queue import Place
from kvscope.app.engine.run_scheduler import TooManyRuns
from kvscope.app.store.budget import Full
from kvscope.app.store.database import LOG_BYTES
from kvscope.model.api import Refused, RunRequest, TwinRequest
from kvscope.model.log.frames import header
from tests.support.engine_side import EngineSide, Started, closed
from tests.support.waiting import eventually


def test_the_open_frame_is_stored_when_a_start_returns(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.2")
    engine.start("a")
    assert header(engine.log.frames("a", -1)[0]).kind == "open"


def test_a_call_without_answer_ends_and_leaves_no_run(engine_side: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_side(model="delay=4", call_timeout_s=2)
    engine.start("a", max_new_tokens=256)
    call = engine.calls.call
    monkeypatch.setattr(
        engine.calls,
        "call",
        lambda method, *more, **named: 0 if method == "most_bytes" else call(method, *more, **named),
    )
    time.sleep(0.5)  # or the engine may hear of "b" before the step of "a" that keeps it for four seconds
    with pytest.raises(EngineUnavailable, match="in time"):  # the engine is in the middle of a step
        engine.start("b", max_new_tokens=256)
    assert closed(engine.log, "b") == "stopped"
    assert engine.log.open_runs() == ["a"]


def test_places_are_counted_while_runs_are_still_starting(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1", max_open_runs=2)
    waits: list[Place | None] = []
    threads = [
        Thread(target=lambda run: waits.append(engine.start(run, max_new_tokens=256, client=run)), args=(f"r{number}",))
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engine.log.open_runs()) == 2
    assert waits.count(None) == 2
    assert engine.scheduler.waiting == 4


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
    waits = engine.start("e")
    assert waits is not None
    assert waits.estimate_s is not None


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


def test_a_run_is_in_line_or_has_a_log_at_any_moment(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.001", max_open_runs=1)
    nowhere: list[str] = []

    def ask(run: str) -> None:
        while (
            (waits := engine.scheduler.waits(run)) is not None or not (head := engine.log.head(run)) or not head.closed
        ):
            if waits is None and engine.log.head(run) is None:
                nowhere.append(run)
                return

    for number in range(10):
        engine.start(f"a{number}", max_new_tokens=8)
        engine.start(f"b{number}", max_new_tokens=2)
        reader = Thread(target=ask, args=(f"b{number}",))
        reader.start()
        reader.join()
    assert nowhere == []


def test_what_keeps_a_run_in_line_from_beginning_is_told_when_it_is_asked_for(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    engine.start("a", max_new_tokens=256)
    engine.start("b", prompt="long")
    engine.start("c", max_new_tokens=1)
    engine.scheduler.control("a", "stop")
    assert closed(engine.log, "c") == "length"
    with pytest.raises(Refused, match="600 tokens"):
        engine.scheduler.waits("b")


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


def test_a_paused_run_leaves_the_room_that_it_does_not_use(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1,bytes=20000", max_disk_bytes=ROOM)
    pause(engine, "a")
    assert engine.start("b", max_new_tokens=256) is None or eventually(lambda: engine.log.head("b"))
    assert engine.scheduler.evicted == 1
    assert engine.scheduler.control("a", "resume") == "queued"
    assert engine.log.head("a") is not None
    engine.scheduler.control("b", "stop")
    eventually(lambda: engine.scheduler.waits("a") is None and not engine.scheduler.is_paused("a"))
    engine.scheduler.control("a", "stop")


def test_paused_runs_that_fill_the_disk_are_ended_for_who_comes(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1,bytes=60000", max_disk_bytes=LOG_BYTES + 4_200_000)
    for run in ("a", "b"):
        pause(engine, run, 25)
        step_to(engine, run, 22)
    for number in range(2):
        engine.start(f"c{number}", max_new_tokens=25)
        eventually(partial(engine.log.head, f"c{number}"))
    assert engine.log.head("a") is None, "it made room when it was ended"
    assert "b" in engine.log.open_runs(), "one was enough"


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
    pid = engine.supervisor.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert closed(engine.log, "a") == "interrupted"
    assert closed(engine.log, "b") == "length"


def pause(engine: EngineSide, run: str, tokens: int = 256) -> None:
    """Start a run and pause it. On a busy machine the pause comes a second late: `delay` leaves it the time."""
    engine.start(run, max_new_tokens=tokens)
    assert engine.scheduler.control(run, "pause") == "paused"


def step_to(engine: EngineSide, run: str, tokens: int) -> None:
    """Step a paused run until it has so many tokens, one step after another: it must not end by itself."""
    while (before := len(chosen(engine, run))) < tokens:
        engine.scheduler.control(run, "step")
        eventually(lambda: len(chosen(engine, run)) > before)


def chosen(engine: EngineSide, run: str) -> list[int]:
    return [token for _, token in engine.log.chosen(run)]


def test_paused_runs_give_way_one_by_one_and_go_on_later_where_they_were(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=2)
    pause(engine, "a", 60)
    pause(engine, "b", 60)
    steps = len(chosen(engine, "a"))
    engine.start("c", max_new_tokens=60)
    assert (engine.scheduler.evicted, engine.scheduler.is_paused("a"), engine.scheduler.is_paused("b")) == (
        1,
        True,
        True,
    )
    assert sorted(engine.log.open_runs()) == ["a", "b", "c"]
    assert engine.scheduler.control("a", "resume") == "running"  # b gives way
    assert engine.scheduler.evicted == 1
    assert closed(engine.log, "a") == closed(engine.log, "c") == "length"
    assert engine.scheduler.control("b", "resume") == "running"
    assert closed(engine.log, "b") == "length"
    for run in ("a", "b"):
        frames = list(engine.log.all_frames(run))
        assert [header(frame).seq for frame in frames] == list(range(len(frames)))
        assert chosen(engine, run) == chosen(engine, "c")
        assert len(chosen(engine, run)) == 60 > steps


def test_a_run_that_gave_way_can_be_stepped_and_stopped_and_waits_for_its_turn(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    steps = len(chosen(engine, "a"))
    engine.start("b", max_new_tokens=256)
    assert engine.scheduler.control("a", "pause") == "paused"
    assert engine.scheduler.control("a", "step") == "queued"
    assert not engine.scheduler.is_paused("a")
    engine.scheduler.control("b", "stop")
    eventually(lambda: len(chosen(engine, "a")) == steps + 1)
    eventually(lambda: engine.scheduler.is_paused("a"))
    engine.start("c", max_new_tokens=256)
    assert engine.scheduler.control("a", "stop") == "closed"
    assert engine.log.closing("a") == {"reason": "stopped", "error": None, "steps": steps + 1}


def test_a_paused_study_keeps_its_place_until_it_is_abandoned(engine_side: Started) -> None:
    for after in (60.0, 0.0):
        engine = engine_side(model="delay=0.05", max_open_runs=1, abandoned_after_s=after)
        engine.start("a", max_new_tokens=60)
        closed(engine.log, "a")
        frames = [engine.log.frames("a", seq - 1, 1)[0] for seq in (0, *(seq for seq, _ in engine.log.chosen("a")))]
        engine.scheduler.start(TwinRequest("t", "a", "none", tuple(frames)), study=True)
        assert engine.scheduler.control("t", "pause") == "paused"
        assert (engine.start("b", max_new_tokens=1) is None) == (after == 0.0)
    assert closed(engine.log, "t") == "stopped"


def test_a_pause_that_was_heard_of_after_the_runs_end_gives_no_place_away(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1, abandoned_after_s=0.0)
    engine.start("a", max_new_tokens=256)
    call = engine.calls.call

    def late(method: str, run: str, action: str, **options: Any) -> Any:
        """Whoever pauses is told when somebody else has stopped the run already."""
        status = call(method, run, action, **options)
        call("control", run, "stop")
        assert closed(engine.log, run) == "stopped"
        return status

    with monkeypatch.context() as patch:
        patch.setattr(engine.calls, "call", late)
        assert engine.scheduler.control("a", "pause") == "paused"
    engine.start("b", max_new_tokens=256)
    assert engine.start("c") is not None
    assert engine.log.open_runs() == ["b"]


def test_a_run_that_ends_while_its_place_is_being_taken_gives_it(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    call = engine.calls.call

    def stop_first(method: str, *arguments: Any, **options: Any) -> Any:
        if method == "evict_run":
            call("control", "a", "stop")
        return call(method, *arguments, **options)

    monkeypatch.setattr(engine.calls, "call", stop_first)
    engine.start("b", max_new_tokens=2)
    assert closed(engine.log, "b") == "length"
    assert engine.scheduler.evicted == 0


def test_a_run_that_has_ended_before_its_place_is_taken_gives_it(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    evict = engine.scheduler._evict

    def late(run: str) -> bool:
        engine.scheduler.control(run, "stop")
        assert closed(engine.log, run) == "stopped"
        engine.scheduler._release_ended()
        return evict(run)

    monkeypatch.setattr(engine.scheduler, "_evict", late)
    assert engine.start("b", max_new_tokens=256) is None
    assert engine.log.open_runs() == ["b"]


@pytest.mark.parametrize(("action", "status"), [("stop", "closed"), ("pause", "paused"), ("resume", "queued")])
def test_a_run_can_be_controlled_while_it_is_evicted(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch, action: str, status: str
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    call, refused = engine.calls.call, Event()
    statuses: list[str] = []
    controlling = Thread(target=lambda: statuses.append(engine.scheduler.control("a", action)))

    def control_meanwhile(method: str, *arguments: Any, **options: Any) -> Any:
        """The engine no longer has the run, and the scheduler does not know it yet."""
        try:
            answer = call(method, *arguments, **options)
        except Refused:
            refused.set()
            raise
        if method == "evict_run":
            controlling.start()
            assert refused.wait(30)
        return answer

    monkeypatch.setattr(engine.calls, "call", control_meanwhile)
    engine.start("b", max_new_tokens=256)
    controlling.join()
    assert statuses == [status]


@pytest.mark.parametrize(("action", "status"), [("stop", "closed"), ("pause", "paused"), ("step", "paused")])
def test_a_run_can_be_controlled_while_it_is_readmitted(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch, action: str, status: str
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    engine.start("b", max_new_tokens=1)
    assert closed(engine.log, "b") == "length"
    call, readmitted = engine.calls.call, list[str]()
    statuses: list[str] = []
    controlling = Thread(target=lambda: statuses.append(engine.scheduler.control("a", action)))

    def control_meanwhile(method: str, *arguments: Any, **options: Any) -> Any:
        """The engine has the run again, and the scheduler does not know it yet."""
        answer = call(method, *arguments, **options)
        if method == "readmit":
            readmitted.append(method)
            if not controlling.ident:
                controlling.start()
                controlling.join(0.5)
        return answer

    monkeypatch.setattr(engine.calls, "call", control_meanwhile)
    engine.scheduler.control("a", "resume")
    controlling.join()
    assert statuses == [status]
    assert len(readmitted) == 1
    if action == "stop":
        assert closed(engine.log, "a") == "stopped"
        with pytest.raises(Refused):
            call("control", "a", "pause")
    else:
        assert engine.scheduler.is_paused("a")


def test_of_a_pause_and_a_resume_the_one_that_the_engine_did_last_counts(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.05")
    engine.start("a", max_new_tokens=256)
    call = engine.calls.call

    def overtaken(*arguments: Any, **options: Any) -> Any:
        status = call(*arguments, **options)
        if arguments[-1] == "pause":
            assert engine.scheduler.control("a", "resume") == "running"
        return status

    monkeypatch.setattr(engine.calls, "call", overtaken)
    assert engine.scheduler.control("a", "pause") == "paused"
    assert not engine.scheduler.is_paused("a")
