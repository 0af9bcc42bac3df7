"""Strangers at addresses of their own, and the outcome of what they do to a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import requests

PROXY = ("--proxy", "127.0.0.1")
STRANGER, OTHER = "203.0.113.5", "198.51.100.7"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of an attack: a figure in words, and whether it was within its limit."""

    measured: str
    held: bool


def said_by(address: str, name: str = "") -> dict[str, str]:
    """Returns the headers of a client behind the proxy."""
    return {"X-Forwarded-For": address} | ({"X-KVScope-Client": name} if name else {})


@contextmanager
def together(jobs: Sequence[Callable[[threading.Event], None]]) -> Iterator[None]:
    """Runs the jobs inside the context, each in its own thread. A job ends when its event is set."""
    over = threading.Event()
    threads = [threading.Thread(target=job, args=(over,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(30)


def silence(url: str, while_doing: Callable[[], Any]) -> float:
    """Returns the longest time, in seconds, that `/healthz` took meanwhile."""
    worst = [0.0]

    def look(over: threading.Event) -> None:
        while not over.is_set():
            began = time.monotonic()
            with suppress(requests.RequestException):
                requests.get(f"{url}healthz", timeout=60)
            worst[0] = max(worst[0], time.monotonic() - began)
            over.wait(0.05)

    with together([look]):
        while_doing()
    return worst[0]
