"""Forgets ended runs that nobody shared, some days after they were begun. Saved sessions are never touched."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from kvscope.app.store.database import StoreError
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
        self._days, self._report, self._interval_s = days, report, interval_s
        self._over = Event()
        self._thread = Thread(target=self._work, name="expiry", daemon=True)

    def start(self) -> None:
        """Forget what is due now, and again and again, in a thread of its own.

        What could not be done is tried again at the next round; the first such failure in a row is reported.
        """
        if self._days:
            self._thread.start()

    def close(self) -> None:
        """End that thread."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

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
            studies = self._runs.studies(run)
            if due.keys() >= set(studies) and self._runs.delete([*studies, run]):
                gone += [*studies, run]
        return gone

    def _work(self) -> None:
        said = False
        while not self._over.is_set():
            try:
                self.expire(datetime.now(UTC))
                said = False
            except StoreError as error:
                if not said:
                    self._report(str(error))
                said = True
            self._over.wait(self._interval_s)
