"""The models with which recipes are recorded: the default one, a packaged one, or a tiny random one with experts."""

from __future__ import annotations

import hashlib
from typing import Any

from kvscope.app.engine.process import resolve
from kvscope.app.settings import DEFAULT_SERVICE

EXPERTS = "tiny-random-experts"
"""`model` of a recipe: 4 layers whose MLPs have 8 experts, of which each row goes through 2; random weights."""
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
SPREAD = 0.2
"""Standard deviation of the random weights, large enough that the shares of experts differ visibly."""


class Services:
    """The services by model, each loaded at its first use."""

    def __init__(self) -> None:
        self._loaded: dict[str | None, Any] = {}

    def of(self, model: str | None) -> Any:
        """Returns the service of a model; None: of the default one. Raises Refused for a model whose terms nobody has
        accepted.
        """
        if model not in self._loaded:
            self._loaded[model] = tiny_experts() if model == EXPERTS else _load(model)
        return self._loaded[model]


def _load(model: str | None) -> Any:
    return resolve(DEFAULT_SERVICE)(model, "cpu", "float32", lambda progress: None)


def tiny_experts() -> Any:
    """Returns the service of `EXPERTS`: always the same weights, and the default model's tokenizer."""
    import torch

    from kvscope.model.checkpoint import Checkpoint, load
    from kvscope.model.checkpoint.layout import slots
    from kvscope.model.config import ModelConfig
    from kvscope.model.service.service import ModelService

    tokenizer = load(None, lambda progress: None).tokenizer
    config = ModelConfig(arch="qwen3_moe", vocab=tokenizer.vocab, **SIZES)
    generator = torch.Generator().manual_seed(0)
    weights: dict[str, Any] = {}
    for slot in slots(config):
        random = torch.randn(slot.shape, generator=generator) * SPREAD
        weights[slot.name] = random if slot.matrix else torch.ones(slot.shape)
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].numpy().tobytes())
    return ModelService(Checkpoint(config, weights, tokenizer, EXPERTS, digest.hexdigest(), EXPERTS), "cpu")
