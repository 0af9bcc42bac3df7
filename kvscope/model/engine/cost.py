"""Computes arithmetic and memory traffic of forward passes from shapes."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvscope.model.linear import COMPUTED
from kvscope.model.transformer import Transformer
from kvscope.model.weights import ByFormat, added, embedding_row_bytes


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: 2 × the multiply-adds of the matrix products. `rows`: rows of tokens fed.

    `bytes_read`: weights of these products, embedding rows, and K and V (layers with a window read only the window).
    `weights`: the bytes of weights, by format.
    """

    flops: int = 0
    bytes_read: int = 0
    rows: int = 0
    weights: ByFormat = field(default_factory=dict)

    def __add__(self, other: Cost) -> Cost:
        weights = added(self.weights, other.weights)
        return Cost(self.flops + other.flops, self.bytes_read + other.bytes_read, self.rows + other.rows, weights)

    @classmethod
    def of_pass(cls, transformer: Transformer, rows: int, keys: int, weights: ByFormat) -> Cost:
        """Returns the cost of one pass of `rows` new rows of one run that ends with `keys` keys and one row of logits.

        `weights`: bytes of the matrices of blocks and head that the pass reads, by format.
        Masked scores count: the dense product computes them. Weights count in full, even if a batch shares them.
        """
        config = transformer.config
        blocks = transformer.block_products
        head = config.d * config.vocab
        all_keys = [None] * config.layers
        attention = 2 * config.layers * config.heads * config.head_dim * rows * keys
        read = sum(keys if window is None else min(keys, window - 1 + rows) for window in config.windows or all_keys)
        kv = 2 * config.kv_heads * config.head_dim * read
        embedding = rows * embedding_row_bytes(transformer)
        return cls(
            flops=2 * (rows * blocks + head + attention),
            bytes_read=sum(weights.values()) + embedding + COMPUTED.itemsize * kv,
            rows=rows,
            weights=weights,
        )
