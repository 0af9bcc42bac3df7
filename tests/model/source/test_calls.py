"""The tree of calls is the one that the engine makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvscope.model.source.calls import KEY, step_calls
from tests.support.tiny import GREEDY, SAMPLED, check_cache, prompt, tiny_engine, tokens

LAYERS = 2


def flat(call: dict[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """The way to each function, with how often it was called there."""
    way = (*way, call["name"])
    yield way, call["count"]
    for inner in call["calls"]:
        yield from flat(inner, way)


def test_a_step_goes_from_the_engine_through_each_layer_to_the_cache_and_the_choice() -> None:
    for call in step_calls(tiny_engine(), prompt(5), SAMPLED).values():
        found = {way[-1]: (count, way) for way, count in flat(call)}
        assert found["Transformer.forward"][0] == found["choose"][0] == 1
        for name in ("Block.forward", "Attention.forward", "Attention._mix", "MLP.forward"):
            assert found[name][0] == LAYERS
        lines = ("Engine.advance", "Engine._advance_runs", "Runner.run", "Runner._compute_lines")
        layer = (*lines, "Transformer.forward", "Block.forward")
        assert found["KVCache.write"] == (LAYERS, (*layer, "Attention.forward", "KVCache.write"))
        assert found["KVCache.read"] == (LAYERS, (*layer, "Attention.forward", "Attention._mix", "KVCache.read"))
        assert found["top_k"][1][-2:] == ("choose", "top_k")


def test_a_long_prompt_takes_several_passes_and_a_decode_step_one() -> None:
    found = step_calls(tiny_engine(prefill_chunk=4), prompt(10), GREEDY)
    assert (found["prefill"]["count"], found["decode"]["count"]) == (3, 1)


def test_a_text_that_ends_at_once_has_no_decode_step() -> None:
    engine = tiny_engine()
    engine.admit("a", prompt(5), GREEDY, 1)
    (first,) = tokens(engine.advance(), "a")
    assert step_calls(tiny_engine(eos=[first]), prompt(5), GREEDY)["decode"] is None


def test_nothing_of_it_stays() -> None:
    engine = tiny_engine()
    free = engine.cache.free_blocks
    step_calls(engine, prompt(5), GREEDY)
    assert engine.active(KEY) is None
    assert engine.cache.free_blocks == free
    check_cache(engine)
