"""Weights in the format of their file: in the groups of a GGUF file, or as plain numbers.

GGML's quantization (ggml-common.h): the weights of a group share a scale d and, in some types, a minimum m;
weight = d·q + m. Nothing is rounded: a product differs from that with dequantized weights only in the order of sums.

The layout is for `native/products.h`: 16 neighbouring outputs form a panel, and a 32-bit word holds eight 4-bit, four
8-bit, two 16-bit weights or one 32-bit weight of one output. So one vector instruction extracts a weight of all 16
outputs from 16 words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from kvscope.model.held import LANES

WORD = 32
WORD_BYTES = 4
CENTRE = 8
"""Four bits without a minimum mean −8 to 7."""

Bits = Literal[4, 8]
PLAIN = (torch.bfloat16, torch.float16, torch.float32)
"""The dtypes of weights that are not in groups."""


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """One weight [N, K] in groups of `size` weights along K.

    `q`: int32 [⌈N/16⌉, K/size, size·bits/32, 16]. Four bits: byte i of a group has weight i in its low half and weight
    i + 16 in its high half. Eight bits: byte i is weight i, signed. `d` and `m`: float16 or float32 [⌈N/16⌉, K/size,
    16]; `m` is None if there is no minimum. Values beyond output N are 0.

    `dtype`: of plain weights, without `d` and `m`; their groups only order the sums. None: 4 or 8 bits.
    """

    q: Tensor
    d: Tensor | None
    m: Tensor | None
    outputs: int
    bits: int
    dtype: torch.dtype | None = None

    @classmethod
    def of(cls, q: Tensor, d: Tensor, m: Tensor | None, bits: Bits) -> Groups:
        """Builds from a file's rows: `q` uint8 or int8 [N, K/size, size·bits/8], `d` and `m` [N, K/size]."""
        words = q.contiguous().view(torch.int32)
        return cls(_panels(words), _panels(d), None if m is None else _panels(m), len(q), bits)

    @classmethod
    def plain(cls, weight: Tensor) -> Groups:
        """Builds from a float32 weight [N, K], in the first of `PLAIN` that has all its numbers exactly."""
        outputs, inputs = weight.shape
        size = math.gcd(inputs, WORD)
        for dtype in PLAIN:
            exact = weight.to(dtype)
            if size * dtype.itemsize % WORD_BYTES == 0 and torch.equal(exact.float(), weight):
                break
        words = exact.contiguous().view(torch.int32).view(outputs, inputs // size, -1)
        return cls(_panels(words), None, None, outputs, 8 * dtype.itemsize, dtype)

    @property
    def inputs(self) -> int:
        return self.q.shape[1] * self.size

    @property
    def size(self) -> int:
        """Number of weights in a group."""
        return self.q.shape[2] * WORD // self.bits

    @property
    def format(self) -> str:
        """The name of the format in memory: "4-bit groups", "8-bit groups", or the dtype."""
        return f"{self.bits}-bit groups" if self.dtype is None else str(self.dtype).removeprefix("torch.")

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.q, self.d, self.m) if part is not None)

    @property
    def finite(self) -> bool:
        """Whether all weights are finite numbers. No weight is larger than 128 scales plus a minimum."""
        if self.dtype is not None:
            return bool(torch.isfinite(self.q.view(self.dtype)).all())
        largest = (part.float().abs().max() * 2**7 for part in (self.d, self.m) if part is not None)
        return all(bool(torch.isfinite(each)) for each in largest)

    def dense(self) -> Tensor:
        """Returns the dequantized weight, float32 [N, K]."""
        return self._weights(self.q, self.d, self.m).transpose(1, 2).flatten(0, 1)[: self.outputs]

    def rows(self, outputs: Tensor) -> Tensor:
        """Returns the dequantized weights of some outputs [n], float32 [n, K]."""
        panel, lane = outputs // LANES, outputs % LANES
        q, d, m = (None if part is None else part[panel, ..., lane].unsqueeze(-1) for part in (self.q, self.d, self.m))
        assert q is not None
        return self._weights(q, d, m)[..., 0]

    def _weights(self, q: Tensor, d: Tensor | None, m: Tensor | None) -> Tensor:
        """Dequantizes panels with any number of lanes: float32 [panels, K, lanes]."""
        panels, groups, words, lanes = q.shape
        if self.dtype is not None:
            lines = q.movedim(3, 1).contiguous().view(self.dtype)  # panels lanes groups size
            return lines.flatten(2).transpose(1, 2).float()
        assert d is not None
        shifts = torch.arange(0, WORD, self.bits, dtype=torch.int32, device=q.device)[:, None]
        each = (q.unsqueeze(3) >> shifts) & 2**self.bits - 1  # panels groups words 32/bits lanes
        if self.bits == 4:  # first the low halves of a word's bytes, then the high halves
            each = each.view(panels, groups, words, 4, 2, lanes).permute(0, 1, 4, 2, 3, 5)
            each = each - CENTRE if m is None else each
        else:
            each = each.to(torch.uint8).view(torch.int8)
        weights = each.reshape(panels, groups, self.size, lanes).float() * d.float().unsqueeze(2)
        weights = weights if m is None else weights + m.float().unsqueeze(2)
        return weights.flatten(1, 2)


def _panels(rows: Tensor) -> Tensor:
    """Arranges [N, groups, …] in panels [⌈N/16⌉, groups, …, 16], padded with zeros."""
    missing = -len(rows) % LANES
    if missing:
        rows = torch.cat((rows, rows.new_zeros(missing, *rows.shape[1:])))
    return rows.view(-1, LANES, *rows.shape[1:]).movedim(1, -1).contiguous()


class GroupedEmbedding(nn.Module):
    """`nn.Embedding` with a table in groups. It dequantizes only the rows that it looks up."""

    def __init__(self, groups: Groups):
        super().__init__()
        self.groups = groups

    @property
    def weight(self) -> Tensor:
        """The whole table, dequantized into a copy."""
        return self.groups.dense()

    def forward(self, ids: Tensor) -> Tensor:
        return self.groups.rows(ids)
