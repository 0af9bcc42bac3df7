"""Arithmetic and memory traffic of forward passes: computed from shapes, not measured."""

from __future__ import annotations

from dataclasses import dataclass

from kvscope.model.linear import COMPUTED
from kvscope.model.transformer import Transformer


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: multiply-adds × 2 of the matrix products. `rows`: rows of tokens fed.

    `bytes_read`: weights of those products, embedding rows, K and V that had to be read.
    """

    flops: int = 0
    bytes_read: int = 0
    rows: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes_read + other.bytes_read, self.rows + other.rows)

    @classmethod
    def of_pass(cls, transformer: Transformer, rows: int, keys: int, weights: int) -> Cost:
        """One pass of `rows` new rows of one run that ends with `keys` keys, with one row of logits.

        `weights`: bytes that the matrices of blocks and head take where it reads them.
        Masked scores count: the dense product computes them. Weights count in full even where a batch shares them.
        """
        config = transformer.config
        blocks = config.layers * transformer.block_products
        head = config.d * config.vocab
        attention = 2 * config.layers * config.heads * config.head_dim * rows * keys
        kv = 2 * config.layers * config.kv_heads * config.head_dim * keys
        embedding = transformer.weight_dtype.itemsize * rows * config.d
        return cls(
            flops=2 * (rows * blocks + head + attention),
            bytes_read=weights + embedding + COMPUTED.itemsize * kv,
            rows=rows,
        )


def weight_bytes(transformer: Transformer) -> int:
    """What the matrices of blocks and head take where the transformer's own modules read them."""
    config = transformer.config
    weights = config.layers * transformer.block_products + config.d * config.vocab
    return transformer.weight_dtype.itemsize * weights
