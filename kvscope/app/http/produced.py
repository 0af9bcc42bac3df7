"""Creates and caches pictures, files and pages of saved sessions. A session never changes, so each is created once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from kvscope.app.engine.once import Once
from kvscope.app.http.problems import Problem

WAIT_S = 30.0
MOST_KEPT_BYTES = 8 * 1024 * 1024
"""The file or page of a session is cached if the session's frames and values have at most this many bytes. A larger one
is created while it is sent."""
RETRY_S = 5
BUSY = "Pictures or pages of other sessions are being made. Try again in a moment."


class Produced:
    """Caches the most recently used results, up to `most_bytes`. Creates one at a time, so that visitors cannot take
    more than one processor from the runs.
    """

    def __init__(self, most_bytes: int, wait_s: float = WAIT_S) -> None:
        self._wait_s = wait_s
        self._turn = Lock()
        self._once = Once[tuple[str, str]](most_bytes)

    def of(self, session: str, tag: str, make: Callable[[], bytes]) -> bytes:
        """Returns the result of `make` for a session; `tag` names its form and version.

        Raises Problem if it takes too long, and the errors of `make`.
        """
        try:
            return self._once.compute((session, tag), lambda: self._in_turn(make), self._wait_s)
        except TimeoutError:
            raise Problem(503, BUSY, retry_after=RETRY_S) from None

    def forget(self, session: str) -> None:
        """Drops all results of a deleted session, also results that are being created."""
        self._once.forget(lambda key: key[0] == session)

    def _in_turn(self, make: Callable[[], bytes]) -> bytes:
        if not self._turn.acquire(timeout=self._wait_s):
            raise Problem(503, BUSY, retry_after=RETRY_S)
        try:
            return make()
        finally:
            self._turn.release()
