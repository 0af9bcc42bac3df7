"""Lists and deletes the runs and sessions of a database for an operator, also while a server uses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kvscope.app.store.database import FILE
from kvscope.app.store.errors import Deleted, StoreError
from kvscope.app.store.footprint import Footprint
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.spare import keep_spare


class Inventory:
    """The runs and sessions of one database. Every method raises StoreError."""

    def __init__(self, runs: RunLog) -> None:
        self._runs, self._sessions, self._footprint = runs, SessionStore(runs), Footprint(runs.engine, runs.folder)

    def runs(self) -> Iterator[dict[str, Any]]:
        """Yields the runs, oldest first: {id, created, status, steps, bytes, prompt}; status: open, or why it ended."""
        for run, size in self._runs.oldest(closed=False):
            head, opening, closing = self._runs.head(run), self._runs.opening(run), self._runs.closing(run)
            yield {
                "id": run,
                "created": opening.get("created", ""),
                "status": closing["reason"] if closing else "open",
                "steps": head.steps if head else 0,
                "bytes": size,
                "prompt": opening.get("prompt", ""),
            }

    def sessions(self) -> list[dict[str, Any]]:
        """Returns each saved session, oldest first: {id, created, steps, bytes, title, prompt}."""
        return self._sessions.listed()

    def delete_runs(self, names: Sequence[str]) -> None:
        """Deletes ended runs, each with its studies. Raises StoreError at the first run that cannot be deleted."""
        for run in names:
            head = self._runs.head(run)
            if head is None:
                raise StoreError(f"There is no run {run!r}.")
            family = [run, *self._runs.made_from(run).studies]
            if not all(head.closed for each in family if (head := self._runs.head(each))):
                raise StoreError(f"The run {run!r}, or a run derived from it, has not ended. Stop it first.")
            self._runs.delete(family)
            self._give_back()

    def delete_sessions(self, names: Sequence[str]) -> None:
        """Deletes sessions, however often they were shared. Raises StoreError at the first that is not there."""
        for session in names:
            try:
                self._sessions.delete(session)
            except (KeyError, Deleted):
                raise StoreError(f"There is no session {session!r}.") from None
            self._give_back()

    def stats(self) -> dict[str, int]:
        """Returns the stored totals, and the size of the database on the disk."""
        runs, sessions = self._runs.totals(), self._sessions.totals()
        return {
            "runs": runs["runs"],
            "frames": runs["frames"],
            "bytes of runs": runs["bytes"],
            "sessions": sessions["sessions"],
            "bytes of sessions": sessions["bytes"],
            "bytes on the disk": self._footprint.on_disk(),
        }

    def _give_back(self) -> None:
        """Gives the room of what was deleted back to the disk; if that fails now, the server does it later."""
        with suppress(StoreError):
            self._footprint.give_back_all()


@contextmanager
def opened(folder: Path, url: str | None) -> Iterator[Inventory]:
    """Opens the database at `url` or in `folder`, as in database.connect. Raises StoreError."""
    if not url and not (folder / FILE).exists():
        raise StoreError(f"{folder} contains no runs or sessions.")
    try:
        with RunLog(folder, url, alone=False) as runs:
            yield Inventory(runs)
    finally:
        if not url:
            keep_spare(folder)
