"""Sends news of what the leader has stored to the processes that follow, with PostgreSQL's NOTIFY and LISTEN.

The leader reports where the logs of its open runs end: of one log when it has grown, of all every second. It reports
only what it knows to be stored: if it does not learn the outcome of a commit, the frames can still be replaced.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple
from threading import Condition, Event, Thread
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvscope.app.store.head import Head
from kvscope.app.store.runs import News

CHANNEL = "kvscope_log"
EVERYTHING_S = 1.0
"""How often the leader reports all open runs."""
SILENCE_S = 4.0
"""After this time without news, earlier news counts as out of date, and a new connection is opened."""
AGAIN_S = 0.5
RUNS_AT_ONCE = 64
"""Runs in one notification, which has at most 8,000 bytes."""


class Teller:
    """Sends what the leader of an epoch has stored. `everything` returns where the logs of all open runs end."""

    def __init__(self, engine: sa.Engine, epoch: int, everything: Callable[[], News]) -> None:
        self._engine, self._epoch, self._everything = engine, epoch, everything
        self._pending: dict[str, Head | None] = {}
        self._changed = Condition()
        self._over = False
        self._thread = Thread(target=self._serve, name="hold-teller", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Sends the pending news, and ends the thread."""
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()

    def tell(self, news: News) -> None:
        """Sends news soon. Returns without waiting for the database."""
        with self._changed:
            self._pending.update(news)
            self._changed.notify()

    def _serve(self) -> None:
        next_all, over = 0.0, False
        while not over:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._over, max(0.0, next_all - time.monotonic()))
                news, self._pending, over = self._pending, {}, self._over
            if time.monotonic() >= next_all:
                news = {**self._everything(), **news}
                next_all = time.monotonic() + EVERYTHING_S
            # News that is lost with the connection is repeated with all open runs; closed runs are read.
            with suppress(SQLAlchemyError):
                self._send(news)

    def _send(self, news: News) -> None:
        with self._engine.connect() as connection, connection.begin():
            for part in _parts(news):
                message = {"epoch": self._epoch, "runs": {run: head and astuple(head) for run, head in part.items()}}
                connection.execute(sa.select(sa.func.pg_notify(CHANNEL, json.dumps(message, separators=(",", ":")))))


class Listener:
    """Passes the leader's news to `hear`. Calls `deaf` if earlier news may be out of date: the connection is lost, the
    leader changes, or no news came for `SILENCE_S`."""

    def __init__(self, engine: sa.Engine, hear: Callable[[News], None], deaf: Callable[[], None]) -> None:
        self._engine, self._hear, self._deaf = engine, hear, deaf
        self._driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._epoch = 0
        self._over = Event()
        self._thread = Thread(target=self._serve, name="hold-listener", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Passes no news on from now on."""
        self._over.set()

    def close(self) -> None:
        """Ends the thread."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        while not self._over.is_set():
            with suppress(
                SQLAlchemyError, self._driver_error
            ):  # while it waits for news the driver raises its own error
                self._listen()
            if not self._over.is_set():
                self._deaf()
                self._over.wait(AGAIN_S)

    def _listen(self) -> None:
        with self._engine.connect() as pooled:
            pooled.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"LISTEN {CHANNEL}")
            connection: Any = pooled.connection.driver_connection
            pooled.detach()  # otherwise the pool would reuse a connection that listens
            heard = time.monotonic()
            while not self._over.is_set() and time.monotonic() < heard + SILENCE_S:
                for notification in connection.notifies(timeout=AGAIN_S, stop_after=1):
                    if self._take(notification.payload):
                        heard = time.monotonic()

    def _take(self, payload: str) -> bool:
        """Passes one message on. Returns whether it came from the current leader."""
        message = json.loads(payload)
        if self._over.is_set() or message["epoch"] < self._epoch:
            return False
        if message["epoch"] > self._epoch:
            self._deaf()
            self._epoch = message["epoch"]
        self._hear({run: Head(*head) if head else None for run, head in message["runs"].items()})
        return True


def _parts(news: News) -> Iterator[News]:
    """Yields the news in parts; one empty part if there is no news, which shows that the leader lives."""
    runs = list(news)
    for at in range(0, max(1, len(runs)), RUNS_AT_ONCE):
        yield {run: news[run] for run in runs[at : at + RUNS_AT_ONCE]}
