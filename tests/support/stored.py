"""Runs and sessions in a database, and what befalls them there."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.value_parts import Values, describe
from kvscope.model.api import Frame
from kvscope.model.log.frames import encode

SQLITE_ONLY = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For tests whose fault is one of SQLite."""


def log_of(run: str, steps: int, *, closed: bool = False, size: int = 100) -> list[Frame]:
    frames = [encode(run, 0, "open", {"tokens": [{"id": 5}], "prompt": "x"})]
    for step in range(steps):
        attention = np.full(size, step, np.uint8)
        frames.append(encode(run, len(frames), "layer", {"step": step}, {"attention": attention}))
        frames.append(encode(run, len(frames), "step", {"step": step, "token": {"id": 100 + step}}))
    if closed:
        frames.append(encode(run, len(frames), "close", {"reason": "length", "error": None, "steps": steps}))
    return frames


def limit_pages(log: RunLog) -> None:
    """A database that may not grow: what SQLite says is what it says of a full disk."""
    log.engine.dispose()
    sa.event.listen(log.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=1"))


def allow_pages(log: RunLog) -> None:
    log.engine.dispose()
    sa.event.listen(log.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=1000000"))


WORDS = {"title": "Où va l'attention ?", "notes": [{"step": 1, "text": "日本語 🙂\nb"}], "open": {"step": 1}}


OTHER = WORDS | {"title": "Another"}


def run_of(run: str, steps: int, **options: Any) -> list[Any]:
    """A closed run that says which model it is of."""
    opening = {"tokens": [{"id": 5}], "prompt": "x", "model": {"name": "fake"}}
    return [encode(run, 0, "open", opening), *log_of(run, steps, closed=True, **options)[1:]]


def count(store: SessionStore, table: sa.Table) -> int:
    with store._engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def change(store: SessionStore, table: sa.Table, column: str, bit: int, **where: Any) -> None:
    """Flip one bit of a stored value, counted from its start."""
    chosen = sa.and_(*(table.c[name] == value for name, value in where.items()))
    with store._engine.begin() as connection:
        value = connection.scalar(sa.select(table.c[column]).where(chosen))
        flipped = bytearray(value.encode() if isinstance(value, str) else value)
        flipped[bit // 8] ^= 1 << bit % 8
        new = flipped.decode("latin1") if isinstance(value, str) else bytes(flipped)
        connection.execute(sa.update(table).where(chosen).values({column: new}))


def values_of(steps: int, size: int = 40) -> Values:
    frames = []
    for step, layer in product(range(steps), range(2)):
        data = {"step": step, "layer": layer, "level": "qkv", "pad": "x" * size}
        frames.append(encode("a", step * 2 + layer, "values", data).payload)
    return Values("qkv", [describe(frame) for frame in frames], lambda: iter(frames))
