"""How much one client may do in a minute. Beyond it: 429 with Retry-After, until its share has grown again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from threading import Lock
from typing import Literal

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor

What = Literal["runs", "shares", "imports", "reads", "bytes"]
WORDS: Mapping[What, str] = {
    "runs": "start {limit:,} runs a minute",
    "shares": "share {limit:,} runs a minute",
    "imports": "bring back {limit:,} files a minute",
    "reads": "have {limit:,} answers a minute computed",
    "bytes": "store {limit:,} bytes a minute, in runs, shared runs and files",
}
MINUTE_S = 60.0
MOST_COUNTED = 10_000
"""Clients and addresses that are remembered; those that have their whole share again are not."""


@dataclass(slots=True)
class _Left:
    """What is left of a share, as of `at` (of the clock). Below 0 where more was taken than there was."""

    amount: float
    at: float


class Limits:
    """`per_minute`: how much of each a client may do; 0 for any number. Nobody on the machine itself is counted.

    A client's share grows back evenly, and is never more than that of a minute. An address has the shares of
    `clients_per_address`, however many clients it says it is.
    """

    def __init__(
        self, per_minute: Mapping[What, int], clients_per_address: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute, self._clients_per_address, self._now = per_minute, clients_per_address, now
        self._lock = Lock()
        self._left: dict[tuple[What, str], _Left] = {}

    def take(self, visitor: Visitor, what: What) -> None:
        """Count one. Raises Problem where there is none left, or no bytes to store it with."""
        if visitor.is_here:
            return
        with self._lock:
            for kind, least in ((what, 1.0), ("bytes", 0.0)):
                for key, share in self._shares(visitor, kind):
                    missing = least - self._now_left(kind, key, share).amount
                    if missing > 0:
                        raise self._refusal(kind, missing / share)
            for key, share in self._shares(visitor, what):
                self._now_left(what, key, share).amount -= 1

    def charge(self, visitor: Visitor, size: int) -> None:
        """Count bytes that were stored for a client."""
        if visitor.is_here:
            return
        with self._lock:
            for key, share in self._shares(visitor, "bytes"):
                self._now_left("bytes", key, share).amount -= size

    def _shares(self, visitor: Visitor, what: What) -> list[tuple[str, int]]:
        """Who is counted, each with what it may do in a minute."""
        share = self._per_minute[what]
        if not share:
            return []
        address = [] if visitor.token == visitor.address else [(visitor.address, share * self._clients_per_address)]
        return [(visitor.token, share), *address]

    def _now_left(self, what: What, key: str, share: int) -> _Left:
        now = self._now()
        left = self._left.get((what, key))
        if left is None:
            self._forget_some(now)
            left = self._left[what, key] = _Left(share, now)
        left.amount = min(share, left.amount + (now - left.at) * share / MINUTE_S)
        left.at = now
        return left

    def _forget_some(self, now: float) -> None:
        if len(self._left) >= MOST_COUNTED:
            old = now - MINUTE_S
            self._left = {key: left for key, left in self._left.items() if left.at > old or left.amount < 0}

    def _refusal(self, what: What, minutes: float) -> Problem:
        limit = self._per_minute[what]
        detail = f"One may {WORDS[what].format(limit=limit)} on this server. Try again in a moment."
        return Problem(429, detail, limit=limit, retry_after=max(1, ceil(minutes * MINUTE_S)))
