"""Evicts paused runs, so that others have their places, and readmits them.

The engine drops an evicted run, and its log stays open. When it resumes, an engine computes it again from its tokens.
"""

from __future__ import annotations

import time
from functools import partial
from threading import Lock

from kvscope.app.engine.engine import Engine
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.run_states import RunStates
from kvscope.app.store.budget import Budget
from kvscope.app.store.runs import RunLog
from kvscope.model.api import ReadmitRequest, Refused

MOST_EVICTED = 64
"""Evicted runs that can still be resumed. When there are more, the oldest ones are stopped."""


class Eviction:
    """Changes `states` as it evicts and readmits. A study cannot be computed again, so it is stopped, not evicted."""

    def __init__(self, log: RunLog, pool: Pool, budget: Budget, states: RunStates) -> None:
        self._log, self._pool, self._budget, self._states = log, pool, budget, states
        self.lock = Lock()
        """Held while a run is evicted or readmitted, so that both calls reach the engine in order. Whoever needs the
        lock of `states` too takes this one first.
        """
        pool.when_no_room(self.evict_other_models)

    def evict(self, run: str) -> bool:
        """Take its place from a paused run. Returns whether the place is free. The caller holds `lock`."""
        states = self._states
        placed = states.placed.get(run)
        if placed is None:  # it has ended meanwhile
            return True
        try:
            if placed.study:
                self._pool.call("control", run, "stop", noted=partial(states.note, run))
            else:
                self._pool.call("evict_run", run)
        except Refused:  # it has resumed or ended, or is in the middle of a step
            with states.lock:
                if run in states.paused:
                    states.paused[run] = time.monotonic()
            return False
        with states.lock:
            states.set_evicted(run, placed)
            first = next(iter(states.evicted)) if len(states.evicted) > MOST_EVICTED else None
        if first is not None:
            self.drop(first)
        return True

    def evict_from(self, engine: Engine) -> None:
        """Evict the paused runs that an engine has."""
        with self.lock:
            with self._states.lock:
                self._states.release_ended()
                paused = self._states.paused_on(engine)
            for run in paused:
                self.evict(run)

    def evict_other_models(self, model: ServedModel) -> bool:
        """Evict the paused runs of all other models. Returns whether there were any."""
        with self.lock:
            with self._states.lock:
                self._states.release_ended()
                paused = self._states.paused_of_others(model)
            evicted = [self.evict(run) for run in paused]
        return any(evicted)

    def readmit(self, run: str, action: str) -> None:
        """Give an evicted run that has a place again to an engine, and control it.

        Raises Refused, EngineUnavailable, Full, StoreError.
        """
        with self.lock:
            head = self._log.head(run)
            if head is None or head.closed:
                raise Refused("run", "The run has ended. It can no longer be controlled.", status=409)
            with self._states.lock:
                evicted = self._states.evicted.get(run)
            self._budget.reserve(run, head.bytes + (evicted.left if evicted else 0))
            chosen = [self._log.frames(run, seq - 1, 1)[0] for seq in (0, *(seq for seq, _ in self._log.chosen(run)))]
            self._pool.call("readmit", ReadmitRequest(run, head.last_seq + 1, tuple(chosen)))
            with self._states.lock:
                self._states.evicted.pop(run, None)
            self._pool.call("control", run, action, noted=partial(self._states.note, run))

    def drop(self, run: str) -> None:
        """Stop an evicted run."""
        with self._states.lock:
            self._states.forget_evicted(run)
        self._log.close_run(run, "stopped", None)
