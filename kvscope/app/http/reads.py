"""What requests may ask the engine to compute without a run: exact values, tokens, rows of the embedding."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response, abort, request

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.questions import Computation, Questions
from kvscope.app.engine.queue import Requester
from kvscope.app.http import access
from kvscope.app.http.limits import Limits
from kvscope.app.http.turns import Turns
from kvscope.app.http.visitors import client_of


class Reads:
    """The questions of the request that is being answered, within its client's limits."""

    def __init__(self, questions: Questions, limits: Limits, turns: Turns) -> None:
        self._questions, self._limits, self._turns = questions, limits, turns

    def ask(self, method: str, *arguments: Any, lasting: bool = False, model: ServedModel | None = None) -> Any:
        """What the service's `method` answers. `lasting`: it is about a saved session. `model`: which answers; None is
        any.

        Raises Problem, and what Questions.ask raises.
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
        if answer is None:  # no problem of the page's, whose browser would report one as an error
            abort(Response(status=204, headers={"Cache-Control": "no-store"}))
        return answer

    def ask_again(self, method: str, *arguments: Any, model: ServedModel | None = None) -> Any:
        """The same of what has another answer each time, such as a measurement."""
        visitor = access.count(self._limits)
        with self._turns.left():
            return self._questions.ask_again(Computation(method, arguments, model=model), Requester(*visitor))
