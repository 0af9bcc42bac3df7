"""Runs that are given another's tokens and keep some positions alone: what they read, keep, and how they differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kvscope.model.api import Policy
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.eviction import staying
from kvscope.model.engine.records import StepRecord
from kvscope.model.hooks import observing
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.settings import Kept
from kvscope.model.transformer import Transformer
from tests.support.loaded import engine_of
from tests.support.tiny import GREEDY, check_cache, furthest, greedy, prompt, shared_model, steps, steps_of
from tests.support.tiny_files import VOCAB, write_folder

POLICIES: tuple[Policy, ...] = ("window", "sinks", "heavy")
PROMPT, STEPS, BUDGET = 21, 14, 10


def keep(engine: Engine, ids: list[int], given: list[int], keeping: Kept, *, compared: bool = True) -> list[StepRecord]:
    """Every step of a run over `ids` that gets the tokens `given`."""
    options: dict[str, Any] = {"recorded": "steps", "keeping": keeping, "apart": True, "compared": compared}
    return steps_of(engine, ids, len(given), forced=dict(enumerate(given)), **options)


def watched(
    engine: Engine, ids: list[int], given: list[int], keeping: Kept
) -> tuple[list[StepRecord], list[list[Tensor]]]:
    """The same without a comparison, so that all passes are the run's own; and attention [Hkv, G, Q, K] by pass
    and layer.
    """
    seen: list[Tensor] = []
    layers = engine.transformer.config.layers
    with observing(engine.runner.points, {f"blocks.{layer}.attn.weights": seen.append for layer in range(layers)}):
        records = keep(engine, ids, given, keeping, compared=False)
    return records, [[weights[0] for weights in seen[at : at + layers]] for at in range(0, len(seen), layers)]


def tables(record: StepRecord, layers: int, kv_heads: int) -> np.ndarray:
    """[layers, Hkv, rows]: positions that stay after a step."""
    return np.broadcast_to(record.where, (layers, kv_heads, record.where.shape[-1]))


def visible(records: list[StepRecord], layers: int, kv_heads: int) -> Tensor:
    """[layers, Hkv, T, T] bool: what each row of the whole text reads by what the steps say that they kept."""
    length = PROMPT + len(records) - 1
    seen = torch.ones(length, length).tril().bool().expand(layers, kv_heads, -1, -1).clone()
    for row, before in enumerate(records[:-1], PROMPT):
        kept = torch.from_numpy(tables(before, layers, kv_heads).copy())
        seen[:, :, row] = False
        seen[:, :, row].scatter_(-1, kept, True)
        seen[:, :, row, row] = True
    return seen


@torch.inference_mode()
def masked_logits(model: Transformer, ids: list[int], seen: Tensor) -> Tensor:
    """The reference: logits [T, V] of one pass over all rows, with a mask for each layer and KV head."""
    cache, sequence = KVCache(model.config, len(ids) // 16 + 1), Sequence()
    slots = cache.extend(sequence, len(ids))
    batch, _ = make_batch([Entry(ids, 0, slots, slots)])
    rows = model.embed(batch.ids)
    if model.positions is not None:
        rows = rows + model.positions(batch.positions)
    for layer, block in enumerate(model.blocks):
        group = replace(batch.groups[0], hidden=~seen[layer][None, :, None])
        rows = block(rows, replace(batch, groups=(group,)), model.ropes(batch.positions)[0], cache, layer)
    return model.decode_rows(rows)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arch", ["llama", "qwen3", "gpt2"])
class TestAnyModel:
    def test_with_room_for_all_nothing_differs_by_a_bit(self, arch: str, policy: Policy) -> None:
        engine, ids = Engine(shared_model(arch), capacity=512), prompt(PROMPT)
        parent = steps_of(engine, ids, STEPS)
        given = [step.choice.token for step in parent]
        kept = keep(engine, ids, given, staying(policy, PROMPT + STEPS - 1))
        for mine, theirs in zip(kept, parent, strict=True):
            for name in ("ids", "logits"):
                assert np.array_equal(getattr(mine.candidates, name), getattr(theirs.candidates, name))
            assert (mine.comparison.kl, mine.comparison.own) == (0, theirs.choice)
            assert mine.kv.bytes_used == theirs.kv.bytes_used

    def test_every_step_gives_what_a_mask_over_the_whole_text_gives(self, arch: str, policy: Policy) -> None:
        model, ids = shared_model(arch), prompt(PROMPT)
        given = greedy(model, ids, STEPS)
        engine = Engine(model, capacity=512)
        kept = keep(engine, ids, given, staying(policy, BUDGET))
        config, text = model.config, [*ids, *given[:-1]]
        masked = masked_logits(model, text, visible(kept, config.layers, config.kv_heads))
        whole = masked_logits(model, text, torch.ones(config.layers, config.kv_heads, len(text), len(text)).tril() > 0)
        for step, record in enumerate(kept):
            mine, theirs = masked[PROMPT + step - 1], whole[PROMPT + step - 1]
            assert furthest(record, mine) < 1e-4
            assert record.comparison.own.token == int(mine.argmax())
            p, q = (logits.double().softmax(-1) for logits in (theirs, mine))
            assert record.comparison.kl == pytest.approx(float((p * (p / q).log()).sum()), abs=1e-5)
        assert [record.choice.token for record in kept] == given
        assert max(record.comparison.kl for record in kept if record.comparison) > 1e-4
        check_cache(engine)

    def test_dropped_rows_are_not_read_and_their_blocks_are_free(self, arch: str, policy: Policy) -> None:
        """What is free is filled with NaN before each pass: one read of it would show in every logit."""
        model, ids = shared_model(arch), prompt(PROMPT)
        engine = Engine(model, capacity=512)
        engine.admit("kept", ids, GREEDY, STEPS, recorded="steps", keeping=staying(policy, BUDGET), apart=True)
        run, records = engine.scheduler.runs["kept"], []
        while engine.busy:
            held = engine.cache.slots(run.sequence)
            free = torch.ones(engine.cache.pool.shape[3], dtype=torch.bool)
            free[held] = False
            engine.cache.pool[:, :, :, free] = torch.nan
            records += engine.advance()
            assert len(run.sequence.table) in (0, 1)
        taken = steps(records, "kept")
        assert [step.kv.positions for step in taken] == [BUDGET] * STEPS
        assert {step.kv.bytes_used for step in taken} == {BUDGET * engine.cache.position_bytes}
        assert {step.kv.paged.bytes_reserved for step in taken} == {16 * engine.cache.position_bytes}
        assert engine.cache.free_blocks == engine.cache.blocks


@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_heavy_hitters_are_those_that_the_weights_name(arch: str) -> None:
    """Added up in NumPy from the weights of every pass, position by position."""
    model, ids = shared_model(arch), prompt(PROMPT, seed=2)
    config = model.config
    engine = Engine(model, capacity=512)
    records, passes = watched(engine, ids, greedy(model, ids, STEPS), staying("heavy", BUDGET))
    for layer in range(config.layers):
        for head in range(config.kv_heads):
            there: list[int] = []
            got = np.zeros(PROMPT + STEPS)
            for step, (record, weights) in enumerate(zip(records, passes, strict=True)):
                there += range(PROMPT) if step == 0 else [PROMPT + step - 1]
                got[there] += weights[layer][head].double().sum((0, 1)).numpy()
                older = sorted(there[: -(BUDGET // 2)], key=lambda position: -got[position])
                there = sorted(older[: BUDGET // 2]) + there[-(BUDGET // 2) :]
                assert tables(record, config.layers, config.kv_heads)[layer, head].tolist() == there
    last = tables(records[-1], config.layers, config.kv_heads)
    assert len({tuple(row) for layer in last.tolist() for row in layer}) > 1, "KV heads differ"


@pytest.mark.parametrize(("policy", "first"), [("window", 0), ("sinks", 4)])
def test_a_window_keeps_the_newest_and_sinks_the_first_too(policy: Policy, first: int) -> None:
    ids = prompt(PROMPT)
    engine = Engine(shared_model(), capacity=512)
    for step, record in enumerate(keep(engine, ids, greedy(engine.transformer, ids, STEPS), staying(policy, BUDGET))):
        end = PROMPT + step
        assert record.where.tolist() == [*range(first), *range(end - BUDGET + first, end)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("budget", [1, 2, 3, 5])
def test_the_smallest_budgets_keep_the_newest_position_at_least(policy: Policy, budget: int) -> None:
    ids = prompt(PROMPT)
    engine = Engine(shared_model(), capacity=512)
    for step, record in enumerate(keep(engine, ids, greedy(engine.transformer, ids, 4), staying(policy, budget))):
        assert record.where.shape[-1] == budget
        assert (record.where[..., -1] == PROMPT + step - 1).all()


@pytest.mark.parametrize("policy", ["window", "sinks"])
@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_transformers_with_a_mask_gives_the_same(arch: str, policy: Policy, tmp_path: Path) -> None:
    reference = write_folder(tmp_path, arch, attn_implementation="eager").eval()
    engine = engine_of(tmp_path, capacity=512)
    ids = prompt(PROMPT, vocab=len(VOCAB))
    given = greedy(engine.transformer, ids, STEPS)
    records, passes = watched(engine, ids, given, staying(policy, BUDGET))
    seen = visible(records, 1, 1)[0]
    mask = torch.zeros(1, *seen.shape).masked_fill(~seen[None], torch.finfo(torch.float32).min)
    with torch.inference_mode():
        expected = reference(torch.tensor([[*ids, *given[:-1]]]), attention_mask=mask, output_attentions=True)
    for step, (record, weights) in enumerate(zip(records, passes, strict=True)):
        row = PROMPT + step - 1
        assert furthest(record, expected.logits[0, row]) < 1e-4
        for layer, attention in enumerate(expected.attentions):
            assert (weights[layer].flatten(0, 1)[:, -1] - attention[0, :, row, seen[0, row]]).abs().max() < 1e-5
