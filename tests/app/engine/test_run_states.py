"""A run is in one state at any moment, and the engine's last answer is the one that counts."""

from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any

import pytest

from tests.support.engine_side import Started, closed


def test_places_are_counted_while_runs_are_still_starting(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.1", max_open_runs=2)
    with ThreadPoolExecutor(6) as pool:
        waits = list(pool.map(lambda run: engine.start(run, max_new_tokens=256), "abcdef"))
    assert len(engine.log.open_runs()) == 2
    assert waits.count(None) == 2
    assert engine.scheduler.waiting == 4


def test_a_run_is_queued_or_has_a_log_at_any_moment(engine_side: Started) -> None:
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


def test_a_pause_that_is_noted_after_the_runs_end_gives_no_place_away(
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
