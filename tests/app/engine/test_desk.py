"""Runs are let in, counted, paused and, when their place is needed, stopped."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.desk import TooManyRuns
from kvscope.model.api import RunRequest
from kvscope.model.log.frames import header
from tests.support.engine_side import EngineSide, Started, closed


def test_the_open_frame_is_stored_when_a_start_returns(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.2")
    engine.desk.start(RunRequest("a", "abc"))
    assert header(engine.log.frames("a", -1)[0]).kind == "open"


def test_a_call_without_answer_ends_and_leaves_no_run(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.5", call_timeout_s=0.1)
    engine.desk.start(RunRequest("a", "abc", max_new_tokens=256))
    with pytest.raises(EngineUnavailable, match="in time"):  # the engine is in the middle of a step
        engine.desk.start(RunRequest("b", "abc", max_new_tokens=256))
    assert closed(engine.log, "b") == "stopped"
    assert engine.log.open_runs() == ["a"]


def test_places_are_counted_while_runs_are_still_starting(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1", max_open_runs=2)
    refused: list[TooManyRuns] = []

    def start(run: str) -> None:
        try:
            engine.desk.start(RunRequest(run, "abc", max_new_tokens=256))
        except TooManyRuns as error:
            refused.append(error)

    threads = [Thread(target=start, args=(f"r{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engine.log.open_runs()) == 2
    assert len(refused) == 4


def pause(engine: EngineSide, run: str) -> None:
    engine.desk.start(RunRequest(run, "abc", max_new_tokens=256))
    assert engine.desk.control(run, "pause") == "paused"


def test_the_place_of_the_run_that_was_paused_first_is_given_away(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.01", max_open_runs=2, abandoned_after_s=0.0)
    pause(engine, "a")
    pause(engine, "b")
    engine.desk.start(RunRequest("c", "abc", max_new_tokens=256))
    assert closed(engine.log, "a") == "stopped"
    assert engine.log.open_runs() == ["b", "c"]
    assert engine.desk.is_paused("b")


def test_a_run_that_was_paused_a_moment_ago_keeps_its_place(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.01", max_open_runs=1, abandoned_after_s=60.0)
    pause(engine, "a")
    with pytest.raises(TooManyRuns):
        engine.desk.start(RunRequest("b", "abc"))
    assert engine.log.open_runs() == ["a"]


def test_a_pause_that_was_heard_of_after_the_runs_end_gives_no_place_away(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.01", max_open_runs=1, abandoned_after_s=0.0)
    engine.desk.start(RunRequest("a", "abc", max_new_tokens=256))
    call = engine.calls.call

    def late(method: str, run: str, action: str, **options: Any) -> Any:
        """Whoever pauses is told when somebody else has stopped the run already."""
        status = call(method, run, action, **options)
        call("control", run, "stop")
        assert closed(engine.log, run) == "stopped"
        return status

    with monkeypatch.context() as patch:
        patch.setattr(engine.calls, "call", late)
        assert engine.desk.control("a", "pause") == "paused"
    engine.desk.start(RunRequest("b", "abc", max_new_tokens=256))
    with pytest.raises(TooManyRuns):
        engine.desk.start(RunRequest("c", "abc"))
    assert engine.log.open_runs() == ["b"]


def test_a_run_that_ends_while_its_place_is_being_taken_gives_it(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.01", max_open_runs=1, abandoned_after_s=0.0)
    pause(engine, "a")
    call = engine.calls.call

    def stop_first(method: str, *arguments: Any, **options: Any) -> Any:
        if arguments == ("a", "stop"):
            call(method, *arguments)
        return call(method, *arguments, **options)

    monkeypatch.setattr(engine.calls, "call", stop_first)
    engine.desk.start(RunRequest("b", "abc", max_new_tokens=2))
    assert closed(engine.log, "b") == "length"


def test_of_a_pause_and_a_resume_the_one_that_the_engine_did_last_counts(
    engine_side: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_side(model="delay=0.01")
    engine.desk.start(RunRequest("a", "abc", max_new_tokens=256))
    call = engine.calls.call

    def overtaken(*arguments: Any, **options: Any) -> Any:
        status = call(*arguments, **options)
        if arguments[-1] == "pause":
            assert engine.desk.control("a", "resume") == "running"
        return status

    monkeypatch.setattr(engine.calls, "call", overtaken)
    assert engine.desk.control("a", "pause") == "paused"
    assert not engine.desk.is_paused("a")
