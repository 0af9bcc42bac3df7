"""Which rows stay, and that a run goes on as if the dropped ones had been hidden from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.eviction import rows_kept
from kvscope.model.engine.records import TokenRecord
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.settings import Kept
from tests.support.tiny import ARCHS, GREEDY, prompt, shared_model, tiny_config


@pytest.mark.parametrize(
    ("length", "keeping", "rows"),
    [
        (6, Kept(sinks=2, heavy=0, recent=4), None),
        (7, Kept(sinks=2, heavy=0, recent=4), [0, 1, 3, 4, 5, 6]),
        (8, Kept(sinks=0, heavy=0, recent=3), [5, 6, 7]),
        (8, Kept(sinks=1, heavy=2, recent=2), [0, 3, 4, 6, 7]),
        (8, Kept(sinks=0, heavy=3, recent=2), [0, 3, 4, 6, 7]),
    ],
)
def test_the_first_the_heaviest_and_the_newest_stay(length: int, keeping: Kept, rows: list[int] | None) -> None:
    looked_at = torch.tensor([9.0, 1, 2, 8, 7, 3, 0, 0])
    kept = rows_kept(length, keeping, looked_at[:length])
    assert (None if kept is None else kept.tolist()) == rows


def test_rows_are_moved_together_and_no_shared_block_is_written_to() -> None:
    cache, sequence = KVCache(tiny_config(), 8), Sequence()
    slots = cache.extend(sequence, 40)
    cache.pool[:, :, :, slots] = torch.arange(40.0)[:, None]
    other = cache.fork(sequence, 20)
    cache.select(sequence, torch.tensor([0, 1, 17, 38, 39]))
    assert cache.pool[0, 0, 0, cache.slots(sequence), 0].tolist() == [0, 1, 17, 38, 39]
    assert cache.pool[1, 1, 0, cache.slots(other), 0].tolist() == list(range(20))
    assert (len(sequence.table), sequence.length, cache.free_blocks) == (1, 5, 5)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_step_after_a_drop_gives_what_the_rows_that_stay_give(arch: str) -> None:
    """The oracle: a pass over all rows, in which those that were dropped cannot be seen."""
    model, ids = shared_model(arch), prompt(20)
    engine = Engine(model, capacity=256)
    engine.admit("a", ids, GREEDY, 3, recorded="tokens", keeping=Kept(sinks=2, heavy=0, recent=6))
    first, second = (record.token for _ in range(2) for record in engine.advance() if isinstance(record, TokenRecord))
    assert engine.active("a").sequence.length == 8  # type: ignore[union-attr]
    assert second == _seeing_only(model, [*ids, first], [0, 1, *range(14, 21)])


def _seeing_only(model: Any, ids: list[int], keys: list[int]) -> int:
    """The likeliest token after `ids` whose last row sees these keys alone."""
    cache, sequence = KVCache(model.config, 4), Sequence()
    slots = cache.extend(sequence, len(ids))
    window = model.config.window
    before, _ = make_batch([Entry(ids[:-1], 0, slots[:-1], slots[:-1])], window)
    model(before, cache)
    last, _ = make_batch([Entry(ids[-1:], len(ids) - 1, slots[-1:], slots)], window)
    hidden = torch.ones(1, 1, 1, 1, len(ids), dtype=torch.bool)
    hidden[..., keys] = False
    group = replace(last.groups[0], hidden=hidden, far=hidden)
    return int(model(replace(last, groups=(group,)), cache)[-1].argmax())


def test_how_much_a_row_was_looked_at_is_the_sum_of_its_weights() -> None:
    engine, ids = Engine(shared_model(), capacity=256), prompt(12)
    engine.admit("a", ids, GREEDY, 2, recorded="tokens", keeping=Kept(sinks=1, heavy=4, recent=100))
    engine.advance()
    run = engine.active("a")
    config = engine.transformer.config
    assert run.looked_at.sum() == pytest.approx(12 * config.layers * config.heads, rel=1e-5)  # type: ignore[union-attr]
    assert run.looked_at[0] > run.looked_at[11]  # type: ignore[union-attr]
    engine.advance()
    assert engine.active("a") is None
