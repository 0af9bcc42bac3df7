"""Limits what one client may do per minute. A request over a limit gets 429 with Retry-After.

The library `limits` (5.8) was tried. It counts by the wall clock, so a clock that is set back refuses everybody until
the time is reached again; it expires keys in a timer thread; and it cannot count bytes that are known only afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import ceil
from threading import Lock
from typing import Literal

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor

What = Literal["runs", "shares", "imports", "reads", "bytes"]
WORDS: Mapping[What, str] = {
    "runs": "start {limit:,} runs per minute",
    "shares": "share {limit:,} runs per minute",
    "imports": "import {limit:,} files per minute",
    "reads": "request {limit:,} computed answers per minute",
    "bytes": "store {limit:,} bytes per minute, in runs, saved sessions and imported files",
}
MINUTE_S = 60.0
ROUNDING_S = 0.001
MOST_COUNTED = 10_000
"""Most clients and addresses remembered. Those with their whole share are forgotten first."""


class Limits:
    """Counts what clients do. `per_minute`: the share of a client, by kind; 0: no limit. Requests from this machine are
    not counted.

    A used share grows back evenly, up to one minute's share. An address has the shares of `clients_per_address`
    clients, however many client tokens it sends.
    """

    def __init__(
        self, per_minute: Mapping[What, int], clients_per_address: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute, self._clients_per_address, self._now = per_minute, clients_per_address, now
        self._lock = Lock()
        self._whole_at: dict[tuple[What, str], float] = {}
        """When each used share will be whole again. A share that is used up will be whole in a minute."""

    def take(self, visitor: Visitor, what: What) -> None:
        """Counts one use. Raises Problem if no share is left, or no bytes to store the result."""
        if visitor.is_here:
            return
        with self._lock:
            now = self._now()
            for kind, least in ((what, 1), ("bytes", 0)):
                for key, share in self._shares(visitor, kind):
                    wait = self._whole(kind, key, now) + least * MINUTE_S / share - MINUTE_S - now
                    if wait > ROUNDING_S:
                        limit = self._per_minute[kind]
                        detail = f"One client may {WORDS[kind].format(limit=limit)} on this server. Try again later."
                        raise Problem(429, detail, limit=limit, retry_after=max(1, ceil(wait)))
            self._spend(visitor, what, 1, now)

    def charge(self, visitor: Visitor, size: int) -> None:
        """Counts bytes stored for a client."""
        if not visitor.is_here:
            with self._lock:
                self._spend(visitor, "bytes", size, self._now())

    def _spend(self, visitor: Visitor, what: What, amount: int, now: float) -> None:
        if len(self._whole_at) >= MOST_COUNTED:
            self._whole_at = {key: at for key, at in self._whole_at.items() if at > now}
        for key, share in self._shares(visitor, what):
            self._whole_at[what, key] = self._whole(what, key, now) + amount * MINUTE_S / share

    def _whole(self, what: What, key: str, now: float) -> float:
        return max(now, self._whole_at.get((what, key), now))

    def _shares(self, visitor: Visitor, what: What) -> list[tuple[str, int]]:
        """Returns the keys that count the visitor, each with its share per minute."""
        share = self._per_minute[what]
        if not share:
            return []
        address = [] if visitor.token == visitor.address else [(visitor.address, share * self._clients_per_address)]
        return [(visitor.token, share), *address]
