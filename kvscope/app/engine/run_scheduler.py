"""Starts runs, as many at once as there is room for, and pauses, resumes, steps and stops them.

Further runs are queued (app.engine.queue). When a queued run needs a place, the run that was paused first is evicted
(app.engine.eviction).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.engine import Engine
from kvscope.app.engine.eviction import Eviction
from kvscope.app.engine.filling import METHODS, Request, filled, from_json, to_json
from kvscope.app.engine.pool import ENGINE_IS_FULL, Pool
from kvscope.app.engine.queue import Place, Requester, Waiting
from kvscope.app.engine.run_states import RunStates
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.errors import StoreError
from kvscope.app.store.queued import QueuedRun, QueuedRuns
from kvscope.app.store.runs import RunLog, hash_of
from kvscope.model.api import JoinRequest, Refused

ENDING_S = 10.0
"""How long a stopped run may take to close its log."""
LOOK_AGAIN_S = 1.0
"""How often the queue is checked, even if no run has ended."""
ABANDONED_S = 60.0
"""A queued run whose status nobody has requested for this time is abandoned."""
TOKEN_BYTES = 24
NOBODY = Requester("")


class InUse(Exception):
    """A run cannot be deleted now; the message says why."""


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was accepted. `token` deletes it; `waits`: its place in the queue, None if it has started."""

    token: str
    waits: Place | None


