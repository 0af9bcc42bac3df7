"""Times a step's forward passes alone, computed again by the same code: with the cache and without it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kvscope.model.engine.conditions import Conditions, Watch
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import Sequence
from kvscope.model.pieces import pause_alone
from kvscope.model.weights import ByFormat


@dataclass(frozen=True, slots=True)
class Timed:
    """`ms`: wall time of the forward passes of `rows` rows; `weights`: bytes that the last pass read, by format."""

    ms: float
    rows: int
    weights: ByFormat
    conditions: Conditions


def timed_step(engine: Engine, ids: list[int], *, cached: bool) -> Timed:
    """Times the passes of a step over `ids`: of its last row with the others `cached`, or of all rows.

    Both run with `alike`: other code is faster for one row, and the two times would differ by more than the cache.
    Filling the cache is not timed. Raises CacheFull, and Interrupted if runs advanced between its pieces.
    """
    scheduler, runner = engine.scheduler, engine.runner
    changes = engine.changes
    sequence = scheduler.shared_prefix(ids, len(ids) - 1, changes=changes) if cached else Sequence()
    try:
        for entry in scheduler.chunks_of(ids[:-1] if cached else [], sequence, changes):
            runner.run([entry])
            pause_alone()
        watch, started, rows = Watch(), time.perf_counter(), len(ids) - sequence.length
        for entry in scheduler.chunks_of(ids, sequence, changes):
            done = runner.run([entry], alike=True)
        ms = (time.perf_counter() - started) * 1000
        pause_alone()
        return Timed(ms, rows, done.weights, watch.conditions())
    finally:
        engine.cache.release(sequence)
