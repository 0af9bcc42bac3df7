"""Connections to PostgreSQL with a time limit, and the lock that lets only one server use a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvscope.app.store.locks import discard
from kvscope.app.store.rounds import Rounds

ANSWER_S = 10.0
"""How long a statement may take. No statement of a server takes 1 s."""
LOOK_S = 2.0
Value = TypeVar("Value")


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server does not answer: a frozen or unreachable server sends no error."""

    answer_s = ANSWER_S

    def wait(self, gen: Generator[Any, Any, Value], *more: Any, **named: Any) -> Value:
        """Waits as psycopg does, for at most `answer_s`. Raises psycopg.OperationalError."""
        try:
            return super().wait(_within(gen, self.answer_s), *more, **named)
        except NoAnswer:
            self.close()
            raise


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


def _within(gen: Generator[Any, Any, Value], seconds: float) -> Generator[Any, Any, Value]:
    """Passes `gen` on for at most `seconds`. Raises NoAnswer."""
    deadline, ready = time.monotonic() + seconds, None
    while True:
        try:
            awaited = gen.send(ready)
        except StopIteration as end:
            value: Value = end.value
            return value
        ready = yield awaited
        if time.monotonic() > deadline:
            gen.close()
            raise NoAnswer(f"PostgreSQL did not answer in {seconds:g} s")


class Hold:
    """Has an advisory lock from `start` to `close`, and takes it again after the database was unavailable.

    `report` gets one line if another server has it.
    """

    def __init__(self, engine: sa.Engine, lock: int, report: Callable[[str], None]) -> None:
        self._engine, self._lock, self._report = engine, lock, report
        self._connection: sa.Connection | None = None
        self._reported = False
        self._rounds = Rounds("hold", self._look, LOOK_S, report)

    def start(self) -> None:
        """Takes the lock."""
        self._rounds.start()

    def close(self) -> None:
        """Releases the lock."""
        self._rounds.close()
        self._drop()

    def _look(self) -> None:
        try:
            if self._connection is None:
                self._take()
            else:
                self._connection.scalar(sa.select(1))
        except SQLAlchemyError:  # the database is unavailable, which other parts report; the next look tries again
            self._drop()

    def _take(self) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(self._lock))):
            self._connection, self._reported = connection, False
            return
        connection.close()
        if not self._reported:
            self._report("Another KVScope server uses the same database. Stop one of the two.")
        self._reported = True

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            discard(connection)
