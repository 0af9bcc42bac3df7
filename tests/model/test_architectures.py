"""Tiny random checkpoints of every family, saved by `transformers`, loaded from their folders, agree with it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import observing
from kvscope.model.kv_cache import Sequence
from tests.support.loaded import engine_of, logits_of_rows
from tests.support.tiny import prompt
from tests.support.tiny_files import VOCAB, write_folder

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 10000.0}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0, 1.5, 2.0, 3.0],
    "long_factor": [1.0, 4.0, 8.0, 16.0],
    "factor": 2.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 10000.0,
}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "head_dim": 16}
LOCAL_FIRST = ["sliding_attention", "full_attention"]
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", {}),
    "llama": ("llama", {}),
    "llama-tied": ("llama", {"tie_word_embeddings": True}),
    "llama-mqa-biased": ("llama", {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True}),
    "yarn": ("qwen2", {"rope_parameters": YARN}),
    "yarn-attention": ("qwen3", {"rope_parameters": YARN | {"attention_factor": 0.8, "truncate": False}}),
    "longrope": ("llama", {"rope_parameters": LONGROPE}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "qwen3-window": (
        "qwen3",
        {"head_dim": 16, "use_sliding_window": True, "sliding_window": 5, "layer_types": LOCAL_FIRST[::-1]},
    ),
    "gemma3": (
        "gemma3_text",
        {"head_dim": 16, "num_key_value_heads": 1, "sliding_window": 5, "layer_types": LOCAL_FIRST},
    ),
    "gemma3-scaled": (
        "gemma3_text",
        {
            "head_dim": 16,
            "query_pre_attn_scalar": 9,
            "sliding_window": 4,
            "layer_types": LOCAL_FIRST,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5},
                "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
            },
        },
    ),
    "gemma2": ("gemma2", {"head_dim": 16, "sliding_window": 5}),
    "gemma2-capped": (
        "gemma2",
        {
            "head_dim": 16,
            "query_pre_attn_scalar": 9,
            "attn_logit_softcapping": 1.5,
            "final_logit_softcapping": 2.0,
            "sliding_window": 4,
            "layer_types": LOCAL_FIRST[::-1],
        },
    ),
    "gemma2-uncapped": (
        "gemma2",
        {"head_dim": 16, "attn_logit_softcapping": None, "final_logit_softcapping": None, "sliding_window": 64},
    ),
    "neox": ("gpt_neox", {}),
    "neox-sequential": ("gpt_neox", {"use_parallel_residual": False, "rotary_pct": 0.5}),
    "neox-without-biases": ("gpt_neox", {"attention_bias": False, "rotary_pct": 1.0, "rotary_emb_base": 500.0}),
    "neox-yarn": ("gpt_neox", {"rope_parameters": YARN | {"partial_rotary_factor": 0.5}}),
    "neox-tied": ("gpt_neox", {"tie_word_embeddings": True, "hidden_size": 64}),
    "phi3": ("phi3", {}),
    "phi3-window": ("phi3", {"sliding_window": 5, "num_key_value_heads": 4}),
    "phi3-partial": ("phi3", {"partial_rotary_factor": 0.5}),
    "phi3-partial-longrope": (
        "phi3",
        {
            "original_max_position_embeddings": 32,
            "rope_parameters": {
                **{name: value for name, value in LONGROPE.items() if name != "original_max_position_embeddings"},
                "short_factor": [1.0, 2.0],
                "long_factor": [1.0, 8.0],
                "partial_rotary_factor": 0.5,
            },
        },
    ),
    "phi3-longrope": (
        "phi3",
        {
            "original_max_position_embeddings": 32,
            "rope_parameters": {
                **{name: value for name, value in LONGROPE.items() if name != "original_max_position_embeddings"},
                "partial_rotary_factor": 1.0,
            },
        },
    ),
    "qwen3-experts": ("qwen3_moe", EXPERTS),
    "qwen3-experts-normalized": ("qwen3_moe", EXPERTS | {"norm_topk_prob": True, "num_experts_per_tok": 3}),
    "qwen3-experts-some-layers": ("qwen3_moe", EXPERTS | {"decoder_sparse_step": 2}),
    "mistral": ("mistral", {"sliding_window": None}),
    "mistral-window": ("mistral", {"sliding_window": 5}),
}
IDS = prompt(23, seed=7, vocab=len(VOCAB))


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Engine]:
    arch, settings = FAMILIES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    reference = write_folder(folder, arch, attn_implementation="eager", **settings).eval()
    return reference, engine_of(folder)


def ours(engine: Engine, ids: list[int]) -> tuple[Tensor, list[Tensor]]:
    """Logits [T, V] of every row and attention [H, T, T] of every layer."""
    attention: list[Tensor] = []
    layers = range(engine.transformer.config.layers)
    with observing(engine.runner.points, {f"blocks.{layer}.attn.weights": attention.append for layer in layers}):
        logits = logits_of_rows(engine, ids)
    return logits, [weights[0].flatten(0, 1) for weights in attention]


def test_every_rows_logits_and_every_heads_attention_agree(pair: tuple[Any, Engine]) -> None:
    reference, engine = pair
    with torch.inference_mode():
        expected = reference(torch.tensor([IDS]), output_attentions=True)
    logits, attention = ours(engine, IDS)
    assert float((logits - expected.logits[0]).abs().max()) < 1e-4
    assert max(float((a - b[0]).abs().max()) for a, b in zip(attention, expected.attentions, strict=True)) < 1e-5


def test_decode_token_by_token_agrees(pair: tuple[Any, Engine]) -> None:
    reference, engine = pair
    with torch.inference_mode():
        expected = reference(torch.tensor([IDS])).logits[0, -1]
    sequence = Sequence()
    for position, token in enumerate(IDS):
        entry = Entry([token], position, engine.cache.extend(sequence, 1), engine.cache.slots(sequence))
        batch = make_batch([entry], engine.transformer.config.window)[0]
        logits = engine.transformer(batch, engine.cache)[0]
    engine.cache.release(sequence)
    assert float((logits - expected).abs().max()) < 1e-4
