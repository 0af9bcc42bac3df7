"""Sends numbered calls to the service in the engine process, and gives each answer to the thread that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from kvscope.app.engine.messages import Call, Failure, Result

MAX_WAITING_CALLS = 64
NO_ANSWER = 0
"""The number of a call whose answer nobody waits for."""


class EngineUnavailable(Exception):
    """The engine cannot answer now; the message says why. `retry_after`: seconds to wait before the next try."""

    def __init__(self, message: str, retry_after: int = 2):
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Waiting:
    noted: Callable[[Any], None] | None
    future: Future[Any] = field(default_factory=Future)


class Calls:
    """Calls from any thread. The supervisor opens and closes the connection, and passes the engine's answers on."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._sending = Lock()
        self._connection: Connection | None = None
        self._why_closed = ""
        self._waiting: dict[int, _Waiting] = {}
        self._last = NO_ANSWER

    def open(self, connection: Connection) -> None:
        """Sends calls over this connection until `close`."""
        with self._lock:
            self._connection = connection

    def close(self, why: str) -> None:
        """Refuses further calls; pending and later calls fail with `why`."""
        with self._lock:
            self._connection, self._why_closed = None, why
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for call in waiting:
            call.future.set_exception(EngineUnavailable(why))

    @property
    def is_open(self) -> bool:
        """Whether there is an engine to call."""
        return self._connection is not None

    def call(self, method: str, *arguments: Any, noted: Callable[[Any], None] | None = None, client: str = "") -> Any:
        """Returns the result of the service's `method`. `noted` gets it first, in the order of the engine's answers.
        `client`: who asks; questions of different clients take turns.

        Raises Refused, EngineUnavailable, RuntimeError for a fault inside the engine.
        """
        waiting = _Waiting(noted)
        with self._lock:
            if self._connection is None:
                raise EngineUnavailable(self._why_closed)
            if len(self._waiting) >= MAX_WAITING_CALLS:
                raise EngineUnavailable("Too many requests wait for the engine. Try again in a moment.")
            self._last += 1
            number, connection = self._last, self._connection
            self._waiting[number] = waiting
        try:
            with self._sending:
                connection.send(Call(number, method, arguments, client, self._timeout_s))
            return waiting.future.result(self._timeout_s)
        except TimeoutError:
            raise EngineUnavailable("The engine did not answer in time.", retry_after=10) from None
        except OSError:
            raise EngineUnavailable("The engine stopped.") from None
        finally:
            self._forget(number)

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls without waiting for the answer. Does nothing if there is no engine."""
        with self._lock:
            connection = self._connection
        if connection is not None:
            with self._sending, suppress(OSError):
                connection.send(Call(NO_ANSWER, method, arguments))

    def answer(self, message: Result | Failure) -> None:
        """Gives an answer to the thread that waits for it, if one still does."""
        waiting = self._forget(message.number)
        if waiting is None:
            return
        if isinstance(message, Failure):
            waiting.future.set_exception(message.error)
            return
        if waiting.noted is not None:
            waiting.noted(message.value)
        waiting.future.set_result(message.value)

    def _forget(self, number: int) -> _Waiting | None:
        with self._lock:
            return self._waiting.pop(number, None)
