"""Captured rows, without a model."""

import numpy as np

from kvscope.model.engine.capture import CapturedRows


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
