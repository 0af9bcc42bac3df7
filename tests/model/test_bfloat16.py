"""A model whose matrices are kept in bfloat16, against the same in float32 over weights of the same values."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.hooks import hook_points
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear
from kvscope.model.transformer import Transformer
from tests.support.tiny import (
    ARCHS,
    GREEDY,
    advance_all,
    prompt,
    random_weights,
    shared_model,
    tiny_config,
    tiny_engine,
    tokens,
    whole_logits,
)

IDS = prompt(40)


def rounded(tensor: Tensor) -> Tensor:
    return tensor.bfloat16().float()


def in_float32(arch: str, *, everything: bool = False) -> Transformer:
    """The model in float32, over matrices of bfloat16's values, whose products have rounded inputs as well.

    `everything`: norms, biases and positions are rounded too.
    """
    config = tiny_config(arch)
    weights = {name: weight.float() for name, weight in random_weights(config, torch.bfloat16).items()}
    if everything:
        weights = {name: rounded(weight) for name, weight in weights.items()}
    model = Transformer.from_weights(config, weights)
    for module in model.modules():
        if isinstance(module, Linear):
            module.register_forward_pre_hook(lambda _, given: (rounded(given[0]),))
    return model


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_but_the_factors_of_products_is_rounded(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums in another order turn the rounding of a few inputs, so there is a distance; it is small beside what one
    rounding more would make.
    """
    expected = whole_logits(in_float32(arch), IDS)

    def distance(logits: Tensor) -> float:
        return float((logits - expected).abs().mean())

    off = distance(whole_logits(shared_model(arch, torch.bfloat16), IDS))
    with_all_rounded = distance(whole_logits(in_float32(arch, everything=True), IDS))
    write = KVCache.write
    monkeypatch.setattr(
        KVCache, "write", lambda cache, layer, slots, k, v: write(cache, layer, slots, rounded(k), rounded(v))
    )
    with_a_rounded_cache = distance(whole_logits(in_float32(arch), IDS))
    print(f"{arch}: {off:.2g}, all rounded {with_all_rounded:.2g}, cache rounded {with_a_rounded_cache:.2g}")
    assert off < 0.5 * min(with_all_rounded, with_a_rounded_cache)


@pytest.mark.parametrize("arch", ARCHS)
def test_hook_points_and_the_cache_are_float32(arch: str) -> None:
    engine = tiny_engine(arch, dtype=torch.bfloat16)
    points = list(hook_points(engine.transformer))
    seen = observe(engine, IDS, 0, points, cache_of=[0])
    assert set(seen.values) == set(points)
    assert {value.dtype for value in (*seen.values.values(), *seen.cache[0])} == {torch.float32}
    assert engine.cache.pool.dtype == torch.float32
    k = seen.block(0)["attn.k_rot"]
    assert not torch.equal(k, rounded(k))  # not numbers of bfloat16 that merely take more room


@pytest.mark.parametrize("arch", ARCHS)
def test_runs_together_choose_what_the_passes_over_whole_texts_choose(arch: str) -> None:
    engine = tiny_engine(arch, dtype=torch.bfloat16)
    for name, length in (("a", 5), ("b", 17)):
        engine.admit(name, prompt(length, seed=length), GREEDY, 6)
    records = advance_all(engine)
    for name, length in (("a", 5), ("b", 17)):
        chosen = tokens(records, name)
        text = [*prompt(length, seed=length), *chosen]
        logits = whole_logits(engine.transformer, text)[length - 1 : -1]
        largest = logits.gather(1, torch.tensor(chosen)[:, None])[:, 0]
        assert len(chosen) == 6
        assert (logits.max(dim=1).values - largest < 0.03).all()
