"""Chooses which of the calls that wait in the engine process is answered next.

Calls that start, control or end runs come first. Every other call is a question, whose answer is computed again. Anyone
may ask, so questions of different clients take turns. While runs are computed, questions get no more than their share
of the time, one piece of an answer at a time (kvscope.model.pieces).
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import inf
from threading import Condition

from kvscope.app.engine.messages import Call

QUESTIONS_SHARE = 0.5
"""Seconds of answering per second of computing steps. A piece of an answer may take longer than a step; then more steps
are computed before the next piece."""


class Inbox:
    """Passes calls from the thread that receives them to the thread that answers. `urgent`: methods that come first."""

    def __init__(self, urgent: tuple[str, ...], now: Callable[[], float] = time.monotonic) -> None:
        self._is_urgent, self._now = frozenset(urgent), now
        self._changed = Condition()
        self._urgent: deque[Call] = deque()
        self._questions: OrderedDict[str, deque[tuple[Call, float]]] = OrderedDict()
        """By client, each call with the moment after which nobody waits for it; the first client is next."""
        self._until = inf

    def put(self, call: Call) -> None:
        """Adds a call."""
        with self._changed:
            if call.method in self._is_urgent:
                self._urgent.append(call)
            else:
                until = inf if call.within_s is None else self._now() + call.within_s
                self._questions.setdefault(call.client, deque()).append((call, until))
            self._changed.notify()

    def wait(self) -> None:
        """Waits until there is a call."""
        with self._changed:
            self._changed.wait_for(lambda: self._urgent or self._questions)

    def urgent(self) -> Call | None:
        """Returns the next urgent call, None if there is none now."""
        with self._changed:
            return self._next_urgent()

    def question(self) -> Call | None:
        """Returns the next question, None if there is none now."""
        with self._changed:
            return self._next_question()

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody still waits for the answer to the last question that was returned."""
        return self._until > self._now()

    def _next_urgent(self) -> Call | None:
        return self._urgent.popleft() if self._urgent else None

    def _next_question(self) -> Call | None:
        """Returns a question of the next client; drops questions whose answer nobody waits for any more."""
        while self._questions:
            client, calls = self._questions.popitem(last=False)
            call, until = calls.popleft()
            if calls:
                self._questions[client] = calls
            self._until = until
            if self.is_waited_for:
                return call
        return None


class Share:
    """Limits the share of time that questions take while runs are computed."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._left_s = now, 0.0

    @property
    def is_left(self) -> bool:
        """Whether a piece of an answer may be computed now."""
        return self._left_s >= 0

    def spend(self, work: Callable[[], None]) -> None:
        """Computes a piece of an answer."""
        began = self._now()
        work()
        self._left_s -= self._now() - began

    def earn(self, computing: Callable[[], None]) -> None:
        """Computes a step. Time that questions do not use before the next step is lost."""
        began = self._now()
        computing()
        self._left_s = min(0.0, self._left_s + QUESTIONS_SHARE * (self._now() - began))
