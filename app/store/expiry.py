"""Forgets ended runs that nobody shared, some days after they were begun. Saved sessions are never touched."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore

INTERVAL_S = 3600.0


class Expiry:
    """Runs are kept for `days`, 0 for ever, but longer while they are open, watched, `recorded`, shared, or the subject
    of a study that is kept.
    """

    def __init__(
        self,
        runs: RunLog,
        sessions: SessionStore,
        recorded: Collection[str],
        watched: Callable[[], set[str]],
        days: int,
        report: Callable[[str], None],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._runs, self._sessions, self._recorded = runs, sessions, frozenset(recorded)
        self._watched = watched
        self._days = days
        self._rounds = Rounds("expiry", lambda: self.expire(datetime.now(UTC)), interval_s, report)

    def start(self) -> None:
        """Forget what is due now, and again and again."""
        if self._days:
            self._rounds.start()

    def close(self) -> None:
        """Forget nothing any more."""
        self._rounds.close()

    def expire(self, now: datetime) -> list[str]:
        """Forget what is due at `now`; the runs that are gone. Raises StoreError."""
        if not self._days:
            return []
        ended = self._runs.ended(now - timedelta(days=self._days))
        kept = self._recorded | self._watched()
        due = {run: of for run, of in ended.items() if run not in kept and not self._sessions.of_run(run)}
        gone: list[str] = []
        for run, of in due.items():
            if of in due:
                continue  # a study goes with the run that it is of
            studies = self._runs.made_from(run).studies
            if due.keys() >= set(studies) and self._runs.delete([*studies, run]):
                gone += [*studies, run]
        return gone
