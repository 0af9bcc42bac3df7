"""Ends a run's step: chooses a token and records the step."""

from __future__ import annotations

import time
from typing import assert_never

from torch import Tensor

from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.eviction import evict
from kvscope.model.engine.records import Comparison, KVState, Paged, StepRecord, TokenRecord
from kvscope.model.engine.run import Run, Spent
from kvscope.model.engine.sampling import choose, divergence, put
from kvscope.model.engine.threads import threads_for
from kvscope.model.kv_cache import KVCache


def finish_step(
    run: Run, distribution: Distribution, cache: KVCache, batch: int, whole: Tensor | None = None
) -> StepRecord | TokenRecord | None:
    """Chooses the next token of `run` from the distribution after its newest row.

    Returns None if only the end of the run is recorded.

    `batch`: how many runs shared the pass. `whole` [V]: logits as if no row had been dropped, for a compared run. The
    record of a run that drops rows has the rows that stay. Raises NotFinite and then does not change the run.
    """
    started = time.perf_counter()
    forced = run.forced.get(run.step)
    comparison = None
    with threads_for(1):
        choice = choose(distribution, run.sampling, run.step)
        if whole is not None:
            comparison = Comparison(choice, float(divergence(whole, distribution.logits)))
        if forced is not None:
            choice = put(choice, distribution, forced)
        shown = distribution.candidates if run.recorded in ("rows", "steps") else None
    sample_ms = (time.perf_counter() - started) * 1000
    record: StepRecord | TokenRecord | None = None
    if run.recorded == "tokens":
        record = TokenRecord(run.key, choice.token)
    if shown is not None:
        evict(run, cache)
        record = StepRecord(
            run=run.key,
            step=run.step,
            phase="prefill" if run.step == 0 else "decode",
            position=run.fed - 1,
            choice=choice,
            candidates=shown,
            timing=run.spent.timing(sample_ms),
            batch=batch,
            kv=_kv_state(run, cache),
            rows=run.spent.cost.rows,
            cost=run.spent.cost,
            by=run.spent.by,
            forced=forced is not None,
            comparison=comparison,
            where=run.where.numpy() if run.keeping else None,
        )
    match run.caching:
        case "kept":
            pass
        case "none":
            cache.release(run.sequence)
        case "forgotten":
            run.forgotten = run.fed
            cache.release(run.sequence)
        case unknown:
            assert_never(unknown)
    run.ids.append(choice.token)
    run.step += 1
    run.single_steps = max(0, run.single_steps - 1)
    run.spent = Spent()
    return record


def _kv_state(run: Run, cache: KVCache) -> KVState:
    sequence = run.sequence
    return KVState(
        positions=sequence.length,
        bytes_written=run.spent.cost.rows * cache.position_bytes,
        bytes_used=cache.bytes_used(sequence),
        paged=Paged(
            block_table=tuple(sequence.table),
            refcounts=tuple(cache.refcounts[block] for block in sequence.table),
            bytes_reserved=cache.bytes_reserved(sequence),
        ),
        windowed=cache.windowed(sequence),
    )
