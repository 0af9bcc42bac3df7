"""Captured rows, and the description of a model that could have made them, without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvscope.model.engine.capture import CapturedRows

SAID_LATER = ("norm", "gated", "activation", "positions", "qk_norm", "windows", "tied", "weight_dtype")
"""Fields of the `model` object that the first logs do not have."""


def described(layers: int = 2, heads: int = 4, kv_heads: int = 2, vocab: int = 259) -> dict[str, Any]:
    """The `model` object of an `open` frame."""
    return {
        "name": "tiny",
        "sha256": "f" * 64,
        "arch": "llama",
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": 8,
        "d": 12,
        "d_mlp": 20,
        "vocab": vocab,
        "context": 2048,
        "norm": "rms",
        "gated": True,
        "activation": "silu",
        "positions": "rotary",
        "qk_norm": False,
        "windows": None,
        "tied": True,
        "dtype": "float32",
        "element_bytes": 4,
        "weight_dtype": "float32",
        "weight_bytes": 4000,
        "parameters": 1000,
        "device": "cpu",
        "eos": [0],
    }


def captured(layers: int, heads: int, kv_heads: int, queries: int, first: int) -> CapturedRows:
    """Rows with a value of its own for nearly every cell; cells ahead of their query are 0, as captured ones are."""
    keys = first + queries
    attention = (np.arange(layers * heads * queries * keys) % 251 + 1).astype(np.uint8)
    attention = attention.reshape(layers, heads, queries, keys)
    attention *= np.tri(queries, keys, first, dtype=np.uint8)
    norms = np.arange(layers * kv_heads * queries, dtype=np.float16).reshape(layers, kv_heads, queries)
    q = np.arange(layers * heads * queries, dtype=np.float16).reshape(layers, heads, queries) / 2
    residual = np.arange(layers * queries, dtype=np.float16).reshape(layers, queries)
    return CapturedRows(first, attention, q, norms, norms / 4, residual)
