"""Paused runs are evicted for others, and go on later where they were."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Event
from typing import Any

import pytest

from kvscope.app.store.database import LOG_BYTES
from kvscope.model.api import Refused, TwinRequest
from kvscope.model.log.frames import header
from tests.support.engine_side import EngineSide, Started, closed
from tests.support.waiting import eventually


def pause(engine: EngineSide, run: str, tokens: int = 256) -> None:
    """Start a run and pause it. On a busy machine the pause comes a second late: `delay` leaves it the time."""
    engine.start(run, max_new_tokens=tokens)
    assert engine.scheduler.control(run, "pause") == "paused"


def step_to(engine: EngineSide, run: str, tokens: int) -> None:
    """Step a paused run until it has so many tokens, one step after another: it must not end by itself."""
    while (before := len(engine.chosen(run))) < tokens:
        engine.scheduler.control(run, "step")
        eventually(lambda: len(engine.chosen(run)) > before)


def test_a_paused_run_leaves_the_room_that_it_does_not_use(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1,bytes=20000", max_disk_bytes=LOG_BYTES + 6_500_000)  # not for two
    pause(engine, "a")
    assert engine.start("b", max_new_tokens=256) is None or eventually(lambda: engine.log.head("b"))
    assert engine.scheduler.evicted == 1
    assert engine.scheduler.control("a", "resume") == "queued"
    assert engine.log.head("a") is not None
    engine.scheduler.control("b", "stop")
    eventually(lambda: engine.scheduler.waits("a") is None and not engine.scheduler.is_paused("a"))
    engine.scheduler.control("a", "stop")


def test_evicted_runs_that_fill_the_disk_are_stopped_for_the_next_run(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1,bytes=60000", max_disk_bytes=LOG_BYTES + 4_200_000)
    for run in ("a", "b"):
        pause(engine, run, 25)
        step_to(engine, run, 22)
    for number in range(2):
        engine.start(f"c{number}", max_new_tokens=25)
        eventually(partial(engine.log.head, f"c{number}"))
    assert engine.log.head("a") is None, "it made room when it was ended"
    assert "b" in engine.log.open_runs(), "one was enough"


def test_paused_runs_are_evicted_one_by_one_and_go_on_later_where_they_were(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=2)
    pause(engine, "a", 60)
    pause(engine, "b", 60)
    steps = len(engine.chosen("a"))
    engine.start("c", max_new_tokens=60)
    assert engine.scheduler.evicted == 1
    assert all(map(engine.scheduler.is_paused, "ab"))
    assert sorted(engine.log.open_runs()) == ["a", "b", "c"]
    assert engine.scheduler.control("a", "resume") == "running"  # b is evicted
    assert engine.scheduler.evicted == 1
    assert closed(engine.log, "a") == closed(engine.log, "c") == "length"
    assert engine.scheduler.control("b", "resume") == "running"
    assert closed(engine.log, "b") == "length"
    for run in ("a", "b"):
        frames = list(engine.log.all_frames(run))
        assert [header(frame).seq for frame in frames] == list(range(len(frames)))
        assert engine.chosen(run) == engine.chosen("c")
        assert len(engine.chosen(run)) == 60 > steps


def test_an_evicted_run_can_be_stepped_and_stopped_and_is_queued_for_its_turn(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    steps = len(engine.chosen("a"))
    engine.start("b", max_new_tokens=256)
    assert engine.scheduler.control("a", "pause") == "paused"
    assert engine.scheduler.control("a", "step") == "queued"
    assert not engine.scheduler.is_paused("a")
    engine.scheduler.control("b", "stop")
    eventually(lambda: len(engine.chosen("a")) == steps + 1)
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


@pytest.mark.parametrize(("action", "status"), [("stop", "closed"), ("pause", "paused"), ("resume", "queued")])
def test_a_run_can_be_controlled_while_it_is_evicted(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch, action: str, status: str
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    call, refused, answers = engine.calls.call, Event(), list[Future[str]]()

    def control_meanwhile(method: str, *arguments: Any, **options: Any) -> Any:
        """The engine no longer has the run, and the scheduler does not know it yet."""
        try:
            answer = call(method, *arguments, **options)
        except Refused:
            refused.set()
            raise
        if method == "evict_run":
            answers.append(pool.submit(engine.scheduler.control, "a", action))
            assert refused.wait(30)
        return answer

    monkeypatch.setattr(engine.calls, "call", control_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        engine.start("b", max_new_tokens=256)
    assert [answer.result() for answer in answers] == [status]


@pytest.mark.parametrize(("action", "status"), [("stop", "closed"), ("pause", "paused"), ("step", "paused")])
def test_a_run_can_be_controlled_while_it_is_readmitted(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch, action: str, status: str
) -> None:
    engine = engine_side(model="delay=0.05", max_open_runs=1)
    pause(engine, "a")
    engine.start("b", max_new_tokens=1)
    assert closed(engine.log, "b") == "length"
    call, answers = engine.calls.call, list[Future[str]]()

    def control_meanwhile(method: str, *arguments: Any, **options: Any) -> Any:
        """The engine has the run again, and the scheduler does not know it yet."""
        answer = call(method, *arguments, **options)
        if method == "readmit":
            answers.append(pool.submit(engine.scheduler.control, "a", action))
            wait(answers, 0.5)
        return answer

    monkeypatch.setattr(engine.calls, "call", control_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        engine.scheduler.control("a", "resume")
    assert [answer.result() for answer in answers] == [status]
    if action == "stop":
        assert closed(engine.log, "a") == "stopped"
        with pytest.raises(Refused):
            call("control", "a", "pause")
    else:
        assert engine.scheduler.is_paused("a")
