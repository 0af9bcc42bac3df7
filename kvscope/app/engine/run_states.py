"""The state of every run that has not ended: queued, starting, open, paused or evicted; and what follows from it: which
run is next, which one is to be evicted, when a place will be free.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Condition, Event, RLock

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.engine import Engine
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Place, Queue, Requester, Waiting, may_hold_more
from kvscope.app.store.budget import Budget
from kvscope.app.store.runs import RunLog

BEGINNING_S = 10.0
"""How long a status request waits for the first frame of a run that is starting."""
MOST_FAILURES = 200


@dataclass(slots=True)
class Placed:
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


class RunStates:
    """What the run scheduler and eviction know of runs. Nothing here starts, evicts or stops one.

    Callers hold `lock`; `note` takes it itself.
    """

    def __init__(self, log: RunLog, pool: Pool, budget: Budget) -> None:
        self._log, self._pool, self._budget = log, pool, budget
        self.lock = RLock()
        self.wake = Event()
        """Set when a queued run may have a place."""
        self.queue = Queue()
        self.placed: dict[str, Placed] = {}
        self.paused: dict[str, float] = {}
        """Since when runs that have a place are paused (time.monotonic)."""
        self.evicted: dict[str, Placed] = {}
        self.failures: dict[str, Exception] = {}
        """What kept queued runs from starting."""
        self.full = set[ServedModel]()
        """Models for whose next run their engines or the disk had no room."""
        self._beginning: set[str] = set()
        """Runs that have a place but no log yet: no longer queued, not yet readable."""
        self._begun = Condition(self.lock)
        """Notified when a run leaves `_beginning`."""
        self._closed_runs: SimpleQueue[str] = SimpleQueue()
        log.when_closed(self._on_run_closed)

    def may_begin_at_once(self, waiting: Waiting) -> bool:
        """Whether there is a place for a run that its requester may hold, and no run that is to have it first."""
        return (
            len(self._holding(waiting.model)) < max(1, self._pool.places_of(waiting.model))
            and may_hold_more(waiting.requester, self._holding(), self._pool.places)
            and self.next_of(waiting.model) is None
        )

    def next_of(self, model: ServedModel | None, fits: Callable[[Waiting], bool] = lambda _waiting: True) -> str | None:
        """The queued run that is next of those of a model, or of all, that fit."""
        return self.queue.next(
            self._holding(), self._pool.places, lambda waiting: model in (None, waiting.model) and fits(waiting)
        )

    def place_next(self, only: str | None) -> tuple[Waiting | None, ServedModel | None]:
        """Give a place to the next run, if one is free for it, and return it; where only the place is missing, return
        the model that lacks it.

        `only`: do so only if that run is the next of its model.
        """
        self.release_ended()
        of = self.queue.waiting(only).model if only is not None and only in self.queue else None
        run = self.next_of(of, self._has_place)
        if run is None:
            first = self.next_of(of, lambda waiting: self._pool.places_of(waiting.model) > 0)
            return None, self.queue.waiting(first).model if first and only in (None, first) else None
        if only not in (None, run):
            return None, None
        waiting = self.queue.take(run)
        assert waiting is not None
        self.placed[run] = Placed(waiting.requester, waiting.model, waiting.study, waiting.ended)
        self._beginning.add(run)
        return waiting, None

    def has_begun(self, run: str) -> None:
        """A run that was given a place has a log now, or failed to start."""
        self._beginning.discard(run)
        self._begun.notify_all()

    def wait_until_begun(self, run: str) -> None:
        """Wait for a run that is starting; others get the lock meanwhile. Raises EngineUnavailable."""
        if not self._begun.wait_for(lambda: run not in self._beginning, BEGINNING_S):
            raise EngineUnavailable("The run is starting. Try again in a moment.")

    def keep_failure(self, run: str, failure: Exception) -> None:
        """Keep for the next status request what kept a run from starting."""
        self.failures[run] = failure
        if len(self.failures) > MOST_FAILURES:
            del self.failures[next(iter(self.failures))]

    def note(self, run: str, status: str) -> None:
        """Record the status of a run. Called in the order of the engine's answers, so that the last one counts."""
        with self.lock:
            self.release_ended()
            self.paused.pop(run, None)
            if status == "paused" and run in self.placed:  # and not over meanwhile
                self.paused[run] = time.monotonic()
        if status == "paused":
            self.wake.set()  # a queued run may need its place

    def is_paused(self, run: str) -> bool:
        """Whether an open run is paused."""
        return run in self.paused or (run in self.evicted and run not in self.queue)

    def run_to_evict(self, model: ServedModel, abandoned: float) -> str | None:
        """The run of a model that has been paused for longest; a study only if it has been since `abandoned`."""
        for run, since in sorted(self.paused.items(), key=lambda item: item[1]):
            placed = self.placed.get(run)
            if placed is not None and placed.model is model and (not placed.study or since <= abandoned):
                return run
        return None

    def paused_on(self, engine: Engine) -> list[str]:
        """The paused runs that an engine has, without studies."""
        return [run for run in self._paused_but_no_studies() if run in engine.storing.runs]

    def paused_of_others(self, model: ServedModel) -> list[str]:
        """The paused runs of all other models, without studies."""
        return [run for run in self._paused_but_no_studies() if self.placed[run].model is not model]

    def _paused_but_no_studies(self) -> list[str]:
        return [run for run in self.paused if run in self.placed and not self.placed[run].study]

    def set_evicted(self, run: str, placed: Placed) -> None:
        """Free the place of a paused run that the engine has dropped, or of a study that it has stopped."""
        self.placed.pop(run, None)
        self.paused.pop(run, None)
        self.full.clear()
        if not placed.study:
            placed.left = self._budget.left(run)
            self._budget.release(run)
            self.evicted[run] = placed

    def forget_evicted(self, run: str) -> None:
        """Forget an evicted run: it is stopped."""
        self.evicted.pop(run, None)
        self.failures.pop(run, None)
        if (waiting := self.queue.take(run)) is not None:
            waiting.decided.set()

    def _on_run_closed(self, run: str) -> None:
        """A run has ended. Called by the log while it holds its lock, so `release_ended` does the work later."""
        self._closed_runs.put(run)
        self.wake.set()

    def release_ended(self) -> None:
        """Free the places of runs that have ended."""
        while True:
            try:
                run = self._closed_runs.get_nowait()
            except Empty:
                return
            placed = self.placed.pop(run, None) or self.evicted.pop(run, None)
            self.paused.pop(run, None)
            self.full.clear()
            if placed is not None:
                self._budget.release(run)
                self.queue.ended(time.monotonic() - placed.since)
                head = self._log.head(run)
                placed.ended(head.bytes if head else 0)

    def place_in_queue(self, run: str) -> Place:
        """The place of a queued run."""
        return self.queue.place(run, self._holding(), [self._free_in_s(run) for run in self.placed])

    def _has_place(self, waiting: Waiting) -> bool:
        model = waiting.model
        taken = sum(placed.model is model for placed in self.placed.values())
        return taken < self._pool.places_of(model) and model not in self.full

    def _holding(self, model: ServedModel | None = None) -> list[Requester]:
        """Who holds each place, of a model or of all. A paused run does not count, since it can be evicted."""
        return [
            placed.requester
            for run, placed in self.placed.items()
            if model in (None, placed.model) and (placed.study or run not in self.paused)
        ]

    def _free_in_s(self, run: str) -> float | None:
        """Seconds until a run frees its place, if it generates its remaining tokens as fast as those so far.

        0 for a paused run, which can be evicted. None if it has no token yet.
        """
        placed, head = self.placed[run], self._log.head(run)
        if run in self.paused and not placed.study:
            return 0.0
        if placed.study or head is None or not head.steps:
            return None
        if placed.most_steps is None:
            placed.most_steps = int(self._log.opening(run)["limits"]["max_new_tokens"])
        return (placed.most_steps - head.steps) * (time.monotonic() - placed.since) / head.steps
