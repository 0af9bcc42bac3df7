"""A loaded model as the log describes it."""

from __future__ import annotations

from typing import Any

from kvscope.model.checkpoint import Checkpoint
from kvscope.model.linear import COMPUTED, name_of
from kvscope.model.transformer import Transformer
from kvscope.model.weights import weights_held

_OF_CONFIG = (
    *("arch", "layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context"),
    *("norm", "gated", "activation", "positions", "qk_norm", "windows", "tied"),
)
"""What the configuration says of it, by the same names."""


def describe(checkpoint: Checkpoint, transformer: Transformer, device: str) -> dict[str, Any]:
    """The `model` object of an `open` frame."""
    config = checkpoint.config
    return {
        "name": checkpoint.name,
        "sha256": checkpoint.sha256,
        **{name: getattr(config, name) for name in _OF_CONFIG},
        "dtype": name_of(COMPUTED),
        "element_bytes": COMPUTED.itemsize,
        "weight_dtype": name_of(transformer.weight_dtype),
        "weight_bytes": sum(weight.nbytes for weight in checkpoint.weights.values()),
        "weights": {"stored": dict(checkpoint.stored), "held": weights_held(transformer, ())},
        "parameters": sum(weight.numel() for weight in checkpoint.weights.values()),
        "device": device,
        "eos": list(checkpoint.tokenizer.eos),
    }
