"""Where runs are let in, as many as there is room for, and told to pause, resume, step or stop.

What finds no place waits in line (app.engine.queue). A paused run gives way to it, the one that was paused first: the
engine drops it, its log stays open, and it is computed again from its tokens when it is to go on.
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

from kvscope.app.engine.calls import Calls, EngineUnavailable
from kvscope.app.engine.queue import Place, Queue, Requester, Waiting, may_hold_more, most_by_address
from kvscope.app.engine.storing import Storing
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.errors import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import (
    BeamRequest,
    ForkRequest,
    JoinRequest,
    Refused,
    RunRequest,
    TakeUpRequest,
    TwinRequest,
    WorkloadRequest,
)

Request = RunRequest | ForkRequest | TwinRequest | BeamRequest | WorkloadRequest
METHODS: dict[type, str] = {
    RunRequest: "start",
    ForkRequest: "fork",
    TwinRequest: "twin",
    BeamRequest: "beam",
    WorkloadRequest: "workload",
}
BEGINNING_S = 10.0
"""How long whoever asks after a run that is beginning waits for its first frame."""
ENDING_S = 10.0
"""How long a run that is told to stop may take until its log is closed."""
LOOK_AGAIN_S = 1.0
"""How often those in line are looked at though nothing was heard of a place."""
ABANDONED_S = 60.0
"""A run in line that nobody asked for in this time leaves it."""
MOST_ASIDE = 64
"""Paused runs that gave way and may still be taken up again; beyond it the first ones are stopped."""
MOST_FAILURES = 200
TOKEN_BYTES = 24
NOBODY = Requester("")
ENGINE_IS_FULL = 429
"""Status of what the engine refuses for want of room in its cache."""


class InUse(Exception):
    """A run cannot be deleted now; the message says why."""


class TooManyRuns(Exception):
    """The line is as long as it may be, `limit`; `retry_after`: in how many seconds to try again."""

    def __init__(self, message: str, limit: int, retry_after: int):
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


@dataclass(frozen=True, slots=True)
class Started:
    """What became of a request: `token` deletes the run; `waits`: where it stands in line, None where it has begun."""

    token: str
    waits: Place | None


@dataclass(slots=True)
class _Placed:
    """A run that has a place among the open ones."""

    requester: Requester
    study: bool
    ended: Callable[[int], None]
    since: float = field(default_factory=time.monotonic)
    left: int = 0
    """Bytes that it may still store, of one that gave way."""
    most_steps: int | None = None
    """How many tokens it makes at most; None before it has begun, and for a study."""


class Desk:
    """Lets in `max_open_runs` at a time; `max_waiting` more stand in line, `max_waiting_by_client` of one client.

    A paused study, which cannot be computed again, is stopped where its place is needed and nobody has said a word to
    it for `abandoned_after_s`.
    """

    def __init__(self, log: RunLog, calls: Calls, storing: Storing, budget: Budget, settings: Settings) -> None:
        self._log, self._calls, self._storing, self._budget, self._settings = log, calls, storing, budget, settings
        self._lock = RLock()
        self._begun = Condition(self._lock)
        """Told when a run is no longer in `_beginning`."""
        self._moves = Lock()
        """Held while a run is set aside or taken up: the two must not overtake each other on the way to the engine."""
        self._queue = Queue()
        self._placed: dict[str, _Placed] = {}
        self._beginning: set[str] = set()
        """Runs that have a place, and no log yet: neither in line nor to be read."""
        self._paused: dict[str, float] = {}
        self._aside: dict[str, _Placed] = {}
        self._failures: dict[str, Exception] = {}
        self._is_full = False
        """Whether the engine, or the disk, had no room for who was next."""
        self._heard: SimpleQueue[str] = SimpleQueue()
        self._wake, self._over = Event(), Event()
        self._thread = Thread(target=self._serve, name="desk", daemon=True)
        log.when_closed(self._hear)

    def open(self) -> None:
        """Let in those who wait, from now on until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._over.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def start(
        self,
        run: str,
        make: Callable[[], Request],
        requester: Requester = NOBODY,
        ended: Callable[[int], None] = lambda _size: None,
        *,
        study: bool = False,
    ) -> Started:
        """Start what `make` gives, a run of that id, as soon as it has a place. `study`: a twin, a beam search or a
        workload.

        It is back once the run's log so far is stored, or once it stands in line. `ended` is told how many bytes the
        run's log has in the end. Raises Refused, TooManyRuns, EngineUnavailable, Full, StoreError.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        waiting = Waiting(run, requester, lambda: self._open(run, make(), token), ended, study, token)
        return Started(token, self._enter(waiting))

    def control(self, run: str, action: str) -> str:
        """Pause, resume, step or stop a run; returns its new status. Raises as `start`."""
        with self._lock:
            aside = self._aside.get(run)
        if aside is None:
            return str(self._calls.call("control", run, action, noted=partial(self._note, run)))
        if action == "pause":
            return "paused"
        if action == "stop":
            self._drop(run)
            return "closed"
        again = Waiting(run, aside.requester, partial(self._take_up, run, action), aside.ended)
        if self._enter(again) is not None:
            return "queued"
        return "paused" if self.is_paused(run) else "running"

    def join(self, request: JoinRequest) -> int:
        """Add a request to a workload that has begun; returns its number. Raises Refused, EngineUnavailable."""
        return int(self._calls.call("join", request))

    def leave_workload(self, run: str, request: int) -> None:
        """Cancel a request of a workload that has begun. Raises Refused, EngineUnavailable."""
        self._calls.call("leave", run, request)

    def is_paused(self, run: str) -> bool:
        """Whether an open run was last told to pause."""
        with self._lock:
            return run in self._paused or (run in self._aside and run not in self._queue)

    def waits(self, run: str) -> Place | None:
        """Where a run stands in line; None for one that has begun, and then it has a log. A run that is beginning is
        waited for. Raises what kept a run in line from beginning, EngineUnavailable.
        """
        with self._lock:
            if not self._begun.wait_for(lambda: run not in self._beginning, BEGINNING_S):
                raise EngineUnavailable("The run is starting. Try again in a moment.")
            if run in self._failures and run not in self._aside:
                raise self._failures[run]
            if run not in self._queue:
                return None
            self._queue.seen(run)
            return self._place(run)

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._queue)

    @property
    def aside(self) -> int:
        """How many paused runs gave way."""
        return len(self._aside)

    def leave(self, run: str, token: str) -> bool:
        """Take a run out of the line that has not begun; whether it was there, and this is its token."""
        with self._lock:
            waiting = self._queue.take(run)
            if waiting is None:
                return False
            if not waiting.token or not secrets.compare_digest(waiting.token, token):
                self._queue.put_back(waiting)
                return False
            return True

    def remove(self, run: str) -> None:
        """Forget a run and the studies of it, whatever they are doing. Raises InUse, EngineUnavailable, StoreError."""
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

    def _enter(self, waiting: Waiting) -> Place | None:
        """Begin at once where it is next and has a place; otherwise stand in line."""
        with self._lock:
            self._refuse_too_many(waiting)
            self._queue.put(waiting)
            first = self._queue.next(self._holding(), self._settings.max_open_runs) == waiting.run
        if first and self._next(waiting.run) is not None:
            self._begin(waiting)
        self._wake.set()
        with self._lock:
            if waiting.run in self._queue:
                return self._place(waiting.run)
        waiting.decided.wait()
        with self._lock:
            failure = self._failures.pop(waiting.run, None)
        if failure is not None:
            raise failure
        return None

    def _refuse_too_many(self, waiting: Waiting) -> None:
        self._sweep()
        holding, places = self._holding(), self._settings.max_open_runs
        if (
            len(holding) < places
            and may_hold_more(waiting.requester, holding, places)
            and self._queue.next(holding, places) is None
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
        """Whoever is next, with a place, which at need a paused run gave it; None where there is no place.

        `only`: None too where another one is next.
        """
        with self._lock:
            waiting, full = self._next_with_place(only)
        if not full:
            return waiting
        with self._moves:
            with self._lock:
                waiting, full = self._next_with_place(only)  # another thread may have made room meanwhile
                victim = self._who_gives_way() if full else None
            if victim is None or not self._set_aside(victim):
                return waiting
            with self._lock:
                return self._next_with_place(only)[0]

    def _next_with_place(self, only: str | None) -> tuple[Waiting | None, bool]:
        """Whoever is next, if there is a free place for it; and whether only the place is missing."""
        self._sweep()
        run = self._queue.next(self._holding(), self._settings.max_open_runs)
        if run is None or only not in (None, run) or not self._calls.is_open:
            return None, False
        if len(self._placed) >= self._settings.max_open_runs or self._is_full:
            return None, True
        waiting = self._queue.take(run)
        assert waiting is not None
        self._placed[run] = _Placed(waiting.requester, waiting.study, waiting.ended)
        self._beginning.add(run)
        return waiting, False

    def _begin(self, waiting: Waiting) -> None:
        """Start what has just got its place; what goes wrong is kept for whoever asks after the run.

        Where the engine or the disk has no room for it, it is in line again, as long as something may give it room.
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
                if _waiting_helps(failure) and self._somebody_makes_room(run, failure):
                    self._queue.put_back(waiting)
                else:
                    self._keep_failure(run, failure)
            self._beginning.discard(run)
            self._begun.notify_all()
            if run not in self._queue:
                waiting.decided.set()

    def _somebody_makes_room(self, run: str, failure: Exception) -> bool:
        """Whether one that has a place may, when it ends; or one that gave way, which is ended for it."""
        if self._placed:
            self._is_full = True
            return True
        others = (other for other in self._aside if other != run and other not in self._queue)
        first = next(others, None) if isinstance(failure, Full) else None
        if first is not None:
            self._drop(first)
        return first is not None

    def _keep_failure(self, run: str, failure: Exception) -> None:
        self._failures[run] = failure
        if len(self._failures) > MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

    def _open(self, run: str, request: Request, token: str) -> None:
        self._budget.reserve(run, self._calls.call("most_bytes", request))
        try:
            self._calls.call(METHODS[type(request)], request)
        except EngineUnavailable:
            # An answer that came too late must not leave a run nobody knows.
            self._calls.tell("control", run, "stop")
            raise
        why = self._storing.why_unopened(run)
        if why is not None:
            raise StoreError(why)
        try:
            self._log.own(run, token)
        except StoreError:
            self._calls.tell("control", run, "stop")
            raise

    def _take_up(self, run: str, action: str) -> None:
        """Let a run go on that gave way."""
        with self._moves:
            head = self._log.head(run)
            if head is None or head.closed:
                raise Refused("run", "The run has ended. It can no longer be controlled.", status=409)
            with self._lock:
                aside = self._aside.get(run)
            self._budget.reserve(run, head.bytes + (aside.left if aside else 0))
            chosen = [self._log.frames(run, seq - 1, 1)[0] for seq in (0, *(seq for seq, _ in self._log.chosen(run)))]
            self._calls.call("take_up", TakeUpRequest(run, head.last_seq + 1, tuple(chosen)))
            with self._lock:
                self._aside.pop(run, None)
            self._calls.call("control", run, action, noted=partial(self._note, run))

    def _who_gives_way(self) -> str | None:
        """The run that has been paused for longest; of studies one that nobody has come back to."""
        abandoned = time.monotonic() - self._settings.abandoned_after_s
        for run, since in sorted(self._paused.items(), key=lambda item: item[1]):
            placed = self._placed.get(run)
            if placed is not None and (not placed.study or since <= abandoned):
                return run
        return None

    def _set_aside(self, run: str) -> bool:
        """Take its place from a paused run; whether that was done."""
        placed = self._placed[run]
        try:
            if placed.study:
                self._calls.call("control", run, "stop", noted=partial(self._note, run))
            else:
                self._calls.call("set_aside", run)
        except Refused:  # it goes on meanwhile, is over, or in the middle of a step
            with self._lock:
                if run in self._paused:
                    self._paused[run] = time.monotonic()
            return False
        with self._lock:
            self._placed.pop(run, None)
            self._paused.pop(run, None)
            self._is_full = False
            if not placed.study:
                placed.left = self._budget.left(run)
                self._budget.release(run)
                self._aside[run] = placed
            first = next(iter(self._aside)) if len(self._aside) > MOST_ASIDE else None
        if first is not None:
            self._drop(first)
        return True

    def _drop(self, run: str) -> None:
        """End a run that gave way."""
        with self._lock:
            self._aside.pop(run, None)
            self._failures.pop(run, None)
            self._queue.take(run)
        self._log.close_run(run, "stopped", None)

    def _note(self, run: str, status: str) -> None:
        """Told in the order of the engine's answers, so that the last word counts."""
        with self._lock:
            self._sweep()
            self._paused.pop(run, None)
            if status == "paused" and run in self._placed:  # and not over meanwhile
                self._paused[run] = time.monotonic()
        if status == "paused":
            self._wake.set()  # somebody may wait for its place

    def _hear(self, run: str) -> None:
        """A run has ended. Called by the log, which is busy: what follows of it is done by `_sweep`."""
        self._heard.put(run)
        self._wake.set()

    def _sweep(self) -> None:
        """Give back the places of runs that have ended."""
        while True:
            try:
                run = self._heard.get_nowait()
            except Empty:
                return
            placed = self._placed.pop(run, None) or self._aside.pop(run, None)
            self._paused.pop(run, None)
            self._is_full = False
            if placed is not None:
                self._budget.release(run)
                self._queue.ended(time.monotonic() - placed.since)
                head = self._log.head(run)
                placed.ended(head.bytes if head else 0)

    def _holding(self) -> list[Requester]:
        """Who holds each place. A paused run does not count: it gives way."""
        return [placed.requester for run, placed in self._placed.items() if placed.study or run not in self._paused]

    def _place(self, run: str) -> Place:
        return self._queue.place(run, self._holding(), [self._free_in_s(run) for run in self._placed])

    def _free_in_s(self, run: str) -> float | None:
        """In how many seconds a run gives its place back if it makes all its tokens as fast as those so far.

        A paused run gives way at once. None where there is no token yet to go by.
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
        """Let in who is next whenever a place is free."""
        while not self._over.is_set():
            self._wake.wait(LOOK_AGAIN_S if len(self._queue) else None)
            self._wake.clear()
            with self._lock:
                for run in self._queue.abandoned(time.monotonic() - ABANDONED_S):
                    self._queue.take(run)
            try:
                while not self._over.is_set() and (waiting := self._next()) is not None:
                    self._begin(waiting)
            except (EngineUnavailable, StoreError):
                pass  # looked at again in a moment


def _waiting_helps(error: BaseException) -> bool:
    """Whether there may be room later."""
    return error.passes if isinstance(error, Full) else isinstance(error, Refused) and error.status == ENGINE_IS_FULL
