from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from kvscope.model.activations import answers
from kvscope.model.activations.answers import algebra_values, block_values, head_values
from kvscope.model.activations.lens import lens_rows
from kvscope.model.config import ModelConfig
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import hook_points
from tests.support.tiny import ARCHS, GREEDY, advance_all, greedy, prompt, shared_model

IDS = prompt(24)


def engine(arch: str = "llama") -> Engine:
    return Engine(shared_model(arch), capacity=128)


near = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-4)


def scores_of(products: Tensor, config: ModelConfig) -> Tensor:
    """Scores from products of q and k, capped if the model caps them."""
    scores, cap = products * config.score_scale, config.score_cap
    return scores if cap is None else cap * (scores / cap).tanh()


def softmax_of(scores: Tensor, first: int, window: int | None) -> Tensor:
    query = first + torch.arange(scores.shape[0])[:, None]
    key = torch.arange(scores.shape[1])
    hidden = (key > query) | (key <= query - (window or 10**6))
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("first", "layer", "head"), [(0, 0, 0), (0, 1, 3), (23, 1, 2)])
def test_a_heads_values_are_its_arithmetic(arch: str, first: int, layer: int, head: int) -> None:
    made = engine(arch)
    config = made.transformer.config
    found = load(head_values(made, IDS, first, layer, head))
    rows = len(IDS) - first
    mine, all_rows, pairs = (rows, config.head_dim), (24, config.head_dim), (rows, 24)
    shapes = {"q": mine, "k": all_rows, "v": all_rows, "scores": pairs, "weights": pairs, "output": mine}
    assert {name: tuple(value.shape) for name, value in found.items()} == shapes
    assert {value.dtype for value in found.values()} == {torch.float32}
    scores = scores_of(found["q"] @ found["k"].T, config)
    window = config.window if config.has_window(layer) else None
    near(found["scores"], scores, atol=1e-4, rtol=1e-4)
    near(found["weights"], softmax_of(scores, first, window))
    near(found["output"], found["weights"] @ found["v"])


def test_query_heads_of_one_group_read_the_same_k_and_v() -> None:
    made = engine()
    found = [load(head_values(made, IDS, 0, 1, head)) for head in range(4)]
    assert torch.equal(found[0]["k"], found[1]["k"])
    assert torch.equal(found[2]["v"], found[3]["v"])
    assert not torch.equal(found[1]["k"], found[2]["k"])
    assert not torch.equal(found[0]["q"], found[1]["q"])


def test_a_row_from_the_cache_equals_the_same_row_computed_afresh() -> None:
    made = engine()
    afresh = load(head_values(made, IDS, 0, 1, 1))
    run = made.admit("a", IDS, GREEDY, 4)
    made.advance()
    cached = load(head_values(made, IDS, 23, 1, 1))
    assert made.cache.refcounts[run.sequence.table[0]] == 1
    for name, value in cached.items():
        near(value, afresh[name] if name in ("k", "v") else afresh[name][23:])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("layer", [0, 1])
def test_a_blocks_values_are_all_there_and_fit_together(arch: str, layer: int) -> None:
    made = engine(arch)
    config = made.transformer.config
    found = load(block_values(made, IDS, layer))
    prefix = f"blocks.{layer}."
    points = {name.removeprefix(prefix) for name in hook_points(made.transformer) if name.startswith(prefix)}
    assert set(found) == points | {"cache.k", "cache.v"}
    assert found["attn.weights"].shape == found["attn.scores"].shape == (config.heads, 24)
    assert found["attn.k"].shape == (config.kv_heads, config.head_dim)
    assert found["mlp.hidden"].shape == (config.d_mlp,)
    torch.testing.assert_close(found["resid_mid"], found["resid_in"] + found["attn.change"])
    torch.testing.assert_close(found["resid_out"], found["resid_mid"] + found["mlp.change"])
    if config.mlp == "swiglu":
        hidden = torch.nn.functional.silu(found["mlp.gate"]) * found["mlp.raised"]
        torch.testing.assert_close(found["mlp.hidden"], hidden)
    head = load(head_values(made, IDS, 23, layer, 2))
    near(found["attn.weights"][2], head["weights"][0])
    near(found["attn.mixed"][2], head["output"][0])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("position", [0, 23])
def test_a_block_shows_what_the_cache_holds_of_it(arch: str, position: int) -> None:
    made = engine(arch)
    config = made.transformer.config
    found = load(block_values(made, IDS[: position + 1], 1))
    before = load(block_values(made, IDS[: position + 1], 0))
    near(before["resid_out"], found["resid_in"])
    assert found["cache.k"].shape == found["cache.v"].shape == (config.kv_heads, position + 1, config.head_dim)
    assert torch.equal(found["cache.k"][:, -1], found["attn.k_rot"])
    assert torch.equal(found["cache.v"][:, -1], found["attn.v"])
    k = found["cache.k"].repeat_interleave(config.group, dim=0)  # H K Dh
    scores = scores_of(torch.einsum("hd,hkd->hk", found["attn.q_rot"], k), config)
    near(found["attn.scores"], scores, atol=1e-4, rtol=1e-4)
    v = found["cache.v"].repeat_interleave(config.group, dim=0)
    mixed = torch.einsum("hk,hkd->hd", found["attn.weights"], v)
    near(found["attn.mixed"], mixed)


