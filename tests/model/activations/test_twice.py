"""A layer of a decode step with the cache and without: the same, but for rounding, wherever the cache is right."""

from __future__ import annotations

import pytest

from kvscope.model.activations.observe import observe
from kvscope.model.activations.twice import layer_twice
from tests.support.tiny import ARCHS, GREEDY, prompt, tiny_engine

IDS = prompt(12)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("layer", [0, 1])
def test_every_operation_is_the_same_with_the_cache_and_without(arch: str, layer: int) -> None:
    engine = tiny_engine(arch)
    told = layer_twice(engine, IDS, layer)
    prefix = f"blocks.{layer}."
    names = [name.removeprefix(prefix) for name in engine.runner.points if name.startswith(prefix)]
    assert sorted(each.name for each in told) == sorted(names)
    assert [each.name for each in told if each.cached] == ["attn.v", "attn.k_rot"]
    for each in told:
        for difference in (each.old, each.new):
            assert difference.size > 0
            assert difference.largest <= 1e-5 * difference.size
    assert engine.cache.free_blocks == engine.cache.blocks


def test_the_sizes_are_those_of_the_rows_that_are_meant() -> None:
    engine = tiny_engine()
    told = {each.name: each for each in layer_twice(engine, IDS, 1)}
    names = ["resid_in", "attn.v", "attn.weights"]
    block = observe(engine, IDS, 0, [f"blocks.1.{name}" for name in names]).block(1)
    for name in ("resid_in", "attn.v"):
        assert told[name].old.size == pytest.approx(float(block[name][:-1].abs().max()), rel=1e-4)
        assert told[name].new.size == pytest.approx(float(block[name][-1].abs().max()), rel=1e-4)
    assert told["attn.weights"].old.size == 1  # the first token looks at itself alone
    assert told["attn.weights"].new.size == pytest.approx(float(block["attn.weights"][..., -1, :].max()), rel=1e-4)


def test_a_cache_that_is_wrong_shows_where_it_is_read_and_nowhere_before() -> None:
    engine = tiny_engine()
    run = engine.admit("a", IDS, GREEDY, 4)
    engine.advance()
    engine.cache.pool[1, :, :, run.sequence.table[0] * 16] += 1  # K and V of layer 1, position 0
    told = {each.name: each for each in layer_twice(engine, IDS, 1)}
    for name in ("attn.k_rot", "attn.v"):
        assert told[name].old.largest == pytest.approx(1, rel=1e-4)
    for name in ("attn.scores", "attn.mixed", "resid_out"):
        assert told[name].new.largest > 1e-3
    for name in ("resid_in", "attn.normed", "attn.q_rot"):
        assert told[name].new.largest <= 1e-5 * told[name].new.size
