"""Gemma 2 and GPT-NeoX as `transformers` computes them, over 512 tokens: from a folder, and from a GGUF file as
llama.cpp's converter writes it.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from kvscope.model.activations.observe import observe
from kvscope.model.engine.batch import Entry
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import Sequence
from tests.support.converted import write_converted
from tests.support.loaded import engine_of
from tests.support.tiny import GREEDY, answer, prompt
from tests.support.tiny_files import VOCAB, write_folder

TOKENS = 512
IDS = prompt(TOKENS, seed=3, vocab=len(VOCAB))
CLOSE = 1e-4
SIZES = {"num_hidden_layers": 4, "max_position_embeddings": 1024}
GEMMA2 = {**SIZES, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 48}
"""A GGUF file does not say what scores are divided by: the root of `head_dim`."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma2": ("gemma2", GEMMA2),
    "gemma2 with low caps": ("gemma2", GEMMA2 | {"attn_logit_softcapping": 0.7, "final_logit_softcapping": 1.5}),
    "gptneox": ("gpt_neox", SIZES),
    "gptneox, sequential": ("gpt_neox", SIZES | {"use_parallel_residual": False, "rotary_pct": 0.5}),
    "gptneox, all rotated": ("gpt_neox", SIZES | {"rotary_pct": 1.0}),
}


class Pair:
    """`reference` of `transformers`, and an engine over its folder or GGUF file."""

    def __init__(self, reference: Any, engine: Engine):
        self.reference, self.engine, self.config = reference, engine, engine.transformer.config
        cache = DynamicCache()  # without the config: it keeps all keys, those outside of windows too
        with torch.inference_mode():
            out = reference(torch.tensor([IDS]), past_key_values=cache, output_attentions=True)
        self.logits = out.logits[0]
        self.attentions = [each[0] for each in out.attentions]
        self.kv = [(layer.keys[0], layer.values[0]) for layer in cache.layers]


@pytest.fixture(scope="module", params=[(name, file) for name in CASES for file in ("folder", "gguf")], ids=str)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    name, file = request.param
    arch, settings = CASES[name]
    folder = tmp_path_factory.mktemp("model")
    reference = write_folder(folder, arch, attn_implementation="eager", std=0.25, **settings).eval()
    if file == "gguf":
        return Pair(reference, engine_of(write_converted(folder / "a.gguf", reference), 2 * TOKENS))
    return Pair(reference, engine_of(folder, 2 * TOKENS))


def furthest(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max())


def in_pairs(keys: Tensor, rotated: int) -> Tensor:
    """Keys [Hkv, T, Dh], whose rotated pairs are (i, i + rotated/2), with pairs (i, i + Dh/2) as in the engine."""
    first, second, rest = keys.split((rotated // 2, rotated // 2, keys.shape[-1] - rotated), dim=-1)
    ahead, behind = rest.chunk(2, dim=-1)
    return torch.cat((first, ahead, second, behind), dim=-1)


def test_logits_attention_k_and_v_agree(pair: Pair) -> None:
    config = pair.config
    names = [f"blocks.{layer}.attn.weights" for layer in range(config.layers)]
    last = f"blocks.{config.layers - 1}.resid_out"
    seen = observe(pair.engine, IDS, 0, [*names, last], cache_of=range(config.layers))
    with torch.inference_mode():
        logits = pair.engine.transformer.decode_rows(seen.values[last])
    off = {"logits": furthest(logits, pair.logits)}
    weights = [seen.values[name].reshape(config.heads, TOKENS, TOKENS) for name in names]
    off["attention"] = max(map(furthest, weights, pair.attentions))
    off["K"] = max(furthest(seen.cache[layer][0], in_pairs(k, config.rotated)) for layer, (k, _) in enumerate(pair.kv))
    off["V"] = max(furthest(seen.cache[layer][1], v) for layer, (_, v) in enumerate(pair.kv))
    print({name: f"{value:.1e}" for name, value in off.items()})
    assert max(off.values()) < CLOSE


@pytest.mark.parametrize("rows", [100, 1])
def test_prefill_in_chunks_and_decode_agree(pair: Pair, rows: int) -> None:
    engine, sequence, tokens = pair.engine, Sequence(), IDS[: 5 * rows + 60]
    for first in range(0, len(tokens), rows):
        part = tokens[first : first + rows]
        entry = Entry(part, first, engine.cache.extend(sequence, len(part)), engine.cache.slots(sequence))
        logits = engine.runner.run([entry]).logits[0]
        assert furthest(logits, pair.logits[first + len(part) - 1]) < CLOSE
    engine.cache.release(sequence)


def test_greedy_tokens_agree(pair: Pair) -> None:
    chosen = answer(pair.engine, IDS[:100], 24, GREEDY)
    with torch.inference_mode():
        logits = pair.reference(torch.tensor([[*IDS[:100], *chosen[:-1]]])).logits[0, -24:]
    assert chosen == logits.argmax(-1).tolist()