def test_looking_leaves_no_block_behind_and_no_run_changed() -> None:
    made = engine()
    run = made.admit("a", IDS, GREEDY, 8)
    records = made.advance()
    free = made.cache.free_blocks
    for _ in range(3):
        head_values(made, run.ids, 24, 0, 0)
        block_values(made, IDS, 1)
        lens_rows(made, run.ids, 0)
        assert made.cache.free_blocks == free
    records += advance_all(made)
    assert run.ids == IDS + greedy(made.transformer, IDS, 8)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 3)])
def test_a_decode_step_is_shown_with_the_cache_and_from_all_tokens_again(arch: str, layer: int, head: int) -> None:
    made = engine(arch)
    config = made.transformer.config
    made.admit("a", IDS[:20], GREEDY, 1)
    made.advance()
    found = load(algebra_values(made, IDS, layer, head))
    with_cache = load(head_values(made, IDS, 23, layer, head))
    again = load(head_values(Engine(shared_model(arch), capacity=128), IDS, 0, layer, head))
    whole = {"attn.normed", "attn.change", "resid_mid", "mlp.hidden", "resid_out"}
    shown = {name for name in found if not name.endswith("_before")}
    assert shown == {*with_cache, *whole, *(f"{name}_again" for name in [*with_cache, *whole])}
    for name, value in with_cache.items():
        assert torch.equal(found[name], value)
    for name in ("q", "k", "v", "output"):
        assert found[f"{name}_again"].shape == (24, config.head_dim)
    for name in with_cache:
        near(found[f"{name}_again"], again[name], atol=1e-6, rtol=1e-5)
    block = load(block_values(made, IDS, layer))
    for name in whole:
        assert torch.equal(found[name][0], block[name])
        near(found[f"{name}_again"][-1], block[name])
    # What the page says: the reusable part is what the cache holds.
    near(found["k"], found["k_again"])
    near(found["v"], found["v_again"])
    near(found["output"][0], found["output_again"][-1])


def test_the_part_shown_again_takes_nothing_from_the_cache() -> None:
    made = engine()
    made.admit("a", IDS[:20], GREEDY, 4)
    made.advance()
    made.cache.pool.add_(1.0)  # whatever is read from the cache now is wrong
    found = load(algebra_values(made, IDS, 1, 2))
    expected = load(head_values(engine(), IDS, 0, 1, 2))
    for name in "qkv":
        near(found[f"{name}_again"], expected[name])
    assert (found["k"] - expected["k"]).abs().max() > 0.5


@pytest.mark.parametrize("arch", ARCHS)
def test_earlier_rows_are_compared_with_those_before_the_newest_token(arch: str) -> None:
    made = engine(arch)
    found = load(algebra_values(made, IDS, 1, 2))
    before = load(algebra_values(made, IDS[:-1], 1, 2))
    for name in ("q", "scores", "weights", "output", "attn.normed", "attn.change", "resid_mid", "mlp.hidden"):
        earlier, again = before[f"{name}_again"], found[f"{name}_again"]
        again = again[:-1, : earlier.shape[1]]
        assert torch.equal(found.get(f"{name}_before", again), earlier)
        assert (f"{name}_before" in found) == (not torch.equal(again, earlier))


def test_rows_that_a_later_token_changes_are_given_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine()
    honest = answers.observe

    def touched(engine: Engine, ids: list[int], first_query: int, *rest: Any, **others: Any) -> Any:
        observed = honest(engine, ids, first_query, *rest, **others)
        if first_query == 0 and len(ids) == len(IDS):
            observed.values["blocks.1.attn.normed"] = observed.values["blocks.1.attn.normed"].clone()
            observed.values["blocks.1.attn.normed"][3, 5] += 0.5
        return observed

    monkeypatch.setattr(answers, "observe", touched)
    found = load(algebra_values(made, IDS, 1, 2))
    difference = found["attn.normed_again"][:-1] - found["attn.normed_before"]
    assert abs(float(difference[3, 5]) - 0.5) < 1e-6
    assert int((difference.abs() > 1e-3).sum()) == 1


def test_of_a_long_text_only_one_head_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_COMPARED", len(IDS) - 1)
    found = load(algebra_values(engine(), IDS, 1, 2))
    assert {name for name in found if name.endswith("_again")} == {
        f"{name}_again" for name in ("q", "k", "v", "output")
    }
    assert not any("." in name or name.endswith("_before") for name in found)
