"""Starts runs, as many at once as there is room for, and pauses, resumes, steps and stops them.

Further runs are queued (app.engine.queue). When a queued run needs a place, the run that was paused first is evicted:
the engine drops it and its log stays open. When it resumes, it is computed again from its tokens.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition, Event, Lock, RLock, Thread

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.engine import Engine
from kvscope.app.engine.filling import METHODS, Request, filled, from_json, to_json
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import ENGINE_IS_FULL, Pool
from kvscope.app.engine.queue import Place, Queue, Requester, Waiting, may_hold_more, most_by_address
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.errors import StoreError
from kvscope.app.store.queued import QueuedRun, QueuedRuns
from kvscope.app.store.runs import RunLog, hash_of
from kvscope.model.api import JoinRequest, ReadmitRequest, Refused

BEGINNING_S = 10.0
"""How long a status request waits for the first frame of a run that is starting."""
ENDING_S = 10.0
"""How long a stopped run may take to close its log."""
LOOK_AGAIN_S = 1.0
"""How often the queue is checked, even if no run has ended."""
ABANDONED_S = 60.0
"""A queued run whose status nobody has requested for this time is abandoned."""
MOST_EVICTED = 64
"""Evicted runs that can still be resumed. When there are more, the oldest ones are stopped."""
MOST_FAILURES = 200
TOKEN_BYTES = 24
NOBODY = Requester("")


class InUse(Exception):
    """A run cannot be deleted now; the message says why."""


class TooManyRuns(Exception):
    """The queue holds `limit` runs, the most allowed; `retry_after`: seconds to wait before the next try."""

    def __init__(self, message: str, limit: int, retry_after: int):
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was accepted. `token` deletes it; `waits`: its place in the queue, None if it has started."""

    token: str
    waits: Place | None


