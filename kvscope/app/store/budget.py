"""Keeps what the database takes on the disk within a number of bytes: the oldest runs that nobody shared go first.

What is let in is counted with all that it will at most store, so that it always has room; what it does not use it gives
back when it ends. Spared are runs that are open (paused ones too), watched, shared, recorded ones that ship, and those
that a branch came from, as long as the branch is there. A run goes with its studies. Saved sessions are never touched:
where they fill their part of the budget, no more are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

from kvscope.app.store.footprint import Footprint
from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.spare import keep_spare

INTERVAL_S = 1.0
SESSIONS_SHARE = 0.75
"""Of the budget: so much of it saved sessions may take, so that there is always room for runs."""


class Full(Exception):
    """There is no room for more; the message says why, `limit` is the bound in bytes. `passes`: whether there may be
    once runs have ended that are open now.
    """

    def __init__(self, message: str, limit: int, *, passes: bool = False) -> None:
        super().__init__(message)
        self.limit, self.passes = limit, passes


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes of what is stored: frames of runs, and frames and exact values of saved sessions, as they are in the
    database. Rows, indexes and free pages come on top, some percent.
    """

    runs: int
    sessions: int

    @property
    def all(self) -> int:
        """Both."""
        return self.runs + self.sessions


class Budget:
    """`most` bytes may be taken, 0 for any number. `report` gets one line when the database cannot be used."""

    def __init__(
        self,
        runs: RunLog,
        sessions: SessionStore,
        recorded: Collection[str],
        watched: Callable[[], set[str]],
        most: int,
        report: Callable[[str], None],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._runs, self._sessions, self._recorded = runs, sessions, frozenset(recorded)
        self._watched, self.most = watched, most
        self._footprint = Footprint(runs.engine, runs.folder)
        self._lock = RLock()
        self._reserved: dict[str, int] = {}
        """Bytes that each open run may come to have."""
        self._coming = 0
        """Those of sessions that are being saved."""
        self._rounds = Rounds("budget", self._round, interval_s, report)

    def start(self) -> None:
        """Forget what is over the budget now, and as runs grow."""
        self._rounds.start()

    def close(self) -> None:
        """Forget nothing any more."""
        self._rounds.close()

    def stored(self) -> Stored:
        """What is stored now. Raises StoreError."""
        return Stored(self._runs.totals()["bytes"], self._sessions.totals()["bytes"])

    def on_disk(self) -> int:
        """Bytes that the database's files have now. Raises StoreError."""
        return self._footprint.on_disk()

    def keep(self, more: int = 0) -> list[str]:
        """Forget runs until `more` bytes have room, or none can go; those that are gone. Raises StoreError."""
        gone = list[str]()
        if not self.most:
            return gone
        with self._lock:
            kept = self._recorded | self._watched()
            oldest = self._runs.oldest()
            while self._over(more) > 0:
                family = next((found for run, _ in oldest if (found := self._may_go(run, kept))), None)
                if family is None:
                    break
                if self._runs.delete(family):
                    gone += family
            return gone

    def reserve(self, run: str, size: int) -> None:
        """Let a run come to have `size` bytes, until `release`. Raises Full, StoreError."""
        with self._lock:
            self._make_room(size)
            self._reserved[run] = size

    def release(self, run: str) -> None:
        """It stores nothing more."""
        self._reserved.pop(run, None)

    def left(self, run: str) -> int:
        """Bytes that an open run may still store."""
        size = self._reserved.get(run, 0)
        head = self._runs.head(run) if size else None
        return max(0, size - (head.bytes if head else 0))

    @contextmanager
    def room_for_session(self, size: int) -> Iterator[None]:
        """For a session of about so many bytes, while it is saved. Raises Full, StoreError."""
        limit = int(self.most * SESSIONS_SHARE)
        with self._lock:
            if self.most and self._sessions.totals()["bytes"] + self._coming + size > limit:
                raise Full(f"Saved sessions have reached their limit of {limit:,} bytes on this server.", limit)
            self._make_room(size)
            self._coming += size
        try:
            yield
        finally:
            with self._lock:
                self._coming -= size

    def _round(self) -> None:
        if self._footprint.of_file:
            keep_spare(self._runs.folder)
        self.keep()
        self._footprint.give_back(self.most)

    def _make_room(self, size: int) -> None:
        """For so many bytes, beside all that was let in. Raises Full, StoreError. The lock is held."""
        promised, free = self._promised(), self._footprint.free()
        if free is not None and promised + size > free:
            raise Full(f"There is no room on the disk for {size:,} more bytes.", free, passes=promised > 0)
        self.keep(size)
        if self.most and self._over(size) > 0:
            raise self._full(size)

    def _over(self, more: int) -> int:
        """By how many bytes the budget will be passed when all that was let in, and `more`, is stored."""
        return self._footprint.taken() + self._promised() + more - self.most

    def _promised(self) -> int:
        return self._coming + sum(self.left(run) for run in list(self._reserved))

    def _full(self, size: int) -> Full:
        if size > self.most:
            return Full(f"This may need {size:,} bytes; this server may use {self.most:,} bytes in total.", self.most)
        detail = f"Stored runs and sessions fill the {self.most:,} bytes that this server may use."
        detail += " None can be deleted: each is shared, watched or still open, or has a branch."
        return Full(detail, self.most, passes=bool(self._runs.open_runs()))

    def _may_go(self, run: str, kept: frozenset[str]) -> list[str] | None:
        """The run with its studies, where nothing keeps them."""
        if run in kept or self._sessions.of_run(run) or self._runs.head(run) is None:
            return None
        made = self._runs.made_from(run)
        family = [*made.studies, run]
        return None if made.branches or not kept.isdisjoint(family) else family
