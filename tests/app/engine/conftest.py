"""The web process's side of an engine that runs the fake model."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.run_scheduler import RunScheduler
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
        log = RunLog(mine.data_dir)
        pool = Pool(log, mine, said.append)
        budget = Budget(log, SessionStore(log), (), set, mine.max_disk_bytes, said.append)
        scheduler = RunScheduler(log, pool, budget, mine)
        scheduler.open()
        made.append(EngineSide(log, pool, scheduler))
        pool.start()
        # An actor of Ray starts slowly on a busy machine.
        eventually(lambda: all(engine.state == "ready" for engine in pool.engines), 120)
        return made[-1]

    yield make
    for engine in made:
        engine.close()
