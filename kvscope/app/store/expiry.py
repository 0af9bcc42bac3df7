"""Deletes ended runs that nobody shared, some days after they began. Saved sessions are never deleted.

Deleting cannot be undone and depends on the wall clock. So nothing is deleted before the clock is trusted; after a jump
of the clock, the operator gets a warning first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from math import ceil

from kvscope.app.store.clock import Clock
from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore

INTERVAL_S = 300.0


class Expiry:
    """Deletes runs after `days`, 0 for never. Runs stay longer while they are open, watched, `recorded` or shared, or
    have a study that stays.
    """

    def __init__(
        self,
        runs: RunLog,
        sessions: SessionStore,
        recorded: Collection[str],
        watched: Callable[[], set[str]],
        days: int,
        report: Callable[[str], None],
        clock: Clock,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._runs, self._sessions, self._recorded = runs, sessions, frozenset(recorded)
        self._watched = watched
        self._days, self._clock, self._report = days, clock, report
        self._warned = False
        self._rounds = Rounds("expiry", self._round, interval_s, report)

    def start(self) -> None:
        """Starts to delete due runs regularly."""
        if self._days:
            self._rounds.start()

    def close(self) -> None:
        """Stops deleting."""
        self._rounds.close()

    def expire(self, now: datetime) -> list[str]:
        """Deletes the runs that are due at `now`. Returns the deleted runs. Raises StoreError."""
        due = self._due(now)
        deleted: list[str] = []
        for run, of in due.items():
            if of in due:
                continue  # a study is deleted with its run
            studies = self._runs.made_from(run).studies
            if due.keys() >= set(studies) and self._runs.delete([*studies, run]):
                deleted += [*studies, run]
        return deleted

    def _round(self) -> None:
        now = datetime.now(UTC)
        if self._clock.is_believed():
            self._warned = False
            self.expire(now)
        elif self._clock.jumped and not self._warned and (due := self._due(now)):
            self._warned = True
            hours = ceil(self._clock.believed_in_s / 3600)
            self._report(
                f"This machine's clock is days away from where it was expected. If {now:%Y-%m-%d} is right,"
                f" {len(due)} runs are older than {self._days} days and will be deleted in {hours} hours."
                " --keep-runs 0 keeps them."
            )

    def _due(self, now: datetime) -> dict[str, str | None]:
        """Returns the runs that are old enough and need not stay, each with the run that it is a study of, or None."""
        if not self._days:
            return {}
        ended = self._runs.ended(now - timedelta(days=self._days))
        needed = self._recorded | self._watched()
        return {run: of for run, of in ended.items() if run not in needed and not self._sessions.of_run(run)}
