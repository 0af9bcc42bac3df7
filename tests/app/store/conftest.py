"""A log in each kind of database, and the sessions beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore


@pytest.fixture
def log(tmp_path: Path, database: str | None) -> Iterator[RunLog]:
    with RunLog(tmp_path, database) as log:
        yield log


@pytest.fixture
def store(log: RunLog) -> SessionStore:
    return SessionStore(log)