class RunScheduler:
    """Starts as many at once as the engines have places, and queues `max_waiting` more, at most
    `max_waiting_by_client` of one client.

    A study (twin, beam search or workload) cannot be computed again. If it has been paused for `abandoned_after_s` and
    its place is needed, it is stopped.
    """

    def __init__(
        self, log: RunLog, pool: Pool, budget: Budget, settings: Settings, rows: QueuedRuns | None = None
    ) -> None:
        self._log, self._pool, self._budget, self._settings = log, pool, budget, settings
        self._rows = rows
        self._states = RunStates(log, pool, budget)
        self._eviction = Eviction(log, pool, budget, self._states)
        self._over = Event()
        self._thread = Thread(target=self._serve, name="run-scheduler", daemon=True)

    def open(self) -> None:
        """Start queued runs until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Start no further runs."""
        self._over.set()
        self._states.wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def start(
        self,
        request: Request,
        requester: Requester = NOBODY,
        ended: Callable[[int], None] = lambda _size: None,
        *,
        study: bool = False,
    ) -> Started:
        """Start a run as soon as it has a place. `study`: a twin, a beam search or a workload.

        Returns when the beginning of the run's log is stored, or when the run is queued. `ended` receives the final
        size of the log in bytes. Raises Refused, TooManyRuns, EngineUnavailable, Full, StoreError.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        waiting = self._waiting(request, requester, ended, study, hash_of(token))
        with self._states.lock:
            self._put(waiting)
        return Started(token, self._start_or_wait(waiting))

    def restore(self, ended: Callable[[Requester], Callable[[int], None]]) -> None:
        """Queue the runs that an earlier process left in the queue, before `open`. `ended`: as in `start`, of each.

        Raises StoreError.
        """
        assert self._rows is not None
        for row in self._rows.left():
            requester = Requester(row.client, row.address)
            try:
                request = from_json(row.kind, row.request)
                waiting = self._waiting(request, requester, ended(requester), row.study, row.token_sha256)
            except ValueError:  # of another version, or for a model that is no longer served
                self._rows.remove(row.run)
                continue
            waiting.kept = True
            self._states.queue.put(waiting)
        self._states.wake.set()

    def _waiting(
        self, request: Request, requester: Requester, ended: Callable[[int], None], study: bool, token_sha256: str
    ) -> Waiting:
        begin = partial(self._open, request, token_sha256)
        model = self._pool.model_of(request)
        return Waiting(request.run, requester, model, begin, ended, study, token_sha256, request)

    def control(self, run: str, action: str) -> str:
        """Pause, resume, step or stop a run; returns its new status. Raises as `start`."""
        with self._states.lock:
            self._states.wait_until_begun(run)  # it may be on its way back to the engine
            evicted = self._states.evicted.get(run)
            if evicted is not None:
                if action == "pause":
                    return "paused"
                if action == "stop":
                    self._eviction.drop(run)
                    return "closed"
                begin = partial(self._eviction.readmit, run, action)
                again = self._put(Waiting(run, evicted.requester, evicted.model, begin, evicted.ended))
        if evicted is None:
            return self._control_in_engine(run, action)
        if self._start_or_wait(again) is not None:
            return "queued"
        return "paused" if self.is_paused(run) else "running"

    def _control_in_engine(self, run: str, action: str) -> str:
        try:
            return str(self._pool.call("control", run, action, noted=partial(self._states.note, run)))
        except Refused:
            with self._eviction.lock, self._states.lock:  # an eviction that was on its way is over
                if run not in self._states.evicted:
                    raise
        return self.control(run, action)

    def drain(self, name: str) -> Engine:
        """Give an engine no further runs, and end it with its last one. Its paused runs are evicted at once; when they
        resume, another engine computes them again. Raises NoSuchEngine, LastEngine.
        """
        engine = self._pool.drain(name)
        self._eviction.evict_from(engine)
        self._states.wake.set()
        return engine

    def join(self, request: JoinRequest) -> int:
        """Add a request to a workload that has begun; returns its number. Raises Refused, EngineUnavailable."""
        return int(self._pool.call("join", request))

    def leave_workload(self, run: str, request: int) -> None:
        """Cancel a request of a workload that has begun. Raises Refused, EngineUnavailable."""
        self._pool.call("leave", run, request)

    def is_paused(self, run: str) -> bool:
        """Whether an open run is paused."""
        with self._states.lock:
            return self._states.is_paused(run)

    def waits(self, run: str) -> Place | None:
        """The place of a run in the queue; None if it has started and so has a log. Waits for a run that is starting.
        Raises the error that kept a queued run from starting, or EngineUnavailable.
        """
        with self._states.lock:
            self._states.wait_until_begun(run)
            if run in self._states.failures and run not in self._states.evicted:
                raise self._states.failures[run]
            if run not in self._states.queue:
                return None
            self._states.queue.seen(run)
            return self._states.place_in_queue(run)

    @property
    def waiting(self) -> int:
        """How many runs are queued."""
        return len(self._states.queue)

    @property
    def evicted(self) -> int:
        """How many paused runs are evicted."""
        return len(self._states.evicted)

    def leave(self, run: str, token: str) -> bool:
        """Remove a run from the queue. Returns whether it was queued and `token` is its token."""
        with self._states.lock:
            waiting = self._states.queue.take(run)
            if waiting is None:
                return False
            if not waiting.token_sha256 or not secrets.compare_digest(waiting.token_sha256, hash_of(token)):
                self._states.queue.put_back(waiting)
                return False
            self._forget_row(waiting)
            return True

    def remove(self, run: str) -> None:
        """Stop and delete a run and the studies of it. Raises InUse, EngineUnavailable, StoreError."""
        runs = [run, *self._log.made_from(run).studies]
        for each in runs:
            self._end(each)
        if not self._log.delete(runs):
            raise InUse("The run is being saved as a session. Try again when that has finished.")

    def _end(self, run: str) -> None:
        """Stop a run, and wait until its log is closed."""
        deadline = time.monotonic() + ENDING_S
        with suppress(Refused):  # it has ended meanwhile
            if run in self._log.open_runs():
                self.control(run, "stop")
        while (head := self._log.head(run)) is not None and not head.closed:
            if time.monotonic() > deadline:
                raise EngineUnavailable("The engine did not stop the run in time. Try again in a moment.")
            self._log.wait(run, head.last_seq, ENDING_S)

    def _put(self, waiting: Waiting) -> Waiting:
        """Queue a run. Returns what is queued: of a run that was queued before, that. Raises TooManyRuns."""
        states, settings = self._states, self._settings
        if waiting.run not in states.queue:
            states.release_ended()
            if not states.may_begin_at_once(waiting):
                states.queue.refuse_too_many(waiting.requester, settings.max_waiting, settings.max_waiting_by_client)
        return states.queue.put(waiting)

    def _start_or_wait(self, waiting: Waiting) -> Place | None:
        """Start a queued run if it is next and a place is free; otherwise it stays queued."""
        with self._states.lock:
            first = self._states.next_of(waiting.model) == waiting.run
        if first and self._next(waiting.run) is not None:
            self._begin(waiting)
        self._states.wake.set()
        with self._states.lock:
            if waiting.run in self._states.queue:
                self._keep_row(waiting)
                return self._states.place_in_queue(waiting.run)
        waiting.decided.wait()
        with self._states.lock:
            failure = self._states.failures.pop(waiting.run, None)
        if failure is not None:
            raise failure
        return None

    def _next(self, only: str | None = None) -> Waiting | None:
        """The next run, which now has a place, if necessary that of a paused run; None if there is no place.

        `only`: return None too if another run of the same model is next.
        """
        with self._states.lock:
            waiting, full = self._states.place_next(only)
        if full is None:
            return waiting
        with self._eviction.lock:
            with self._states.lock:
                waiting, full = self._states.place_next(only)  # another thread may have made room meanwhile
                abandoned = time.monotonic() - self._settings.abandoned_after_s
                paused = self._states.run_to_evict(full, abandoned) if full else None
            if paused is None or not self._eviction.evict(paused):
                return waiting
            with self._states.lock:
                return self._states.place_next(only)[0]

    def _begin(self, waiting: Waiting) -> None:
        """Start a run that has a place. A failure is stored for the next status request.

        If the engine or the disk has no room, the run is queued again as long as another run may free room.
        """
        run, failure = waiting.run, None
        try:
            waiting.begin()
        except Exception as error:
            failure = error
        with self._states.lock:
            if failure is not None:
                self._states.placed.pop(run, None)
                self._budget.release(run)
                if _waiting_helps(failure) and self._somebody_makes_room(waiting, failure):
                    self._states.queue.put_back(waiting)
                else:
                    self._states.keep_failure(run, failure)
            self._states.has_begun(run)
            if run not in self._states.queue:
                self._forget_row(waiting)
                waiting.decided.set()

    def _keep_row(self, waiting: Waiting) -> None:
        """Keep a queued run for the case that this process ends. Raises StoreError, and it is not queued then."""
        if self._rows is None or waiting.request is None or waiting.kept:
            return
        method = METHODS[type(waiting.request)]
        row = (waiting.run, method, to_json(waiting.request), *waiting.requester, waiting.token_sha256, waiting.study)
        try:
            self._rows.add(QueuedRun(*row))
        except StoreError:
            self._states.queue.take(waiting.run)
            raise
        waiting.kept = True

    def _forget_row(self, waiting: Waiting) -> None:
        if self._rows is not None and waiting.kept:
            with suppress(StoreError):  # a row of a run that has begun is passed over
                self._rows.remove(waiting.run)

    def _somebody_makes_room(self, waiting: Waiting, failure: Exception) -> bool:
        """Whether room will be freed: by an open run when it ends, or by an evicted one, which is stopped now.

        Room on the disk is that of all models, room in an engine that of its own.
        """
        of_all = isinstance(failure, Full)
        if any(of_all or placed.model is waiting.model for placed in self._states.placed.values()):
            self._states.full.update(self._pool.models.all if of_all else [waiting.model])
            return True
        others = (other for other in self._states.evicted if other != waiting.run and other not in self._states.queue)
        first = next(others, None) if isinstance(failure, Full) else None
        if first is not None:
            self._eviction.drop(first)
        return first is not None

    def _open(self, asked: Request, token_sha256: str) -> None:
        run, request = asked.run, filled(asked, self._log)
        self._budget.reserve(run, self._pool.call("most_bytes", request))
        self._pool.call(METHODS[type(request)], request)
        why = self._pool.why_unopened(run)
        if why is not None:
            raise StoreError(why)
        try:
            self._log.own(run, token_sha256)
        except StoreError:
            self._pool.tell("control", run, "stop")
            raise

    def _serve(self) -> None:
        """Start the next run whenever a place is free."""
        while not self._over.is_set():
            self._states.wake.wait(LOOK_AGAIN_S if len(self._states.queue) else None)
            self._states.wake.clear()
            self._pool.end_drained()
            with self._states.lock:
                for run in self._states.queue.abandoned(time.monotonic() - ABANDONED_S):
                    if (waiting := self._states.queue.take(run)) is not None:
                        self._forget_row(waiting)
                wanted = self._states.queue.models
            for model in wanted:
                with suppress(Refused):  # tried again while the run is queued
                    self._pool.load(model)
            try:
                while not self._over.is_set() and (waiting := self._next()) is not None:
                    self._begin(waiting)
            except (EngineUnavailable, StoreError):
                pass  # tried again after LOOK_AGAIN_S


def _waiting_helps(error: BaseException) -> bool:
    """Whether there may be room later."""
    return error.passes if isinstance(error, Full) else isinstance(error, Refused) and error.status == ENGINE_IS_FULL
