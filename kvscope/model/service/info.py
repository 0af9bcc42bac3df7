"""Describes a loaded model for the log."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kvscope.model.checkpoint import Checkpoint
from kvscope.model.config import ModelConfig
from kvscope.model.linear import COMPUTED, name_of
from kvscope.model.transformer import Transformer, Weight
from kvscope.model.weights import weights_held

OF_CONFIG = (
    *("arch", "layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context"),
    *("norm", "gated", "activation", "positions", "qk_norm", "post_norms", "windows", "tied"),
    "embedding_scale",
)
"""Fields that have the same names in the model's configuration."""
ONLY_IF_SET = ("rotary_dim", "score_cap", "logit_cap", "parallel")
"""The same, of fields that only some models have."""


def describe(checkpoint: Checkpoint, transformer: Transformer, device: str) -> dict[str, Any]:
    """Returns the `model` object of an `open` frame."""
    config, weights = checkpoint.config, checkpoint.weights.values()
    return {
        "name": checkpoint.name,
        "sha256": checkpoint.sha256,
        **{name: getattr(config, name) for name in OF_CONFIG},
        "score_width": config.score_width or config.head_dim,
        **{name: value for name in ONLY_IF_SET if (value := getattr(config, name))},
        "experts": _experts(config) if config.experts else None,
        "dtype": name_of(COMPUTED),
        "element_bytes": COMPUTED.itemsize,
        "weight_dtype": name_of(transformer.weight_dtype),
        "weight_bytes": sum(_numbers(each) * _dtype(each).itemsize for each in weights),
        "weights": {"stored": dict(checkpoint.stored), "held": weights_held(transformer)},
        "parameters": sum(map(_numbers, weights)),
        "device": device,
        "eos": list(checkpoint.tokenizer.eos),
    }


def _experts(config: ModelConfig) -> dict[str, int]:
    return {"count": config.experts, "chosen": config.experts_chosen, "width": config.d_expert}


def _numbers(weight: Weight) -> int:
    return weight.numel() if isinstance(weight, Tensor) else sum(part.outputs * part.inputs for part in weight)


def _dtype(weight: Weight) -> torch.dtype:
    """Returns the type with which a weight's numbers are computed."""
    return weight.dtype if isinstance(weight, Tensor) else COMPUTED
