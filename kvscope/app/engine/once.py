"""Computes each value once, also if several threads request it at the same time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Once(Generic[Key]):
    """Values by key. The most recently used values stay in memory, up to `most_bytes`.

    While a value is computed, other threads that request it wait for the same result. Safe to use from several threads.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._values: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0
        self._computing: dict[Key, Future[bytes]] = {}

    def get(self, key: Key) -> bytes | None:
        """Returns the value if it is in memory, else None; it counts as used."""
        with self._lock:
            return self._get(key)

    def put(self, key: Key, value: bytes) -> None:
        """Stores a value that was computed elsewhere."""
        with self._lock:
            self._put(key, value)

    def compute(self, key: Key, compute: Callable[[], bytes], wait_s: float | None = None) -> bytes:
        """Returns the value, computed by `compute` unless it is in memory or another thread computes it.

        Raises the errors of `compute`, in every waiting thread, and TimeoutError after waiting `wait_s` seconds for
        another thread.
        """
        with self._lock:
            value = self._get(key)
            if value is not None:
                return value
            computing = self._computing.get(key)
            if computing is None:
                result = self._computing[key] = Future[bytes]()
        if computing is not None:
            return computing.result(wait_s)
        try:
            value = compute()
        except BaseException as error:
            with self._lock:
                self._end(key, result)
            result.set_exception(error)
            raise
        with self._lock:
            if self._end(key, result):
                self._put(key, value)
        result.set_result(value)
        return value

    def forget(self, condition: Callable[[Key], bool]) -> None:
        """Drops the values whose key meets a condition, and does not store those that are being computed."""
        with self._lock:
            for key in filter(condition, list(self._computing)):
                del self._computing[key]
            for key in filter(condition, list(self._values)):
                self._bytes -= len(self._values.pop(key))

    # The caller of the next three methods has locked `_lock`.

    def _get(self, key: Key) -> bytes | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def _put(self, key: Key, value: bytes) -> None:
        if key in self._values or len(value) > self._most_bytes:
            return
        self._values[key] = value
        self._bytes += len(value)
        while self._bytes > self._most_bytes:
            self._bytes -= len(self._values.popitem(last=False)[1])

    def _end(self, key: Key, result: Future[bytes]) -> bool:
        """Notes that a value is no longer being computed. Returns False if it was forgotten meanwhile."""
        is_current = self._computing.get(key) is result
        if is_current:
            del self._computing[key]
        return is_current
