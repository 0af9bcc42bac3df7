"""Where runs are let in, as many as there is room for, and told to pause, resume, step or stop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock

from kvscope.app.engine.calls import Calls, EngineUnavailable
from kvscope.app.engine.storing import Storing
from kvscope.app.store.budget import Budget
from kvscope.app.store.database import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import BeamRequest, ForkRequest, Refused, RunRequest, TwinRequest

ENDING_S = 10.0
"""How long a run that is told to stop may take until its log is closed."""
TOKEN_BYTES = 24


class InUse(Exception):
    """A run cannot be deleted now; the message says why."""


class TooManyRuns(Exception):
    """As many runs are open as the server takes; `limit` is how many."""

    def __init__(self, limit: int):
        super().__init__(f"{limit} runs are open, which is as many as this server takes. Try again when one has ended.")
        self.limit = limit


class Desk:
    """Lets in `most_open` runs at a time. One that was paused `abandoned_after_s` ago, without a word from its viewers
    since, is stopped where its place is needed.

    `start`, `fork` and `study` return once the run's log so far is stored: a token that deletes the run. They raise
    Refused, TooManyRuns, EngineUnavailable, Full, StoreError.
    """

    def __init__(
        self,
        log: RunLog,
        calls: Calls,
        storing: Storing,
        budget: Budget,
        *,
        most_open: int,
        abandoned_after_s: float,
    ) -> None:
        self._log, self._calls, self._storing, self._budget = log, calls, storing, budget
        self._most_open, self._abandoned_after_s = most_open, abandoned_after_s
        self._lock = Lock()
        self._starting: set[str] = set()
        self._paused: dict[str, float] = {}

    def start(self, request: RunRequest) -> str:
        """Start a run."""
        return self._open("start", request)

    def fork(self, request: ForkRequest) -> str:
        """Start a branch of a run."""
        return self._open("fork", request)

    def study(self, request: TwinRequest | BeamRequest) -> str:
        """Start a twin or a beam search."""
        return self._open("twin" if isinstance(request, TwinRequest) else "beam", request)

    def control(self, run: str, action: str) -> str:
        """Pause, resume, step or stop a run; returns its new status. Raises Refused, EngineUnavailable."""
        return str(self._calls.call("control", run, action, noted=partial(self._note, run)))

    def is_paused(self, run: str) -> bool:
        """Whether an open run was last told to pause."""
        with self._lock:
            return run in self._paused

    def remove(self, run: str) -> None:
        """Forget a run and the studies of it, whatever they are doing. Raises InUse, EngineUnavailable, StoreError."""
        runs = [run, *self._log.made_from(run).studies]
        for each in runs:
            self._end(each)
        if not self._log.delete(runs):
            raise InUse("The run is being shared. Try again when that is done.")

    def _end(self, run: str) -> None:
        """Stop a run, and wait until its log is closed."""
        deadline = time.monotonic() + ENDING_S
        with suppress(Refused):  # it has ended meanwhile
            if run in self._log.open_runs():
                self._calls.call("control", run, "stop")
        while (head := self._log.head(run)) is not None and not head.closed:
            if time.monotonic() > deadline:
                raise EngineUnavailable("The engine did not end the run in time.")
            self._log.wait(run, head.last_seq, ENDING_S)

    def _open(self, method: str, request: RunRequest | ForkRequest | TwinRequest | BeamRequest) -> str:
        self._budget.make_room()
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with self._room(request.run):
            try:
                self._calls.call(method, request)
            except EngineUnavailable:
                # An answer that came too late must not leave a run nobody knows.
                self._calls.tell("control", request.run, "stop")
                raise
            why = self._storing.why_unopened(request.run)
            if why is not None:
                raise StoreError(why)
            try:
                self._log.own(request.run, token)
            except StoreError:
                self._calls.tell("control", request.run, "stop")
                raise
        return token

    @contextmanager
    def _room(self, run: str) -> Iterator[None]:
        """Hold a place among the open runs, at need the place of a paused run that nobody came back to."""
        with self._lock:
            taken = len(self._starting.union(self._log.open_runs()))
            abandoned = self._abandoned() if taken >= self._most_open else None
            if taken >= self._most_open and abandoned is None:
                raise TooManyRuns(self._most_open)
            self._starting.add(run)
        try:
            if abandoned is not None:
                with suppress(Refused):  # it has ended meanwhile
                    self._calls.call("control", abandoned, "stop")
            yield
        finally:
            with self._lock:
                self._starting.remove(run)

    def _note(self, run: str, status: str) -> None:
        """Told in the order of the engine's answers, so that the last word counts."""
        with self._lock:
            self._paused.pop(run, None)
            if status == "paused":
                self._paused[run] = time.monotonic()
            self._forget_ended()

    def _abandoned(self) -> str | None:
        """The run that has been paused for longest, if that is long enough; it is not offered again."""
        self._forget_ended()
        oldest = min(self._paused.items(), key=lambda item: item[1], default=None)
        if oldest is None or time.monotonic() - oldest[1] < self._abandoned_after_s:
            return None
        del self._paused[oldest[0]]
        return oldest[0]

    def _forget_ended(self) -> None:
        """A run can end while it is paused, by its last step or with its engine."""
        ended = self._paused.keys() - set(self._log.open_runs())
        for run in ended:
            del self._paused[run]
