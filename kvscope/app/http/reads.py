"""What requests may ask the engine to compute without a run: exact values, tokens, rows of the embedding.

These requests take turns, so that requests about runs need not wait for all of them. Python computes in one thread at a
time and does not choose by what a thread does: beside sixty requests that read values, a request that starts a run
would get a sixtieth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Semaphore
from typing import Any

from flask import Flask, Response, abort, g, request

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.questions import Computation, Questions
from kvscope.app.engine.queue import Requester
from kvscope.app.http import access
from kvscope.app.http.limits import Limits
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import client_of

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
        """Makes requests wait for their turn before anything else is done for them."""
        app.before_request(self._begin)
        app.teardown_request(self._end)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Gives the turn to other requests while this one waits for the engine."""
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


class Reads:
    """Asks the engine for the current request, within its client's limits."""

    def __init__(self, questions: Questions, limits: Limits, turns: Turns) -> None:
        self._questions, self._limits, self._turns = questions, limits, turns

    def ask(self, method: str, *arguments: Any, lasting: bool = False, model: ServedModel | None = None) -> Any:
        """Returns the answer of the service's `method`.

        `lasting`: the question is about a saved session. `model`: the model that answers; None: any. Raises Problem,
        and what Questions.ask raises.
        """
        computation = Computation(method, arguments, lasting, model)
        if access.is_stored_only():
            return self._stored(computation)
        if model is not None:
            model.touch()
        visitor = client_of(request)
        count = partial(self._limits.take, visitor, access.counted())
        with self._turns.left():
            return self._questions.ask(computation, Requester(*visitor), count)

    def _stored(self, computation: Computation) -> Any:
        answer = self._questions.stored(computation)
        if answer is None:  # not a problem document: the browser of the other site's page would report an error
            abort(Response(status=204, headers={"Cache-Control": "no-store"}))
        return answer

    def ask_again(self, method: str, *arguments: Any, model: ServedModel | None = None) -> Any:
        """Asks as `ask` does, for an answer that differs each time, such as a measurement."""
        visitor = access.count(self._limits)
        with self._turns.left():
            return self._questions.ask_again(Computation(method, arguments, model=model), Requester(*visitor))
