"""A small model with experts, made here: random weights and the default model's tokenizer.

Its text means nothing; it shows what a router does with a prompt. Always the same weights.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from kvscope.model.checkpoint.layout import slots
from kvscope.model.config import ModelConfig
from kvscope.model.transformer import Weight

SIZES: dict[str, Any] = {
    "layers": 4,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 16,
    "d": 64,
    "d_mlp": 96,
    "context": 256,
    "experts": 8,
    "experts_chosen": 2,
    "d_expert": 32,
    "shares_normalized": True,
    "qk_norm": True,
    "tied": True,
}
"""4 layers whose MLPs have 8 experts, of which each row goes through 2."""
SPREAD = 0.2
"""Standard deviation of the random weights, large enough that the shares of experts differ visibly."""


def random_experts(vocab: int) -> tuple[ModelConfig, dict[str, Weight], str]:
    """Returns the configuration, the weights and their SHA-256, for a vocabulary of so many tokens."""
    config = ModelConfig(arch="qwen3_moe", vocab=vocab, **SIZES)
    generator = torch.Generator().manual_seed(0)
    weights: dict[str, Weight] = {}
    digests = {}
    for slot in slots(config):
        random = torch.randn(slot.shape, generator=generator) * SPREAD
        weight = random if slot.matrix else torch.ones(slot.shape)
        weights[slot.name], digests[slot.name] = weight, weight.numpy().tobytes()
    digest = hashlib.sha256()
    for name in sorted(digests):
        digest.update(digests[name])
    return config, weights, digest.hexdigest()
