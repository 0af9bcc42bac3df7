"""Gemma 3 270M against `transformers` on the same dequantized weights, in float64 too, and its cache by the formula.

Only where its terms have been accepted (`kvscope --model gemma-3-270m --accept-terms gemma`): a test accepts nothing.
"""

from __future__ import annotations

import pytest
import torch

from kvscope.model.api import Refused
from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.engine.engine import Engine
from kvscope.model.native import Native
from kvscope.model.packaged import GEMMA, check_terms
from kvscope.model.transformer import Transformer
from tests.support.reference import GREEDY_TOKENS, PROMPTS, Reference, farthest, prefill
from tests.support.tiny import answer, steps_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

ATTENTION_OFF = 1e-5
"""From float64. Over 500 tokens float32 is not that precise …"""
AS_TRANSFORMERS = 2
"""… and must be at most so many times as far from float64 as `transformers` in float32 is (docs/measurements.md)."""
TEXTS = {name: text for name, text in PROMPTS.items() if name != "chat"} | {
    "story": "Once upon a time there was a mouse"
}
"""It has no chat template."""


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    try:
        check_terms(GEMMA.name)
    except Refused as why:
        pytest.skip(str(why))
    return load(GEMMA.name, lambda progress: None)


@pytest.fixture(scope="module")
def engine(checkpoint: Checkpoint) -> Engine:
    return Engine(Transformer.from_weights(checkpoint.config, dict(checkpoint.weights)), capacity=4096)


@pytest.fixture(scope="module")
def reference(checkpoint: Checkpoint) -> Reference:
    return Reference(fetch(lambda progress: None, GEMMA))


@pytest.fixture(scope="module")
def compiled(native: Native) -> Engine:
    """An engine over the same weights in the file's groups, with products by native code."""
    kept = load(GEMMA.name, lambda progress: None, grouped=True)
    return Engine(Transformer.from_weights(kept.config, kept.weights, products=native.products), capacity=512)


@pytest.mark.parametrize("name", TEXTS)
def test_ids_logits_and_attention_are_as_near_to_float64_as_those_of_transformers(
    name: str, checkpoint: Checkpoint, engine: Engine, compiled: Engine, reference: Reference
) -> None:
    ids = checkpoint.tokenizer.encode(TEXTS[name])
    assert ids == list(reference.tokenizer(TEXTS[name])["input_ids"])
    ids = ids[:500]
    exact_logits, exact = reference.prefill_in_float64(ids)
    assert exact_logits.dtype == torch.float64
    theirs = farthest(reference.prefill(ids)[1], exact)
    for title, each in (("torch", engine), ("native code", compiled)):
        logits, attention = prefill(each, ids)
        off, attention_off = float((logits - exact_logits).abs().max()), farthest(attention, exact)
        print(
            f"{name}, {title}: {len(ids)} tokens, logits off by {off:.2g}, attention {attention_off:.2g}; {theirs:.2g}"
        )
        assert off < 1e-3
        assert attention_off < max(ATTENTION_OFF, AS_TRANSFORMERS * theirs)


@pytest.mark.parametrize("name", TEXTS)
def test_greedy_tokens_equal(name: str, checkpoint: Checkpoint, engine: Engine, reference: Reference) -> None:
    ids = checkpoint.tokenizer.encode(TEXTS[name])[:500]
    chosen = answer(engine, ids, GREEDY_TOKENS, recorded="steps")
    assert chosen == reference.largest([*ids, *chosen[:-1]], GREEDY_TOKENS)


@pytest.mark.parametrize("positions", [100, 1500])
def test_the_cache_holds_what_the_formula_says(positions: int, checkpoint: Checkpoint, engine: Engine) -> None:
    ids = checkpoint.tokenizer.encode(" ".join(f"On day {day} the keeper wrote." for day in range(400)))
    kv, windows = steps_of(engine, ids[: positions - 2], 3)[-1].kv, checkpoint.config.windows
    assert (windows.count(512), windows.count(None)) == (15, 3)
    near = positions - max(0, positions - 512) // 16 * 16
    assert kv.positions == positions
    assert kv.bytes_used == 2 * 1 * 256 * 4 * (3 * positions + 15 * near)
