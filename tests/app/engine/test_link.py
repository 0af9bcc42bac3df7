"""The link to the engine: calls, deaths, order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Thread

import pytest
import sqlalchemy as sa

from kvscope.app.engine.link import EngineLink, EngineUnavailable, TooManyRuns
from kvscope.app.settings import Settings
from kvscope.app.store.database import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import Refused, RunRequest
from kvscope.model.log.frames import header
from tests.app.conftest import eventually
from tests.app.outage import away, crowded

Link = Callable[..., tuple[EngineLink, RunLog]]


@pytest.fixture
def said() -> list[str]:
    """What the operator was told."""
    return []


@pytest.fixture
def link(settings: Settings, said: list[str]) -> Iterator[Link]:
    """Makes started links, each on a log of its own."""
    made: list[tuple[EngineLink, RunLog]] = []

    def make(**changes: object) -> tuple[EngineLink, RunLog]:
        mine = replace(settings, data_dir=settings.data_dir / str(len(made)), **changes)  # type: ignore[arg-type]
        log = RunLog(mine.data_dir)
        engine = EngineLink(log, mine, said.append)
        made.append((engine, log))
        engine.start()
        eventually(lambda: engine.readiness.state == "ready")
        return made[-1]

    yield make
    for engine, log in made:
        engine.close()
        log.close()


def closed(log: RunLog, run: str) -> str:
    """Why the run ended, once it has."""
    eventually(lambda: (head := log.head(run)) and head.closed)
    closing = log.closing(run)
    assert closing is not None
    return str(closing["reason"])


def test_the_open_frame_is_stored_when_a_start_returns(link: Link) -> None:
    engine, log = link(model="delay=0.2")
    engine.start_run(RunRequest("a", "abc"))
    assert header(log.frames("a", -1)[0]).kind == "open"


def test_a_refusal_crosses_the_pipe_whole(link: Link) -> None:
    engine, log = link()
    with pytest.raises(Refused) as caught:
        engine.start_run(RunRequest("a", "long"))
    assert (caught.value.field, caught.value.limit, caught.value.status) == ("prompt", 512, 413)
    assert log.head("a") is None


def test_runs_advance_together_and_each_log_is_whole(link: Link) -> None:
    engine, log = link(max_open_runs=8)
    threads = [Thread(target=engine.start_run, args=(RunRequest(f"r{n}", "abc", max_new_tokens=20),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert closed(log, f"r{number}") == "length"
        assert [header(payload).seq for payload in log.all_frames(f"r{number}")] == list(range(42))


def test_a_run_that_cannot_be_stored_fails_alone(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, log = link(model="delay=0.01")
    append = log.append
    monkeypatch.setattr(log, "append", lambda frames: append([f for f in frames if (f.run, f.seq) != ("a", 4)]))
    for run in "ab":
        engine.start_run(RunRequest(run, "abc", max_new_tokens=20))
    assert closed(log, "a") == "failed"
    assert closed(log, "b") == "length"
    closing = log.closing("a")
    assert closing is not None
    assert "frame 5 after 3" in closing["error"]


@pytest.mark.parametrize("fault", [away, crowded])
def test_a_database_that_goes_away_ends_the_run_and_nothing_else(
    link: Link, said: list[str], fault: Callable[[sa.Engine], AbstractContextManager[None]]
) -> None:
    engine, log = link(model="delay=0.01")
    engine.start_run(RunRequest("a", "abc", max_new_tokens=200))
    eventually(lambda: (head := log.head("a")) and head.steps > 3)
    with fault(log.engine):
        assert closed(log, "a") == "failed"
        seen = log.head("a")
        assert engine.call("head", [1], 0, 0, 0) == b"head [1] 0 0 0"
        with pytest.raises(StoreError):
            engine.start_run(RunRequest("b", "abc", max_new_tokens=2))
        assert engine.readiness.state == "ready"
    eventually(lambda: not log.has_rest)  # though nothing else is written
    assert log.head("a") == seen
    engine.start_run(RunRequest("c", "abc", max_new_tokens=2))
    assert closed(log, "c") == "length"
    assert said[0].startswith("The run cannot be stored: ")


def test_an_engine_that_dies_while_the_database_is_away_comes_back(link: Link) -> None:
    engine, log = link(model="delay=0.05")
    engine.start_run(RunRequest("a", "abc", max_new_tokens=256))
    pid = engine.pid or 0
    with away(log.engine):
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: engine.readiness.state == "ready" and engine.pid != pid)
    eventually(lambda: not log.has_rest)
    assert closed(log, "a") in ("failed", "interrupted")
    engine.start_run(RunRequest("b", "abc", max_new_tokens=2))
    assert closed(log, "b") == "length"


def test_an_engine_that_dies_interrupts_its_runs_and_comes_back(link: Link) -> None:
    engine, log = link(model="delay=0.05")
    engine.start_run(RunRequest("a", "abc", max_new_tokens=256))
    eventually(lambda: (head := log.head("a")) and head.steps > 3)
    os.kill(engine.pid or 0, signal.SIGKILL)
    assert closed(log, "a") == "interrupted"
    eventually(lambda: engine.readiness.state == "ready")
    engine.start_run(RunRequest("b", "abc", max_new_tokens=2))
    assert closed(log, "b") == "length"


def test_a_call_that_waits_when_the_engine_dies_is_told(link: Link) -> None:
    engine, _ = link(model="delay=5")
    engine.start_run(RunRequest("a", "abc"))
    raised: list[Exception] = []

    def ask() -> None:
        try:
            engine.call("lens", [1])
        except EngineUnavailable as error:
            raised.append(error)

    thread = Thread(target=ask)
    thread.start()
    thread.join(0.2)  # the engine sleeps in its step and has not answered
    os.kill(engine.pid or 0, signal.SIGKILL)
    thread.join(10)
    assert raised


def test_a_call_without_answer_ends_and_leaves_no_run(link: Link) -> None:
    engine, log = link(model="delay=0.5", call_timeout_s=0.1)
    engine.start_run(RunRequest("a", "abc", max_new_tokens=256))
    with pytest.raises(EngineUnavailable, match="in time"):  # the engine is in the middle of a step
        engine.start_run(RunRequest("b", "abc", max_new_tokens=256))
    assert closed(log, "b") == "stopped"
    assert log.open_runs() == ["a"]


def test_places_are_counted_while_runs_are_still_starting(link: Link) -> None:
    engine, log = link(model="delay=0.1", max_open_runs=2)
    refused: list[TooManyRuns] = []

    def start(run: str) -> None:
        try:
            engine.start_run(RunRequest(run, "abc", max_new_tokens=256))
        except TooManyRuns as error:
            refused.append(error)

    threads = [Thread(target=start, args=(f"r{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.open_runs()) == 2
    assert len(refused) == 4


def test_closing_interrupts_what_runs_and_ends_the_engine(settings: Settings) -> None:
    log = RunLog(settings.data_dir)
    engine = EngineLink(log, replace(settings, model="delay=0.01"), lambda line: None)
    engine.start()
    eventually(lambda: engine.readiness.state == "ready")
    engine.start_run(RunRequest("a", "abc", max_new_tokens=256))
    pid = engine.pid or 0
    engine.close()
    assert closed(log, "a") == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    log.close()


def test_a_call_without_an_engine_is_refused_at_once(settings: Settings) -> None:
    log = RunLog(settings.data_dir)
    engine = EngineLink(log, settings, lambda line: None)
    with pytest.raises(EngineUnavailable):
        engine.call("lens", [1])
    log.close()
