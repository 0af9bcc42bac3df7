"""Keeps what is stored within a number of bytes: the oldest runs that nobody shared go first.

Spared are runs that are open (paused ones too), watched, shared, recorded ones that ship, and those that a branch came
from, as long as the branch is there. A run goes with its studies. Saved sessions are never touched: where they fill
their part of the budget, no more are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Lock

from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore

INTERVAL_S = 1.0
"""A run writes some megabytes in that time, by which the budget may be passed for a moment."""
SESSIONS_SHARE = 0.75
"""Of the budget: so much of it saved sessions may take, so that there is always room for runs."""


class Full(Exception):
    """There is no room for more; the message says why, `limit` is the bound in bytes."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


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
    """`most` bytes may be stored, 0 for any number. `report` gets one line when the database cannot be used."""

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
        self._lock = Lock()
        self._rounds = Rounds("budget", self.keep, interval_s, report)

    def start(self) -> None:
        """Forget what is over the budget now, and as runs grow."""
        if self.most:
            self._rounds.start()

    def close(self) -> None:
        """Forget nothing any more."""
        self._rounds.close()

    def stored(self) -> Stored:
        """What is stored now. Raises StoreError."""
        return Stored(self._runs.totals()["bytes"], self._sessions.totals()["bytes"])

    def keep(self, more: int = 0) -> list[str]:
        """Forget runs until `more` bytes have room, or none can go; those that are gone. Raises StoreError."""
        if not self.most:
            return []
        with self._lock:
            over = self.stored().all + more - self.most
            return self._forget(over) if over > 0 else []

    def make_room(self, more: int = 0) -> None:
        """For a run that is about to start. Raises Full, StoreError."""
        self.keep(more)
        if self.most and self.stored().all + more > self.most:
            raise Full(
                f"What is stored fills the {self.most:,} bytes that this server may use, and all of it is to stay:"
                " it is shared, watched, still open, or a branch came from it.",
                self.most,
            )

    def make_room_for_session(self, more: int) -> None:
        """For a session of about so many bytes. Raises Full, StoreError."""
        limit = int(self.most * SESSIONS_SHARE)
        if self.most and self._sessions.totals()["bytes"] + more > limit:
            raise Full(f"Saved sessions fill the {limit:,} bytes that this server keeps for them.", limit)
        self.make_room(more)

    def _forget(self, over: int) -> list[str]:
        kept, gone = self._recorded | self._watched(), list[str]()
        for run, size in self._runs.oldest():
            if over <= 0:
                break
            if run in kept or run in gone or self._sessions.of_run(run):
                continue
            made = self._runs.made_from(run)
            family = [*made.studies, run]
            if made.branches or not kept.isdisjoint(family):
                continue
            sizes = size + sum(head.bytes for study in made.studies if (head := self._runs.head(study)))
            if self._runs.delete(family):
                gone += family
                over -= sizes
        return gone