@dataclass(slots=True)
class _Placed:
    """A run that has a place among the open ones."""

    requester: Requester
    model: ServedModel
    study: bool
    ended: Callable[[int], None]
    since: float = field(default_factory=time.monotonic)
    left: int = 0
    """Bytes that an evicted run may still store."""
    most_steps: int | None = None
    """The most tokens it generates; None before it has started, and for a study."""


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
        self._lock = RLock()
        self._begun = Condition(self._lock)
        """Notified when a run leaves `_beginning`."""
        self._eviction_lock = Lock()
        """Held while a run is evicted or readmitted, so that both calls reach the engine in order."""
        self._rows = rows
        self._queue = Queue()
        self._placed: dict[str, _Placed] = {}
        self._beginning: set[str] = set()
        """Runs that have a place but no log yet: no longer queued, not yet readable."""
        self._paused: dict[str, float] = {}
        self._evicted: dict[str, _Placed] = {}
        self._failures: dict[str, Exception] = {}
        self._full = set[ServedModel]()
        """Models for whose next run their engines or the disk had no room."""
        self._closed_runs: SimpleQueue[str] = SimpleQueue()
        self._wake, self._over = Event(), Event()
        self._thread = Thread(target=self._serve, name="run-scheduler", daemon=True)
        log.when_closed(self._on_run_closed)
        pool.when_no_room(self._evict_paused)

    def open(self) -> None:
        """Start queued runs until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Start no further runs."""
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
        """Start a run as soon as it has a place. `study`: a twin, a beam search or a workload.

        Returns when the beginning of the run's log is stored, or when the run is queued. `ended` receives the final
        size of the log in bytes. Raises Refused, TooManyRuns, EngineUnavailable, Full, StoreError.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        waiting = self._waiting(request, requester, ended, study, hash_of(token))
        with self._lock:
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
            self._queue.put(waiting)
        self._wake.set()

    def _waiting(
        self, request: Request, requester: Requester, ended: Callable[[int], None], study: bool, token_sha256: str
    ) -> Waiting:
        begin = partial(self._open, request, token_sha256)
        model = self._pool.model_of(request)
        return Waiting(request.run, requester, model, begin, ended, study, token_sha256, request)

    def control(self, run: str, action: str) -> str:
        """Pause, resume, step or stop a run; returns its new status. Raises as `start`."""
        with self._lock:
            self._wait_until_begun(run)  # it may be on its way back to the engine
            evicted = self._evicted.get(run)
            if evicted is not None:
                if action == "pause":
                    return "paused"
                if action == "stop":
                    self._drop(run)
                    return "closed"
                begin = partial(self._take_up, run, action)
                again = self._put(Waiting(run, evicted.requester, evicted.model, begin, evicted.ended))
        if evicted is None:
            return self._control_in_engine(run, action)
        if self._start_or_wait(again) is not None:
            return "queued"
        return "paused" if self.is_paused(run) else "running"

    def _control_in_engine(self, run: str, action: str) -> str:
        try:
            return str(self._pool.call("control", run, action, noted=partial(self._note, run)))
        except Refused:
            with self._eviction_lock, self._lock:  # an eviction that was on its way is over
                if run not in self._evicted:
                    raise
        return self.control(run, action)

    def drain(self, name: str) -> Engine:
        """Give an engine no further runs, and end it with its last one. Its paused runs are evicted at once; when they
        resume, another engine computes them again. Raises NoSuchEngine, LastEngine.
        """
        engine = self._pool.drain(name)
        with self._eviction_lock:
            with self._lock:
                self._release_ended()
                mine = engine.storing.runs
                paused = [run for run in self._paused if run in mine and not self._placed[run].study]
            for run in paused:
                self._evict(run)
        self._wake.set()
        return engine

    def join(self, request: JoinRequest) -> int:
        """Add a request to a workload that has begun; returns its number. Raises Refused, EngineUnavailable."""
        return int(self._pool.call("join", request))

    def leave_workload(self, run: str, request: int) -> None:
        """Cancel a request of a workload that has begun. Raises Refused, EngineUnavailable."""
        self._pool.call("leave", run, request)

    def is_paused(self, run: str) -> bool:
        """Whether an open run is paused."""
        with self._lock:
            return run in self._paused or (run in self._evicted and run not in self._queue)

    def waits(self, run: str) -> Place | None:
        """The place of a run in the queue; None if it has started and so has a log. Waits for a run that is starting.
        Raises the error that kept a queued run from starting, or EngineUnavailable.
        """
        with self._lock:
            self._wait_until_begun(run)
            if run in self._failures and run not in self._evicted:
                raise self._failures[run]
            if run not in self._queue:
                return None
            self._queue.seen(run)
            return self._place(run)

    @property
    def waiting(self) -> int:
        """How many runs are queued."""
        return len(self._queue)

    @property
    def evicted(self) -> int:
        """How many paused runs are evicted."""
        return len(self._evicted)

    def leave(self, run: str, token: str) -> bool:
        """Remove a run from the queue. Returns whether it was queued and `token` is its token."""
        with self._lock:
            waiting = self._queue.take(run)
            if waiting is None:
                return False
            if not waiting.token_sha256 or not secrets.compare_digest(waiting.token_sha256, hash_of(token)):
                self._queue.put_back(waiting)
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

    def _wait_until_begun(self, run: str) -> None:
        """Wait for a run that is starting. The caller has the lock, which others get meanwhile. Raises
        EngineUnavailable.
        """
        if not self._begun.wait_for(lambda: run not in self._beginning, BEGINNING_S):
            raise EngineUnavailable("The run is starting. Try again in a moment.")

    def _put(self, waiting: Waiting) -> Waiting:
        """Queue a run. Returns what is queued: of a run that was queued before, that. Raises TooManyRuns."""
        if waiting.run not in self._queue:
            self._refuse_too_many(waiting)
        return self._queue.put(waiting)

    def _start_or_wait(self, waiting: Waiting) -> Place | None:
        """Start a queued run if it is next and a place is free; otherwise it stays queued."""
        with self._lock:
            first = self._next_of(waiting.model) == waiting.run
        if first and self._next(waiting.run) is not None:
            self._begin(waiting)
        self._wake.set()
        with self._lock:
            if waiting.run in self._queue:
                self._keep_row(waiting)
                return self._place(waiting.run)
        waiting.decided.wait()
        with self._lock:
            failure = self._failures.pop(waiting.run, None)
        if failure is not None:
            raise failure
        return None

    def _refuse_too_many(self, waiting: Waiting) -> None:
        self._release_ended()
        holding, places = self._holding(), self._pool.places
        if (
            len(self._holding(waiting.model)) < max(1, self._pool.places_of(waiting.model))
            and may_hold_more(waiting.requester, holding, places)
            and self._next_of(waiting.model) is None
        ):
            return
        address, of_address = waiting.requester.address, most_by_address(self._settings.max_waiting)
        limits = [
            (
                len(self._queue),
                self._settings.max_waiting,
                "runs are queued, the most that this server allows",
            ),
            (
                self._queue.of_client(waiting.requester),
                self._settings.max_waiting_by_client,
                "of your runs are queued, the most that one client may have",
            ),
            (
                self._queue.of_address(address),
                of_address,
                "runs from your address are queued, the most that one address may have",
            ),
        ]
        for there, limit, words in limits:
            if there >= limit:
                raise TooManyRuns(f"{limit} {words}. Try again when one has started.", limit, retry_after=5)

    def _next(self, only: str | None = None) -> Waiting | None:
        """The next run, which now has a place, if necessary that of a paused run; None if there is no place.

        `only`: return None too if another run of the same model is next.
        """
        with self._lock:
            waiting, full = self._next_with_place(only)
        if full is None:
            return waiting
        with self._eviction_lock:
            with self._lock:
                waiting, full = self._next_with_place(only)  # another thread may have made room meanwhile
                paused = self._run_to_evict(full) if full else None
            if paused is None or not self._evict(paused):
                return waiting
            with self._lock:
                return self._next_with_place(only)[0]

    def _next_with_place(self, only: str | None) -> tuple[Waiting | None, ServedModel | None]:
        """The next run, if a place is free for it; and where only the place is missing, the model that lacks it."""
        self._release_ended()
        of = self._queue.waiting(only).model if only is not None and only in self._queue else None
        run = self._next_of(of, self._has_place)
        if run is None:
            first = self._next_of(of, lambda waiting: self._pool.places_of(waiting.model) > 0)
            return None, self._queue.waiting(first).model if first and only in (None, first) else None
        if only not in (None, run):
            return None, None
        waiting = self._queue.take(run)
        assert waiting is not None
        self._placed[run] = _Placed(waiting.requester, waiting.model, waiting.study, waiting.ended)
        self._beginning.add(run)
        return waiting, None

    def _next_of(
        self, model: ServedModel | None, fits: Callable[[Waiting], bool] = lambda _waiting: True
    ) -> str | None:
        """The queued run that is next of those of a model, or of all, that fit."""
        return self._queue.next(
            self._holding(), self._pool.places, lambda waiting: model in (None, waiting.model) and fits(waiting)
        )

    def _has_place(self, waiting: Waiting) -> bool:
        model = waiting.model
        taken = sum(placed.model is model for placed in self._placed.values())
        return taken < self._pool.places_of(model) and model not in self._full

    def _begin(self, waiting: Waiting) -> None:
        """Start a run that has a place. A failure is stored for the next status request.

        If the engine or the disk has no room, the run is queued again as long as another run may free room.
        """
        run, failure = waiting.run, None
        try:
            waiting.begin()
        except Exception as error:
            failure = error
        with self._lock:
            if failure is not None:
                self._placed.pop(run, None)
                self._budget.release(run)
                if _waiting_helps(failure) and self._somebody_makes_room(waiting, failure):
                    self._queue.put_back(waiting)
                else:
                    self._keep_failure(run, failure)
            self._beginning.discard(run)
            self._begun.notify_all()
            if run not in self._queue:
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
            self._queue.take(waiting.run)
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
        if any(of_all or placed.model is waiting.model for placed in self._placed.values()):
            self._full.update(self._pool.models.all if of_all else [waiting.model])
            return True
        others = (other for other in self._evicted if other != waiting.run and other not in self._queue)
        first = next(others, None) if isinstance(failure, Full) else None
        if first is not None:
            self._drop(first)
        return first is not None

    def _keep_failure(self, run: str, failure: Exception) -> None:
        self._failures[run] = failure
        if len(self._failures) > MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

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

    def _take_up(self, run: str, action: str) -> None:
        """Readmit an evicted run to the engine."""
        with self._eviction_lock:
            head = self._log.head(run)
            if head is None or head.closed:
                raise Refused("run", "The run has ended. It can no longer be controlled.", status=409)
            with self._lock:
                evicted = self._evicted.get(run)
            self._budget.reserve(run, head.bytes + (evicted.left if evicted else 0))
            chosen = [self._log.frames(run, seq - 1, 1)[0] for seq in (0, *(seq for seq, _ in self._log.chosen(run)))]
            self._pool.call("readmit", ReadmitRequest(run, head.last_seq + 1, tuple(chosen)))
            with self._lock:
                self._evicted.pop(run, None)
            self._pool.call("control", run, action, noted=partial(self._note, run))

    def _run_to_evict(self, model: ServedModel) -> str | None:
        """The run of a model that has been paused for longest; a study only if it is abandoned."""
        abandoned = time.monotonic() - self._settings.abandoned_after_s
        for run, since in sorted(self._paused.items(), key=lambda item: item[1]):
            placed = self._placed.get(run)
            if placed is not None and placed.model is model and (not placed.study or since <= abandoned):
                return run
        return None

    def _evict(self, run: str) -> bool:
        """Take its place from a paused run. Returns whether the place is free."""
        placed = self._placed.get(run)
        if placed is None:  # it has ended meanwhile
            return True
        try:
            if placed.study:
                self._pool.call("control", run, "stop", noted=partial(self._note, run))
            else:
                self._pool.call("evict_run", run)
        except Refused:  # it has resumed or ended, or is in the middle of a step
            with self._lock:
                if run in self._paused:
                    self._paused[run] = time.monotonic()
            return False
        with self._lock:
            self._placed.pop(run, None)
            self._paused.pop(run, None)
            self._full.clear()
            if not placed.study:
                placed.left = self._budget.left(run)
                self._budget.release(run)
                self._evicted[run] = placed
            first = next(iter(self._evicted)) if len(self._evicted) > MOST_EVICTED else None
        if first is not None:
            self._drop(first)
        return True

    def _evict_paused(self, model: ServedModel) -> bool:
        """Evict the paused runs of all other models. Returns whether there were any."""
        with self._eviction_lock:
            with self._lock:
                self._release_ended()
                paused = [run for run in self._paused if self._may_be_evicted_for(model, run)]
            evicted = [self._evict(run) for run in paused]
        return any(evicted)

    def _may_be_evicted_for(self, model: ServedModel, run: str) -> bool:
        placed = self._placed.get(run)
        return placed is not None and placed.model is not model and not placed.study

    def _drop(self, run: str) -> None:
        """Stop an evicted run."""
        with self._lock:
            self._evicted.pop(run, None)
            self._failures.pop(run, None)
            if (waiting := self._queue.take(run)) is not None:
                waiting.decided.set()
        self._log.close_run(run, "stopped", None)

    def _note(self, run: str, status: str) -> None:
        """Record the status of a run. Called in the order of the engine's answers, so that the last one counts."""
        with self._lock:
            self._release_ended()
            self._paused.pop(run, None)
            if status == "paused" and run in self._placed:  # and not over meanwhile
                self._paused[run] = time.monotonic()
        if status == "paused":
            self._wake.set()  # a queued run may need its place

    def _on_run_closed(self, run: str) -> None:
        """A run has ended. Called by the log while it holds its lock, so `_release_ended` does the work later."""
        self._closed_runs.put(run)
        self._wake.set()

    def _release_ended(self) -> None:
        """Free the places of runs that have ended."""
        while True:
            try:
                run = self._closed_runs.get_nowait()
            except Empty:
                return
            placed = self._placed.pop(run, None) or self._evicted.pop(run, None)
            self._paused.pop(run, None)
            self._full.clear()
            if placed is not None:
                self._budget.release(run)
                self._queue.ended(time.monotonic() - placed.since)
                head = self._log.head(run)
                placed.ended(head.bytes if head else 0)

    def _holding(self, model: ServedModel | None = None) -> list[Requester]:
        """Who holds each place, of a model or of all. A paused run does not count, since it can be evicted."""
        return [
            placed.requester
            for run, placed in self._placed.items()
            if model in (None, placed.model) and (placed.study or run not in self._paused)
        ]

    def _place(self, run: str) -> Place:
        return self._queue.place(run, self._holding(), [self._free_in_s(run) for run in self._placed])

    def _free_in_s(self, run: str) -> float | None:
        """Seconds until a run frees its place, if it generates its remaining tokens as fast as those so far.

        0 for a paused run, which can be evicted. None if it has no token yet.
        """
        placed, head = self._placed[run], self._log.head(run)
        if run in self._paused and not placed.study:
            return 0.0
        if placed.study or head is None or not head.steps:
            return None
        if placed.most_steps is None:
            placed.most_steps = int(self._log.opening(run)["limits"]["max_new_tokens"])
        return (placed.most_steps - head.steps) * (time.monotonic() - placed.since) / head.steps

    def _serve(self) -> None:
        """Start the next run whenever a place is free."""
        while not self._over.is_set():
            self._wake.wait(LOOK_AGAIN_S if len(self._queue) else None)
            self._wake.clear()
            self._pool.end_drained()
            with self._lock:
                for run in self._queue.abandoned(time.monotonic() - ABANDONED_S):
                    if (waiting := self._queue.take(run)) is not None:
                        self._forget_row(waiting)
                wanted = self._queue.models
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
