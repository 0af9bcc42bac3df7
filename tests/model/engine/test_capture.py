from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kvscope.model.companding import compand, decompand
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.capture import LARGEST_F16, Capture, CapturedRows, captured_rows
from kvscope.model.engine.packing import on_host
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.transformer import AttentionGroup, Batch
from tests.support.tiny import ARCHS, prompt, shared_model, tiny_config

# One sequence still in prefill, two in decode: two attention groups, the second with two members of unlike lengths.
LENGTHS = ((0, 21), (30, 1), (4, 1))


@given(st.floats(0, 1))
def test_companding_is_within_the_documented_error(weight: float) -> None:
    sent = float(decompand(compand(torch.tensor([weight], dtype=torch.float32)).numpy())[0])
    assert abs(sent - weight) < 0.004
    if weight < 1e-6:
        assert abs(sent - weight) < 1e-5


def captured(arch: str) -> tuple[list[CapturedRows], list[int], dict[str, list[Tensor]]]:
    """Rows in batch order, which of `LENGTHS` each is, and the observed tensors of every layer by hook point."""
    model = shared_model(arch)
    pool = KVCache(model.config, 16)
    held = []
    for index, (cached, _) in enumerate(LENGTHS):
        sequence = Sequence()
        if cached:
            entry = Entry(prompt(cached, index), 0, pool.extend(sequence, cached), pool.slots(sequence))
            model(make_batch([entry], model.config.window)[0], pool)
        held.append(sequence)
    entries = [
        Entry(prompt(new, 10 + index), cached, pool.extend(held[index], new), pool.slots(held[index]))
        for index, (cached, new) in enumerate(LENGTHS)
    ]
    batch, order = make_batch(entries, model.config.window)
    capture = Capture(model.config)
    points = hook_points(model)
    names = ("attn.weights", "attn.q_rot", "attn.k_rot", "attn.v", "resid_out")
    seen: dict[str, list[Tensor]] = {name: [] for name in names}
    observers = {f"blocks.{layer}.{name}": seen[name].append for layer in range(2) for name in names}
    with observing(points, capture.observers), observing(points, observers):
        model(batch, pool)
    return captured_rows(batch, *on_host(capture.values(batch, pool))), order, seen


@pytest.mark.parametrize("arch", ARCHS)
def test_every_run_of_a_ragged_batch_gets_its_own_rows(arch: str) -> None:
    rows, order, seen = captured(arch)
    config = tiny_config(arch)
    assert order == [1, 2, 0]
    for place, index in enumerate(order):
        cached, new = LENGTHS[index]
        mine = rows[place]
        ahead = np.arange(cached + new) > cached + np.arange(new)[:, None]
        assert (mine.attention[:, :, ahead] == 0).all()
        assert mine.first_query == cached
        assert mine.attention.shape == (2, config.heads, new, cached + new)
        assert mine.q_norm.shape == (2, config.heads, new)
        assert mine.k_norm.shape == mine.v_norm.shape == (2, config.kv_heads, new)
        assert mine.residual_norm.shape == (2, new)
        group, member = (0, place) if new == 1 else (1, 0)
        for layer in range(2):
            # Two groups a layer: the hook of the weights fires once for each.
            exact = seen["attn.weights"][2 * layer + group][member].flatten(0, 1)[..., : cached + new]
            assert np.abs(decompand(mine.attention[layer]) - exact.numpy()).max() < 0.004
            start = (0, 1, 2)[place]
            span = slice(start, start + new)
            lengths = ((mine.q_norm, "attn.q_rot"), (mine.k_norm, "attn.k_rot"), (mine.v_norm, "attn.v"))
            for norms, name in lengths:
                expected = seen[name][layer][span].norm(dim=-1).T.numpy()
                np.testing.assert_allclose(norms[layer], expected, rtol=1e-3)
            expected = seen["resid_out"][layer][span].norm(dim=-1).numpy()
            np.testing.assert_allclose(mine.residual_norm[layer], expected, rtol=1e-3)


def test_norms_beyond_float16_saturate() -> None:
    config = tiny_config(layers=1)
    capture, pool = Capture(config), KVCache(config, 1)
    pool.pool.fill_(1e30)
    capture.observers["blocks.0.attn.weights"](torch.ones(1, config.kv_heads, config.group, 1, 1))
    capture.observers["blocks.0.attn.q_rot"](torch.full((1, config.heads, config.head_dim), 1e30))
    capture.observers["blocks.0.resid_out"](torch.full((1, config.d), 3e38))
    slot = torch.zeros(1, dtype=torch.long)
    batch = Batch(slot, slot, slot, (AttentionGroup(0, 1, 1, (1,), slot, None),), slot)
    (mine,) = captured_rows(batch, *on_host(capture.values(batch, pool)))
    assert mine.q_norm.dtype == mine.k_norm.dtype == np.float16
    assert {*mine.q_norm.flat, *mine.k_norm.flat, *mine.v_norm.flat, *mine.residual_norm.flat} == {LARGEST_F16}


def test_a_layers_time_runs_from_its_first_hook_point_to_its_last(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([5.0, 5.001, 5.004])
    monkeypatch.setattr("kvscope.model.engine.capture.time.perf_counter", lambda: next(ticks))
    model, pool, sequence = shared_model(), KVCache(tiny_config(), 1), Sequence()
    entry = Entry(prompt(3), 0, pool.extend(sequence, 3), pool.slots(sequence))
    capture = Capture(model.config)
    with observing(hook_points(model), capture.observers):
        model(make_batch([entry], None)[0], pool)
    assert capture.layer_ms == pytest.approx((1.0, 3.0))
