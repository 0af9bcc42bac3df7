"""A database that goes away and comes back, in the process that uses it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import sqlalchemy as sa

Fault = Callable[[sa.Engine], AbstractContextManager[None]]


@contextmanager
def away(engine: sa.Engine, why: Exception = sqlite3.OperationalError("disk I/O error")) -> Iterator[None]:  # noqa: B008
    """While this lasts, every statement fails."""

    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        raise sa.exc.OperationalError(statement, {}, why)

    sa.event.listen(engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        sa.event.remove(engine, "before_cursor_execute", fail)


@contextmanager
def crowded(engine: sa.Engine) -> Iterator[None]:
    """While this lasts, others have all connections, and nobody waits long for one."""
    pool: Any = engine.pool
    patience = pool._timeout
    with ExitStack() as others:
        # One that is in use is waited for: it is given back in a moment.
        for _ in range(pool.size() + pool._max_overflow):
            others.enter_context(engine.connect())
        pool._timeout = 0.01
        yield
    pool._timeout = patience
