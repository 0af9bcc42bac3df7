"""Requests for computed values take turns, so that requests about runs need not wait for all of them.

Python computes in one thread at a time and lets threads in without regard to what they do: beside sixty requests that
read values, a request that starts a run would get a sixtieth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Semaphore

from flask import Flask, g, request

from kvscope.app.http import access
from kvscope.app.http.problems import Problem

AT_ONCE = 2
"""Requests for values that are handled at once. Those that wait for the engine do not count."""
WAIT_S = 20.0
"""How long a request waits for its turn."""
RETRY_S = 5


class Turns:
    """The turns of one application."""

    def __init__(self) -> None:
        self._free = Semaphore(AT_ONCE)

    def init_app(self, app: Flask) -> None:
        """Have requests wait for their turn before anything else is done for them."""
        app.before_request(self._begin)
        app.teardown_request(self._end)

    @contextmanager
    def left(self) -> Iterator[None]:
        """While this request waits for the engine, others have its turn."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        if request.endpoint is not None and access.asked().counted == "reads":
            if not self._free.acquire(timeout=WAIT_S):
                raise Problem(503, "Too many values are being read at the moment.", retry_after=RETRY_S)
            g.has_turn = True

    def _end(self, _error: BaseException | None = None) -> None:
        if g.pop("has_turn", False):
            self._free.release()
