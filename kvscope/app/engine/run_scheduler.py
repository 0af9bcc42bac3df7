"""Starts runs, as many at once as there are places, and pauses, resumes, steps, evicts and stops them.

Only the scheduler changes the states of run_states.py. queue.py chooses the next run and the run to evict; the
scheduler calls the engines, and reports the result to `_apply`.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from threading import Condition, Event, Lock, Thread

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.engine import Engine
from kvscope.app.engine.filling import METHODS, Request, filled, from_json, readmit_request, to_json
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import ENGINE_IS_FULL, Pool
from kvscope.app.engine.queue import (
    Place,
    Requester,
    Run,
    holders,
    may_hold_more,
    next_run,
    place_of,
    queued,
    refuse_too_many,
    run_to_evict,
)
from kvscope.app.engine.run_states import BEGINNING, IN_QUEUE, PLACED, TERMINAL, TRANSITIONS, Action, State, Trigger
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.errors import StoreError
from kvscope.app.store.queued import QueuedRun, QueuedRuns
from kvscope.app.store.runs import RunLog, hash_of
from kvscope.model.api import JoinRequest, Refused

BEGINNING_S = 10.0
"""How long a status request waits for the first frame of a run that is starting."""
ENDING_S = 10.0
"""How long a stopped run may take to close its log."""
LOOK_AGAIN_S = 1.0
"""How often the queue is checked if no run ends."""
ABANDONED_S = 60.0
"""A queued run whose status nobody has requested for this time leaves the queue."""
MOST_EVICTED = 64
"""Evicted runs that can still be resumed. When there are more, the oldest ones are stopped."""
MOST_FAILURES = 200
"""Runs that could not start for which the server remembers the error."""
MOST_DURATIONS = 20
"""Ended runs whose mean duration is the estimate for a queued run."""
TOKEN_BYTES = 24
NOBODY = Requester("")


class InUse(Exception):
    """A run cannot be deleted now; the message says why."""


@dataclass(frozen=True, slots=True)
class Started:
    """An accepted run. `token` deletes it; `waits`: its place in the queue, None if it has started."""

    token: str
    waits: Place | None


class RunScheduler:
    """Computes as many runs at once as the engines have places, and queues up to `max_waiting` more, at most
    `max_waiting_by_client` of one client.

    When a queued run needs a place, the run of its model that was paused first is evicted: the engine drops it, and its
    log stays open. When it resumes, an engine computes it again from its tokens. A study (twin, beam search or
    workload) cannot be computed again; it is stopped instead after it has been paused for `abandoned_after_s`.
    """

    def __init__(
        self, log: RunLog, pool: Pool, budget: Budget, settings: Settings, rows: QueuedRuns | None = None
    ) -> None:
        self._log, self._pool, self._budget, self._settings = log, pool, budget, settings
        self._rows = rows
        self._changed = Condition()
        """The lock of the attributes below; notified of every transition."""
        self._runs: dict[str, Run] = {}
        self._failures: dict[str, Exception] = {}
        self._full = set[ServedModel]()
        """Models whose next run had no room in the engines or on the disk."""
        self._durations_s = deque[float](maxlen=MOST_DURATIONS)
        self._numbers = count()
        self._moving = Lock()
        """Locked while a run is evicted or readmitted, so that both calls reach the engine in order. Acquired before
        `_changed`."""
        self._closed: SimpleQueue[str] = SimpleQueue()
        self._wake = Event()
        """Set when a queued run may have a place."""
        self._over = Event()
        self._thread = Thread(target=self._serve, name="run-scheduler", daemon=True)
        log.when_closed(self._on_run_closed)
        pool.when_no_room(self._evict_other_models)

    def open(self) -> None:
        """Starts queued runs until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Starts no further runs."""
        self._over.set()
        self._wake.set()
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
        """Starts a run as soon as it has a place. `study`: a twin, a beam search or a workload.

        Returns when the beginning of the run's log is stored, or when the run is queued. `ended` receives the final
        size of the log in bytes. Raises Refused, TooManyRuns, EngineUnavailable, Full, StoreError.
        """
        token, model = secrets.token_urlsafe(TOKEN_BYTES), self._pool.model_of(request)
        with self._changed:
            self._refuse_too_many(requester, model)
            run = self._add(request, requester, model, ended, study, hash_of(token))
        return Started(token, self._start_or_wait(run))

    def restore(self, ended: Callable[[Requester], Callable[[int], None]]) -> None:
        """Queues the runs that an earlier process left queued, before `open`. `ended`: returns the `ended` for `start`.

        Raises StoreError.
        """
        assert self._rows is not None
        for row in self._rows.left():
            requester = Requester(row.client, row.address)
            try:
                request = from_json(row.kind, row.request)
                model = self._pool.model_of(request)
            except ValueError:  # another version wrote the request, or the server no longer has its model
                self._rows.remove(row.run)
                continue
            with self._changed:
                run = self._add(request, requester, model, ended(requester), row.study, row.token_sha256)
                run.has_row = True
        self._wake.set()

    def control(self, run: str, action: str) -> str:
        """Pauses, resumes, steps or stops a run; returns its new status. Raises as `start`."""
        with self._changed:
            self._wait_until_begun(run)
            self._release_ended()
            evicted = self._evicted_run(run)
            if evicted is not None:
                if action == "pause":
                    self._apply(evicted, Trigger.LEAVE)
                    return "paused"
                if action == "stop":
                    self._stop_evicted(evicted)
                    return "closed"
                if evicted.state is State.EVICTED:
                    self._refuse_too_many(evicted.requester, evicted.model)
                    self._apply(evicted, Trigger.QUEUE)
                evicted.action = action
        if evicted is None:
            return self._control_in_engine(run, action)
        if self._start_or_wait(evicted) is not None:
            return "queued"
        return "paused" if self.is_paused(run) else "running"

    def _evicted_run(self, run: str) -> Run | None:
        """Returns the run if no engine has it but its log is open, else None."""
        known = self._runs.get(run)
        return known if known is not None and known.state in (State.EVICTED, State.REQUEUED) else None

    def _control_in_engine(self, run: str, action: str) -> str:
        try:
            return str(self._pool.call("control", run, action, noted=partial(self._note, run)))
        except Refused:
            with self._moving, self._changed:  # wait for an eviction in progress
                if self._evicted_run(run) is None:
                    raise
        return self.control(run, action)

    def drain(self, name: str) -> Engine:
        """Gives an engine no further runs; it ends with its last one. Its paused runs are evicted at once; when they
        resume, another engine computes them again. Raises NoSuchEngine, LastEngine.
        """
        engine = self._pool.drain(name)
        self._evict_all(lambda run: run.id in engine.storing.runs)
        self._wake.set()
        return engine

    def join(self, request: JoinRequest) -> int:
        """Adds a request to a workload that has begun; returns its number. Raises Refused, EngineUnavailable."""
        return int(self._pool.call("join", request))

    def leave_workload(self, run: str, request: int) -> None:
        """Cancels a request of a workload that has begun. Raises Refused, EngineUnavailable."""
        self._pool.call("leave", run, request)

    def is_paused(self, run: str) -> bool:
        """Returns whether an open run is paused."""
        with self._changed:
            known = self._runs.get(run)
            return known is not None and known.state in (State.PAUSED, State.EVICTED)

    def waits(self, run: str) -> Place | None:
        """Returns the place of a run in the queue; None if it has started, so that it has a log. Waits for a run that
        is starting. Raises the error that prevented a queued run from starting, or EngineUnavailable.
        """
        with self._changed:
            self._wait_until_begun(run)
            if run in self._failures:
                raise self._failures[run]
            known = self._runs.get(run)
            if known is None or known.state not in IN_QUEUE:
                return None
            known.status_at = time.monotonic()
            return self._place_in_queue(known)

    @property
    def waiting(self) -> int:
        """How many runs are queued."""
        return self._count(*IN_QUEUE)

    @property
    def evicted(self) -> int:
        """How many runs are evicted; some of them may be queued to resume."""
        return self._count(State.EVICTED, State.REQUEUED)

    def _count(self, *states: State) -> int:
        with self._changed:
            return sum(run.state in states for run in self._runs.values())

    def leave(self, run: str, token: str) -> bool:
        """Removes a run from the queue. Returns whether it was queued and `token` is its token."""
        with self._changed:
            known = self._runs.get(run)
            if known is None or known.state is not State.QUEUED:
                return False
            return secrets.compare_digest(known.token_sha256, hash_of(token)) and self._apply(known, Trigger.LEAVE)

    def remove(self, run: str) -> None:
        """Stops and deletes a run and the studies of it. Raises InUse, EngineUnavailable, StoreError."""
        runs = [run, *self._log.made_from(run).studies]
        for member in runs:
            self._end(member)
        if not self._log.delete(runs):
            raise InUse("The run is being saved as a session. Try again when that has finished.")

    def _end(self, run: str) -> None:
        """Stops a run, and waits until its log is closed."""
        deadline = time.monotonic() + ENDING_S
        with suppress(Refused):  # the run has ended meanwhile
            if run in self._log.open_runs():
                self.control(run, "stop")
        while (head := self._log.head(run)) is not None and not head.closed:
            if time.monotonic() > deadline:
                raise EngineUnavailable("The engine did not stop the run in time. Try again in a moment.")
            self._log.wait(run, head.last_seq, ENDING_S)

    def work(self) -> None:
        """Starts queued runs while there are places. Removes abandoned runs from the queue, ends engines that have been
        drained, and loads the models that queued runs need.
        """
        self._pool.end_drained()
        with self._changed:
            for run in queued(self._runs.values()):
                if run.status_at < time.monotonic() - ABANDONED_S:
                    self._apply(run, Trigger.LEAVE)
            needed = {run.model for run in queued(self._runs.values())}
        for model in needed:
            with suppress(Refused):  # tried again while the run is queued
                self._pool.load(model)
        with suppress(EngineUnavailable, StoreError):  # tried again after LOOK_AGAIN_S
            while not self._over.is_set() and (next_one := self._place_next()) is not None:
                self._begin(next_one)

    def _serve(self) -> None:
        while not self._over.is_set():
            self._wake.wait(LOOK_AGAIN_S if self.waiting else None)
            self._wake.clear()
            self.work()

    # The state machine: every transition happens here.

    def _apply(self, run: Run, trigger: Trigger) -> bool:
        """Moves a run to its next state. Returns False, and changes nothing, if the table has none for the trigger. The
        caller has locked `_changed`.
        """
        state, action = TRANSITIONS.get((run.state, trigger), (None, Action.NOTHING))
        if state is None:
            return False
        run.state, run.since = state, time.monotonic()
        self._act(run, action)
        if state in TERMINAL:
            del self._runs[run.id]
        self._changed.notify_all()
        return True

    def _act(self, run: Run, action: Action) -> None:
        match action:
            case Action.NOTHING:
                pass
            case Action.TAKE_PLACE:
                run.placed_at, run.failure = run.since, None
            case Action.JOIN_QUEUE:
                run.number, run.status_at = next(self._numbers), run.since
            case Action.FORGET_ROW:
                self._forget_row(run)
            case Action.RELEASE:
                self._budget.release(run.id)
            case Action.RELEASE_REST:
                run.unused_bytes = self._budget.left(run.id)
                self._budget.release(run.id)
                self._full.clear()
            case Action.FAIL:
                self._budget.release(run.id)
                self._forget_row(run)
                assert run.failure is not None
                self._failures[run.id] = run.failure
                if len(self._failures) > MOST_FAILURES:
                    del self._failures[next(iter(self._failures))]
            case Action.LET_OTHERS_TRY:
                self._full.clear()
            case Action.FINISH:
                self._full.clear()
                self._budget.release(run.id)
                self._durations_s.append(run.since - run.placed_at)
                head = self._log.head(run.id)
                run.ended(head.bytes if head else 0)

    def _on_run_closed(self, run: str) -> None:
        """Notes an ended run. The log calls this with its own lock locked, so `_release_ended` does the work later."""
        self._closed.put(run)
        self._wake.set()

    def _release_ended(self) -> None:
        """Reports ended runs to the state machine."""
        beginning = list[str]()
        while True:
            try:
                run = self._closed.get_nowait()
            except Empty:
                break
            known = self._runs.get(run)
            if known is not None and known.state in BEGINNING:
                beginning.append(run)
            elif known is not None:
                self._apply(known, Trigger.END)
            else:
                self._full.clear()
        for run in beginning:
            self._closed.put(run)

    def _note(self, run: str, status: str) -> None:
        """Reports the status of a run. Called in the order of the engine's answers, so that the last one counts."""
        with self._changed:
            self._release_ended()
            known = self._runs.get(run)
            if known is not None:
                if known.state is State.READMITTING:
                    self._apply(known, Trigger.OPEN)
                if status in ("paused", "running"):
                    self._apply(known, Trigger.PAUSE if status == "paused" else Trigger.RESUME)
        if status == "paused":
            self._wake.set()  # a queued run may need its place

    def _wait_until_begun(self, run: str) -> None:
        """Waits for a run that is starting; other threads get the lock meanwhile. Raises EngineUnavailable."""

        def has_begun() -> bool:
            known = self._runs.get(run)
            return known is None or known.state not in BEGINNING

        if not self._changed.wait_for(has_begun, BEGINNING_S):
            raise EngineUnavailable("The run is starting. Try again in a moment.")

    # The queue.

    def _add(
        self,
        request: Request,
        requester: Requester,
        model: ServedModel,
        ended: Callable[[int], None],
        study: bool,
        token_sha256: str,
    ) -> Run:
        run = Run(request.run, request, requester, model, next(self._numbers), ended, study, token_sha256)
        self._runs[run.id] = run
        return run

    def _refuse_too_many(self, requester: Requester, model: ServedModel) -> None:
        """Raises TooManyRuns if a run would have to be queued, and may not."""
        self._release_ended()
        runs, settings, places = self._runs.values(), self._settings, self._pool.places
        taken = len(holders(runs, model))
        if (
            taken >= max(1, self._pool.places_of(model))
            or not may_hold_more(requester, holders(runs), places)
            or next_run(runs, {model}, places) is not None
        ):
            refuse_too_many(runs, requester, settings.max_waiting, settings.max_waiting_by_client)

    def _place_in_queue(self, run: Run) -> Place:
        runs = self._runs.values()
        free_in_s = [self._free_in_s(other) for other in runs if other.state in PLACED]
        return place_of(run, runs, self._durations_s, free_in_s)

    def _free_in_s(self, run: Run) -> float | None:
        """Returns the seconds until a run frees its place, at its speed so far; 0 for a paused run, which can be
        evicted; None for a study, or if it has no token yet.
        """
        if run.state is State.PAUSED and not run.study:
            return 0.0
        head = self._log.head(run.id)
        if run.study or head is None or not head.steps:
            return None
        if run.most_steps is None:
            run.most_steps = int(self._log.opening(run.id)["limits"]["max_new_tokens"])
        return (run.most_steps - head.steps) * (time.monotonic() - run.placed_at) / head.steps

    def _keep_row(self, run: Run) -> None:
        """Stores a queued run in case this process ends. Raises StoreError; then the run is no longer queued."""
        if self._rows is None or run.state is not State.QUEUED or run.has_row:
            return
        method = METHODS[type(run.request)]
        row = QueuedRun(run.id, method, to_json(run.request), *run.requester, run.token_sha256, run.study)
        try:
            self._rows.add(row)
        except StoreError:
            self._apply(run, Trigger.LEAVE)
            raise
        run.has_row = True

    def _forget_row(self, run: Run) -> None:
        if self._rows is not None and run.has_row:
            with suppress(StoreError):  # `restore` ignores rows of runs that have begun
                self._rows.remove(run.id)

    # Starting and readmitting.

    def _start_or_wait(self, run: Run) -> Place | None:
        """Starts a queued run if it is next and a place is free; otherwise it stays queued."""
        with self._changed:
            is_next = next_run(self._runs.values(), {run.model}, self._pool.places) is run
        if is_next:
            with suppress(EngineUnavailable):  # no place could be freed
                if self._place_next(run) is not None:
                    self._begin(run)
        self._wake.set()
        with self._changed:
            self._changed.wait_for(lambda: run.state not in BEGINNING)
            if run.state in IN_QUEUE:
                self._keep_row(run)
                return self._place_in_queue(run)
            failure, run.failure = run.failure, None
            if failure is not None:
                self._failures.pop(run.id, None)
                raise failure
        return None

    def _place_next(self, only: Run | None = None) -> Run | None:
        """Gives a place to the next run and returns it, evicting a paused run if necessary; None if there is no place.

        `only`: returns None also if another run of the same model is next.
        """
        with self._changed:
            run, full = self._place_if_free(only)
        if full is None:
            return run
        with self._moving:
            with self._changed:
                run, full = self._place_if_free(only)  # another thread may have made room meanwhile
                abandoned_since = time.monotonic() - self._settings.abandoned_after_s
                paused = run_to_evict(self._runs.values(), full, abandoned_since) if full else None
            if paused is None or not self._evict(paused):
                return run
            with self._changed:
                return self._place_if_free(only)[0]

    def _place_if_free(self, only: Run | None) -> tuple[Run | None, ServedModel | None]:
        """Gives a place to the next run, if one is free for it, and returns it. If only the place is missing, returns
        None and the model that needs it.
        """
        self._release_ended()
        runs, places = self._runs.values(), self._pool.places
        needed = {run.model for run in queued(runs) if only is None or run.model is only.model}
        loaded = {model: most for model in needed if (most := self._pool.places_of(model)) > 0}
        free = {
            model
            for model, most in loaded.items()
            if model not in self._full and most > sum(run.state in PLACED and run.model is model for run in runs)
        }
        run = next_run(runs, free, places)
        if run is None:
            first = next_run(runs, loaded, places)
            return None, first.model if first is not None and only in (None, first) else None
        if only not in (None, run):
            return None, None
        self._apply(run, Trigger.PLACE)
        return run, None

    def _begin(self, run: Run) -> None:
        """Starts or readmits a run that has a place. If the engine or the disk has no room, the run is queued again
        while another run may free room. Another failure is stored for the next status request.
        """
        failure = None
        try:
            if run.state is State.STARTING:
                self._open(run)
            else:
                self._readmit(run)
        except Exception as error:
            failure = error
        with self._changed:
            if failure is None:
                self._apply(run, Trigger.OPEN)
                return
            no_room = _waiting_helps(failure) and self._will_have_room(run, failure)
            run.failure = None if no_room else failure
            self._apply(run, Trigger.NO_ROOM if no_room else Trigger.FAIL)

    def _open(self, run: Run) -> None:
        request = filled(run.request, self._log)
        self._budget.reserve(run.id, self._pool.call("most_bytes", request))
        self._pool.call(METHODS[type(request)], request)
        why = self._pool.why_unopened(run.id)
        if why is not None:
            raise StoreError(why)
        try:
            self._log.own(run.id, run.token_sha256)
        except StoreError:
            self._pool.tell("control", run.id, "stop")
            raise

    def _readmit(self, run: Run) -> None:
        """Gives an evicted run to an engine, and continues it. Raises Refused, EngineUnavailable, Full, StoreError."""
        with self._moving:
            head = self._log.head(run.id)
            if head is None or head.closed:
                raise Refused("run", "The run has ended. It can no longer be controlled.", status=409)
            self._budget.reserve(run.id, head.bytes + run.unused_bytes)
            self._pool.call("readmit", readmit_request(run.id, head, self._log))
            try:
                self._pool.call("control", run.id, run.action, noted=partial(self._note, run.id))
            except (Refused, EngineUnavailable):
                self._note(run.id, "paused")  # the state in which the engine readmits a run
                raise

    def _will_have_room(self, run: Run, failure: Exception) -> bool:
        """Returns whether space will be freed: by an open run when it ends, or by an evicted run, which is stopped now.

        All models share the disk; each model has its own room in its engines.
        """
        of_disk = isinstance(failure, Full)
        others = [other for other in self._runs.values() if other is not run]
        if any(other.state in PLACED and (of_disk or other.model is run.model) for other in others):
            self._full.update(self._pool.models.all if of_disk else [run.model])
            return True
        evicted = self._oldest_evicted() if of_disk else None
        if evicted is not None:
            self._stop_evicted(evicted)
        return evicted is not None

    # Evicting.

    def _evict(self, run: Run) -> bool:
        """Evicts a paused run. Returns whether its place is free. The caller has locked `_moving`."""
        if run.state not in PLACED:  # the run has ended meanwhile
            return True
        try:
            if run.study:
                self._pool.call("control", run.id, "stop")
            else:
                self._pool.call("evict_run", run.id)
        except Refused:  # the run has resumed or ended, or is in the middle of a step
            with self._changed:
                if run.state is State.PAUSED:
                    self._apply(run, Trigger.PAUSE)
            return False
        with self._changed:
            self._apply(run, Trigger.STOP if run.study else Trigger.EVICT)
            oldest = self._oldest_evicted() if self._count(State.EVICTED) > MOST_EVICTED else None
        if oldest is not None:
            self._stop_evicted(oldest)
        return True

    def _evict_all(self, condition: Callable[[Run], bool]) -> bool:
        """Evicts the paused runs that meet a condition, except studies. Returns whether a place is free."""
        with self._moving:
            with self._changed:
                self._release_ended()
                paused = [run for run in self._runs.values() if run.state is State.PAUSED and not run.study]
            evicted = [self._evict(run) for run in paused if condition(run)]
        return any(evicted)

    def _evict_other_models(self, model: ServedModel) -> bool:
        return self._evict_all(lambda run: run.model is not model)

    def _oldest_evicted(self) -> Run | None:
        evicted = (run for run in self._runs.values() if run.state is State.EVICTED)
        return min(evicted, key=lambda run: run.since, default=None)

    def _stop_evicted(self, run: Run) -> None:
        """Closes the log of an evicted run."""
        self._log.close_run(run.id, "stopped", None)
        with self._changed:
            self._release_ended()


def _waiting_helps(error: BaseException) -> bool:
    """Returns whether a run that was refused for lack of space may be accepted later."""
    return error.passes if isinstance(error, Full) else isinstance(error, Refused) and error.status == ENGINE_IS_FULL
