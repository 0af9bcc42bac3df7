"""What the mask keeps from changing, and what a position changes."""

from __future__ import annotations

import math

import pytest

from kvscope.model.activations.what_if import appended, everything, turned
from tests.support.tiny import prompt, shared_model, tiny_engine, whole_logits


@pytest.mark.parametrize("arch", ["llama", "mistral", "qwen3", "gpt2"])
def test_only_without_the_mask_does_a_token_change_the_rows_before_it(arch: str) -> None:
    model, ids = shared_model(arch), prompt(10)
    masked, open_ = (appended(model, ids, masked=masked) for masked in (True, False))
    assert max(masked.by_layer) < 1e-6
    assert max(masked.by_position) < 1e-6
    # K and V of the first layer are made of the embeddings alone.
    assert open_.by_layer[0] < 1e-6
    assert open_.by_layer[1] > 1e-3
    assert min(open_.by_position) > 1e-6
    assert len(open_.by_position) == 9
    assert (masked.logits - whole_logits(model, ids)[-1]).abs().max() < 1e-4


@pytest.mark.parametrize(("arch", "group"), [("llama", 2), ("qwen3", 2)])
def test_with_rope_a_place_turns_q_and_k_and_leaves_v(arch: str, group: int) -> None:
    model = shared_model(arch)
    told = turned(model, 7, (3, 40), layer=1, head=group + 1)
    assert [told.changes[name] for name in ("attn.q", "attn.k", "attn.v")] == [0, 0, 0]
    assert told.changes["attn.q_rot"] > 0.01
    assert told.changes["attn.k_rot"] > 0.01
    theta = model.config.rope_theta
    for pair, (before, first, second) in enumerate(told.pairs):
        angle = theta ** (-2 * pair / model.config.head_dim)
        for position, after in ((3, first), (40, second)):
            cos, sin = math.cos(position * angle), math.sin(position * angle)
            assert after[0] == pytest.approx(before[0] * cos - before[1] * sin, abs=1e-4)
            assert after[1] == pytest.approx(before[0] * sin + before[1] * cos, abs=1e-4)


def test_with_learned_positions_a_place_changes_v_too() -> None:
    assert turned(shared_model("gpt2"), 7, (0, 5), layer=0, head=1).changes["attn.v"] > 0.01


def test_k_and_v_are_a_small_part_of_what_a_pass_leaves_behind() -> None:
    engine = tiny_engine()
    told, config = everything(engine, prompt(11)), engine.transformer.config
    assert told.kv == 10 * 2 * config.layers * config.kv_heads * config.head_dim * 4
    d, heads, width, mlp = config.d, config.heads, config.head_dim, config.d_mlp
    row = 3 * d + 2 * heads * width + 3 * config.kv_heads * width + heads * width + 2 * d + 2 * d + 3 * mlp
    scores = 2 * heads * 10
    assert told.everything == pytest.approx(10 * 4 * (config.layers * (row + scores) + 2 * d), rel=0.1)
    assert told.everything > 5 * told.kv
    assert min(told.everything_ms, told.kv_ms) > 0
    assert engine.cache.free_blocks == engine.cache.blocks
