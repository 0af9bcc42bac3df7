"""Limits the bytes of the database on the disk: deletes the oldest runs that nobody shared.

A run is counted from its start with the most bytes that it may store, so that it always has room; unused bytes are
released when it ends. Runs are not deleted while they are open (also if paused), watched, shared or recorded, or have a
branch. A run is deleted together with its studies. Saved sessions are never deleted: if they fill their part of the
budget, no more are saved.
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
"""The share of the budget that saved sessions may take, so that there is always room for runs."""


class Full(Exception):
    """There is no room for more; the message says why, `limit` is the bound in bytes. `passes`: whether there may be
    room after open runs have ended.
    """

    def __init__(self, message: str, limit: int, *, passes: bool = False) -> None:
        super().__init__(message)
        self.limit, self.passes = limit, passes


@dataclass(frozen=True, slots=True)
class Stored:
    """Stored bytes: frames of runs, and frames and exact values of saved sessions, as they are in the database. Rows,
    indexes and free pages add some percent.
    """

    runs: int
    sessions: int

    @property
    def all(self) -> int:
        """The bytes of runs and sessions."""
        return self.runs + self.sessions


class Budget:
    """Limits the database to `most` bytes, 0 for no limit. `report` gets one line when the database cannot be used."""

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
        """The most bytes that each open run may store."""
        self._coming = 0
        """Bytes of sessions that are being saved."""
        self._rounds = Rounds("budget", self._round, interval_s, report)

    def start(self) -> None:
        """Starts to delete runs over the budget, now and as runs grow."""
        self._rounds.start()

    def close(self) -> None:
        """Stops deleting."""
        self._rounds.close()

    def stored(self) -> Stored:
        """Returns the bytes that are stored now. Raises StoreError."""
        return Stored(self._runs.totals()["bytes"], self._sessions.totals()["bytes"])

    def on_disk(self) -> int:
        """Returns the size of the database's files now, in bytes. Raises StoreError."""
        return self._footprint.on_disk()

    def keep(self, more: int = 0) -> list[str]:
        """Deletes runs until `more` bytes have room, or none can be deleted; returns these runs. Raises StoreError."""
        deleted = list[str]()
        if not self.most:
            return deleted
        with self._lock:
            needed = self._recorded | self._watched()
            oldest = self._runs.oldest()
            while self._over(more) > 0:
                family = next((runs for run, _ in oldest if (runs := self._may_go(run, needed))), None)
                if family is None:
                    break
                if self._runs.delete(family):
                    deleted += family
            return deleted

    def reserve(self, run: str, size: int) -> None:
        """Reserves `size` bytes for a run, until `release`. Raises Full, StoreError."""
        with self._lock:
            self._make_room(size)
            self._reserved[run] = size

    def release(self, run: str) -> None:
        """Releases the bytes of a run that stores nothing more."""
        self._reserved.pop(run, None)

    def left(self, run: str) -> int:
        """Returns the bytes that an open run may still store."""
        size = self._reserved.get(run, 0)
        head = self._runs.head(run) if size else None
        return max(0, size - (head.bytes if head else 0))

    @contextmanager
    def room_for_session(self, size: int) -> Iterator[None]:
        """Reserves about `size` bytes for a session while it is saved. Raises Full, StoreError."""
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
        """Makes room for `size` bytes more than reserved. Raises Full, StoreError. The caller has locked `_lock`."""
        if self.most and size > self.most:
            raise self._full(size)  # no deletion would help
        reserved, free = self._reserved_bytes(), self._footprint.free()
        if free is not None and reserved + size > free:
            raise Full(f"There is no room on the disk for {size:,} more bytes.", free, passes=reserved > 0)
        self.keep(size)
        if self.most and self._over(size) > 0:
            raise self._full(size)

    def _over(self, more: int) -> int:
        """Returns by how many bytes the database exceeds the budget once all reserved bytes, and `more`, are stored."""
        return self._footprint.taken() + self._reserved_bytes() + more - self.most

    def _reserved_bytes(self) -> int:
        return self._coming + sum(self.left(run) for run in list(self._reserved))

    def _full(self, size: int) -> Full:
        if size > self.most:
            return Full(f"This may need {size:,} bytes; this server may use {self.most:,} bytes in total.", self.most)
        detail = f"Stored runs and sessions fill the {self.most:,} bytes that this server may use."
        detail += " None can be deleted: each is shared, watched or still open, or has a branch."
        return Full(detail, self.most, passes=bool(self._runs.open_runs()))

    def _may_go(self, run: str, needed: frozenset[str]) -> list[str] | None:
        """Returns the run and its studies if they may be deleted, else None."""
        if run in needed or self._sessions.of_run(run) or self._runs.head(run) is None:
            return None
        derived = self._runs.made_from(run)
        family = [*derived.studies, run]
        return None if derived.branches or not needed.isdisjoint(family) else family
