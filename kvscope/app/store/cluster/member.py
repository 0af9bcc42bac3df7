"""One of several web processes on one PostgreSQL: it leads, or follows the leader and waits to lead.

The process with the advisory lock leads. The database frees the lock when the leader's connection closes, so at once
when the leader is killed. The connections of a frozen leader stay open. When its row in `lead` has not changed for
`SILENT_S`, a follower ends them. If that leader continues later, it sees another epoch in the row, and ends.
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
"""After this time without a change of its row, the leader counts as ended."""
FORMER_FIRST_S = 3.0
"""How long only the former leader may take the lock after the database was unavailable."""
SUPERSEDED = "Another web process leads now. This one ends and starts again."


def new_name() -> str:
    """Returns a new name for the connections of one process."""
    return f"kvscope {secrets.token_hex(8)}"


class Member:
    """This process. `watched` and `viewers` return the runs that its viewers have open, and the number of viewers.

    `resign` gets a line for the operator, and ends the process: another one leads now, so its memory is out of date.
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
        """The backend of the connection that has the lock, or had it last."""
        self._lead: Lead | None = None
        self._mine: Lead | None = None
        self._locked = self._away = False
        self._not_before = self._changed = self._reported_at = 0.0
        self._teller: Teller | None = None
        self._listener = Listener(runs.engine, runs.hear, runs.go_deaf)
        self._taking = Lock()
        self._retired = False
        self._over = Event()
        self._thread = Thread(target=self._serve, name="hold-member", daemon=True)
        runs.follow()

    def start(self, on_lead: Callable[[], None]) -> None:
        """Follows, and takes over if no process leads. `on_lead` is called once, when this process begins to lead."""
        self._on_lead = on_lead
        self._listener.start()
        self._thread.start()

    def retire(self) -> None:
        """Does not begin to lead from now on."""
        with self._taking:
            self._retired = True

    def close(self) -> None:
        """Ends the threads, and releases the lock."""
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
        """The leader that this process last saw; None if there is none yet or the database is unavailable."""
        return self._mine or self._lead

    def following(self) -> Following:
        """Returns the reports of the processes that follow about their viewers. Raises StoreError."""
        with failing_as("The database cannot be read"), self._runs.engine.begin() as connection:
            return leading.following(connection)

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                self._look()
            except (SQLAlchemyError, StoreError):  # the database is unavailable, which others report
                self._drop()
                self._lead, self._locked, self._away = None, False, True
            self._over.wait(LOOK_S)

    def _look(self) -> None:
        if self._connection is None:
            self._connection = self._runs.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._changed = time.monotonic()
            self._not_before = self._changed + (FORMER_FIRST_S if self._away else 0.0)
        if self._mine is None:
            self._follow(self._connection)
        else:
            self._continue_to_lead(self._connection, self._mine)

    def _follow(self, connection: sa.Connection) -> None:
        """Follows, and begins to lead if no process does."""
        self._away = False
        current = leading.current(connection)
        now = time.monotonic()
        if current != self._lead:
            self._lead, self._changed = current, now
        if now >= self._reported_at + BEAT_S:
            leading.report_follower(connection, self._name, self._viewers(), self._watched())
            self._reported_at = now
        if current is not None and now > self._changed + SILENT_S:
            self._report(f"The web process that leads, at {current.address}, has been silent for {SILENT_S:g} s.")
            leading.end_connections(connection, current.process)
            self._changed = now
        if now >= self._not_before and self._try_lock(connection):
            self._begin(connection, current)

    def _begin(self, connection: sa.Connection, former: Lead | None) -> None:
        """Begins to lead. From now on the former leader cannot store anything."""
        with self._taking:
            if self._retired:
                return
            if former is not None:
                leading.end_connections(connection, former.process)
            mine = leading.take(connection, self._name, self._address)
            leading.forget_follower(connection, self._name)
            self._listener.stop()
            self._locked, self._reported_at = True, time.monotonic()
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

    def _continue_to_lead(self, connection: sa.Connection, mine: Lead) -> None:
        """Shows that this process lives; takes the lock again after the database was unavailable."""
        now = time.monotonic()
        if not self._locked:
            leading.end_connections(connection, self._name, of=self._backend)  # it may still be open there
            self._locked = self._try_lock(connection)
        elif now < self._reported_at + BEAT_S:
            return
        self._reported_at = now
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
