"""Caches the frames that were written or read last, so that not each of hundreds of viewers reads the database."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock


class FrameCache:
    """Payloads by run and seq, at most `max_bytes`; the least recently used are dropped first. Safe to use from several
    threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._payloads: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = Lock()

    def put(self, run: str, seq: int, payload: bytes) -> None:
        """Caches a stored frame."""
        with self._lock:
            known = self._payloads.pop((run, seq), None)
            self._bytes += len(payload) - (len(known) if known is not None else 0)
            self._payloads[run, seq] = payload
            while self._bytes > self._max_bytes:
                _, dropped = self._payloads.popitem(last=False)
                self._bytes -= len(dropped)

    def take(self, run: str, after: int, limit: int) -> list[bytes]:
        """Returns frames `after` + 1, `after` + 2, … up to the first that is not cached, at most `limit`."""
        payloads: list[bytes] = []
        with self._lock:
            for seq in range(after + 1, after + 1 + limit):
                payload = self._payloads.get((run, seq))
                if payload is None:
                    break
                self._payloads.move_to_end((run, seq))
                payloads.append(payload)
        return payloads

    def forget(self, run: str) -> None:
        """Drops the frames of a run."""
        with self._lock:
            for key in [key for key in self._payloads if key[0] == run]:
                self._bytes -= len(self._payloads.pop(key))
