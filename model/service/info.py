"""A loaded model as the log describes it."""

from __future__ import annotations

from typing import Any

from kvscope.model.checkpoint import Checkpoint
from kvscope.model.linear import COMPUTED, name_of
from kvscope.model.transformer import Transformer
from kvscope.model.weights import weights_held


def describe(checkpoint: Checkpoint, transformer: Transformer, device: str) -> dict[str, Any]:
    """The `model` object of an `open` frame."""
    config = checkpoint.config
    return {
        "name": checkpoint.name,
        "sha256": checkpoint.sha256,
        "arch": config.arch,
        "layers": config.layers,
        "heads": config.heads,
        "kv_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "d": config.d,
        "d_mlp": config.d_mlp,
        "vocab": config.vocab,
        "context": config.context,
        "dtype": name_of(COMPUTED),
        "element_bytes": COMPUTED.itemsize,
        "weight_dtype": name_of(transformer.weight_dtype),
        "weight_bytes": sum(weight.nbytes for weight in checkpoint.weights.values()),
        "weights": {"stored": dict(checkpoint.stored), "held": weights_held(transformer, ())},
        "parameters": sum(weight.numel() for weight in checkpoint.weights.values()),
        "device": device,
        "eos": list(checkpoint.tokenizer.eos),
    }
