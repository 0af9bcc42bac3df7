"""What is made of a saved session, its picture, file and page: a session never changes, so each is made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from kvscope.app.http.problems import Problem

WAIT_S = 30.0
MOST_KEPT_BYTES = 8 * 1024 * 1024
"""Of the frames and values of a session whose file or page is kept; larger ones are made while they are sent."""
RETRY_S = 5
BUSY = "Pictures or pages of other sessions are being made. Try again in a moment."

Key = tuple[str, str]


class Produced:
    """Keeps what was used last, at most `most_bytes` of it. One is made at a time: what strangers ask for takes no more
    than that from runs. Whoever asks for one that is being made waits for it.
    """

    def __init__(self, most_bytes: int, wait_s: float = WAIT_S) -> None:
        self._most_bytes, self._wait_s = most_bytes, wait_s
        self._lock, self._turn = Lock(), Lock()
        self._kept: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0
        self._making: dict[Key, Future[bytes]] = {}

    def of(self, session: str, tag: str, make: Callable[[], bytes]) -> bytes:
        """What `make` makes of a session; `tag` tells its forms and versions apart.

        Raises Problem where it takes too long, and what `make` raises.
        """
        key = session, tag
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            making = self._making.get(key)
            first = making is None
            if making is None:
                making = self._making[key] = Future()
        if first:
            self._make(key, make, making)
        try:
            return making.result(self._wait_s)
        except TimeoutError:
            raise Problem(503, BUSY, retry_after=RETRY_S) from None

    def forget(self, session: str) -> None:
        """Keep nothing of a session that was deleted, nor what is being made of it."""
        with self._lock:
            for key in [key for key in self._making if key[0] == session]:
                del self._making[key]
            for key in [key for key in self._kept if key[0] == session]:
                self._bytes -= len(self._kept.pop(key))

    def _make(self, key: Key, make: Callable[[], bytes], making: Future[bytes]) -> None:
        try:
            if not self._turn.acquire(timeout=self._wait_s):
                raise Problem(503, BUSY, retry_after=RETRY_S)
            try:
                made = make()
            finally:
                self._turn.release()
        except BaseException as error:
            with self._lock:
                self._is_wanted(key, making)
            making.set_exception(error)
            return
        with self._lock:
            if self._is_wanted(key, making) and len(made) <= self._most_bytes:
                self._kept[key] = made
                self._bytes += len(made)
                while self._bytes > self._most_bytes:
                    self._bytes -= len(self._kept.popitem(last=False)[1])
        making.set_result(made)

    def _is_wanted(self, key: Key, making: Future[bytes]) -> bool:
        """Whether it was not forgotten while it was being made, which it no longer is. The lock is held."""
        wanted = self._making.get(key) is making
        if wanted:
            del self._making[key]
        return wanted
