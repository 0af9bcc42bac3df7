"""Repeats work at an interval in a separate thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from kvscope.app.store.errors import StoreError


class Rounds:
    """Calls `work` at once, and then every `interval_s` seconds, from `start` to `close`.

    After StoreError, the next call tries again; `report` gets the first of several errors in a row.
    """

    def __init__(self, name: str, work: Callable[[], object], interval_s: float, report: Callable[[str], None]) -> None:
        self._work, self._interval_s, self._report = work, interval_s, report
        self._over = Event()
        self._thread = Thread(target=self._repeat, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread, if it was started, after the call in progress."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _repeat(self) -> None:
        reported = False
        while not self._over.is_set():
            try:
                self._work()
                reported = False
            except StoreError as error:
                if not reported:
                    self._report(str(error))
                reported = True
            self._over.wait(self._interval_s)
