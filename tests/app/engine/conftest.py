"""The web process's side of an engine that runs the fake model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kvscope.app.engine.calls import Calls
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.storing import Storing
from kvscope.app.engine.supervisor import Supervisor
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from tests.support.engine_side import EngineSide, Started
from tests.support.waiting import eventually


@pytest.fixture
def said() -> list[str]:
    """What the operator was told."""
    return []


@pytest.fixture
def engine_side(settings: Settings, said: list[str]) -> Iterator[Started]:
    """Makes started ones, whose model is loaded."""
    made: list[EngineSide] = []

    def make(**changes: object) -> EngineSide:
        mine = replace(settings, data_dir=settings.data_dir / str(len(made)), **changes)  # type: ignore[arg-type]
        log, calls = RunLog(mine.data_dir), Calls(mine.call_timeout_s)
        storing = Storing(log, calls, said.append)
        budget = Budget(log, SessionStore(log), (), set, mine.max_disk_bytes, said.append)
        scheduler = RunScheduler(log, calls, storing, budget, mine)
        scheduler.open()
        made.append(EngineSide(log, calls, Supervisor(calls, storing, mine, said.append), scheduler))
        made[-1].supervisor.start()
        eventually(lambda: made[-1].supervisor.readiness.state == "ready")
        return made[-1]

    yield make
    for engine in made:
        engine.close()
