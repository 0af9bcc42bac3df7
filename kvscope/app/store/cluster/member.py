"""One of several web processes on one PostgreSQL: it leads, or follows the one that does and waits to lead.

Whoever holds the advisory lock leads. The database frees it with the leader's connection, so at once when the leader is
killed. A leader that is frozen keeps its connections; it is believed gone when its row in `lead` has not changed for
`SILENT_S`, and then its connections are ended from here. Should it go on, it finds another epoch in that row, and
ends.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvscope.app.store.cluster import lead as leading
from kvscope.app.store.cluster.lead import Following, Lead
from kvscope.app.store.cluster.news import Listener, Teller
from kvscope.app.store.database import WORKING, failing_as
from kvscope.app.store.errors import Fenced, StoreError
from kvscope.app.store.locks import discard
from kvscope.app.store.runs import RunLog

LOOK_S = 0.25
BEAT_S = 1.0
SILENT_S = 10.0
"""After so long without a change of its row the leader is believed gone."""
FORMER_FIRST_S = 3.0
"""How long the former leader alone may take the lock when the database was away."""
SUPERSEDED = "Another web process leads now. This one ends and starts again."


def new_name() -> str:
    """A name for the connections of one process."""
    return f"kvscope {secrets.token_hex(8)}"


class Member:
    """This process. `watched` and `viewers`: what its viewers have open, and how many they are.

    `resign` gets a line for the operator, and ends the process: what it has in memory is another one's now.
    """

    def __init__(
        self,
        runs: RunLog,
        name: str,
        address: str,
        watched: Callable[[], set[str]],
        viewers: Callable[[], int],
        resign: Callable[[str], None],
        report: Callable[[str], None],
    ) -> None:
        self._runs, self._name, self._address = runs, name, address
        self._watched, self._viewers, self._resign, self._report = watched, viewers, resign, report
        self._on_lead: Callable[[], None] = lambda: None
        self._connection: sa.Connection | None = None
        self._backend = 0
        """Of the connection that holds the lock, or held it last."""
        self._lead: Lead | None = None
        self._mine: Lead | None = None
        self._locked = self._away = False
        self._not_before = self._changed = self._said = 0.0
        self._teller: Teller | None = None
        self._listener = Listener(runs.engine, runs.hear, runs.go_deaf)
        self._taking = Lock()
        self._retired = False
        self._over = Event()
        self._thread = Thread(target=self._serve, name="hold-member", daemon=True)
        runs.follow()

    def start(self, on_lead: Callable[[], None]) -> None:
        """Follow, and take over where nobody leads: `on_lead` is called once, when this process begins to lead."""
        self._on_lead = on_lead
        self._listener.start()
        self._thread.start()

    def retire(self) -> None:
        """Do not begin to lead any more."""
        with self._taking:
            self._retired = True

    def close(self) -> None:
        """End, and let go of the lock."""
        self._over.set()
        self._listener.close()
        if self._thread.is_alive():
            self._thread.join()
        if self._teller is not None:
            self._teller.close()
        if self._mine is None and self._connection is not None:
            with suppress(SQLAlchemyError):
                leading.forget_follower(self._connection, self._name)
        self._drop()

    @property
    def leads(self) -> bool:
        """Whether this process leads."""
        return self._mine is not None

    @property
    def lead(self) -> Lead | None:
        """Who leads, as this process last saw it; None where nobody does yet or the database is away."""
        return self._mine or self._lead

    def following(self) -> Following:
        """What the others that follow said of their viewers. Raises StoreError."""
        with failing_as("The database cannot be read"), self._runs.engine.begin() as connection:
            return leading.following(connection)

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                self._look()
            except (SQLAlchemyError, StoreError):  # the database is away, which others report
                self._drop()
                self._lead, self._locked, self._away = None, False, True
            self._over.wait(LOOK_S)

    def _look(self) -> None:
        if self._connection is None:
            self._connection = self._runs.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._changed = time.monotonic()
            self._not_before = self._changed + (FORMER_FIRST_S if self._away else 0.0)
        if self._mine is None:
            self._stand_by(self._connection)
        else:
            self._hold(self._connection, self._mine)

    def _stand_by(self, connection: sa.Connection) -> None:
        """Follow; lead where nobody does."""
        self._away = False
        seen = leading.current(connection)
        now = time.monotonic()
        if seen != self._lead:
            self._lead, self._changed = seen, now
        if now >= self._said + BEAT_S:
            leading.report_follower(connection, self._name, self._viewers(), self._watched())
            self._said = now
        if seen is not None and now > self._changed + SILENT_S:
            self._report(f"The web process that leads, at {seen.address}, has been silent for {SILENT_S:g} s.")
            leading.end_connections(connection, seen.process)
            self._changed = now
        if now >= self._not_before and self._try_lock(connection):
            self._begin(connection, seen)

    def _begin(self, connection: sa.Connection, former: Lead | None) -> None:
        """Lead: who led before stores nothing from here on."""
        with self._taking:
            if self._retired:
                return
            if former is not None:
                leading.end_connections(connection, former.process)
            mine = leading.take(connection, self._name, self._address)
            leading.forget_follower(connection, self._name)
            self._listener.stop()
            self._locked, self._said = True, time.monotonic()
            self._teller = Teller(self._runs.engine, mine.epoch, self._runs.heads)
            self._teller.start()
            try:
                self._runs.lead(lambda connection: self._claim(connection, mine.epoch), self._teller.tell)
                self._on_lead()
            except StoreError as error:
                self._resign(f"This web process cannot lead: {error}")
                return
            self._mine = mine
        if former is not None:
            self._report("This web process leads now.")

    def _hold(self, connection: sa.Connection, mine: Lead) -> None:
        """Show that this process lives; take the lock again where the database was away."""
        now = time.monotonic()
        if not self._locked:
            leading.end_connections(connection, self._name, of=self._backend)  # which may not have heard of its end
            self._locked = self._try_lock(connection)
        elif now < self._said + BEAT_S:
            return
        self._said = now
        if not leading.beat(connection, mine.epoch):
            self._resign(SUPERSEDED)
        elif self._locked and self._away:
            self._runs.recover()
            self._away = False

    def _claim(self, connection: sa.Connection, epoch: int) -> None:
        try:
            leading.claim(connection, epoch)
        except Fenced:
            self._resign(SUPERSEDED)
            raise

    def _try_lock(self, connection: sa.Connection) -> bool:
        locked = bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(WORKING))))
        if locked:
            self._backend = connection.scalar(sa.select(sa.func.pg_backend_pid())) or 0
        return locked

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            discard(connection)
