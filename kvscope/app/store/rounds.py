"""What is done again and again beside all else, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from kvscope.app.store.errors import StoreError


class Rounds:
    """Calls `work` at once, and then every `interval_s` seconds, from `start` to `close`.

    What could not be done is tried again at the next round; the first such failure in a row is reported.
    """

    def __init__(self, name: str, work: Callable[[], object], interval_s: float, report: Callable[[str], None]) -> None:
        self._work, self._interval_s, self._report = work, interval_s, report
        self._over = Event()
        self._thread = Thread(target=self._go_round, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, if it was started, once the round that it is in is done."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _go_round(self) -> None:
        said = False
        while not self._over.is_set():
            try:
                self._work()
                said = False
            except StoreError as error:
                if not said:
                    self._report(str(error))
                said = True
            self._over.wait(self._interval_s)
