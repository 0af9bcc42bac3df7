"""Weights that stay in the groups a GGUF file has them in, and their product with rows in float32.

GGML's quantization (ggml-common.h, `block_q4_0`, `block_q4_1`, `block_q8_0`): 32 weights of an output share a scale d,
and a minimum m or none; weight = d·q + m. Nothing is rounded here: the product is that of the dequantized weights, but
for the order of its sums. As it stands it is slow. It is written for a compiler that fuses taking weights apart with
the sum over them, so that a row reads 0.6 bytes a weight in place of 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

GROUP = 32


@dataclass(frozen=True, slots=True)
class Groups:
    """One weight [N, K] in groups of 32 along K.

    `q`: uint8 [N, K/32, 16], the low half of byte i weight i of the group, the high half weight i + 16; or int8
    [N, K/32, 32]. `d` and `m`: float16 [N, K/32]; `m` is None where q alone times d is the weight.
    """

    q: Tensor
    d: Tensor
    m: Tensor | None

    @property
    def form(self) -> str:
        """What code for it depends on: "4 m", "4", or "8"."""
        bits = "4" if self.q.dtype == torch.uint8 else "8"
        return bits if self.m is None else f"{bits} m"

    @property
    def format(self) -> str:
        """What the weights are called as they are kept here: "4-bit groups" or "8-bit groups"."""
        return f"{self.form[0]}-bit groups"

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.q, self.d, self.m) if part is not None)

    def __getitem__(self, rows: Tensor) -> Groups:
        """Those of some outputs, [n]."""
        return Groups(self.q[rows], self.d[rows], None if self.m is None else self.m[rows])

    def dense(self) -> Tensor:
        """The weight itself, float32 [N, K]."""
        q = self.q if self.q.dtype == torch.int8 else torch.cat(self._halves(), dim=-1)
        weight = q.float() * self.d.float()[..., None]
        return (weight if self.m is None else weight + self.m.float()[..., None]).flatten(1)

    def times(self, row: Tensor) -> Tensor:
        """The product with one row [1, K], [1, N]."""
        x = row.view(1, self.q.shape[1], GROUP)  # 1 K/32 32
        if self.q.dtype == torch.int8:
            return (self.q.float() * x * self.d.float()[..., None]).sum((-1, -2))[None]
        low, high = self._halves()
        product = low * x[..., : GROUP // 2] + high * x[..., GROUP // 2 :]  # N K/32 16
        out = (product * self.d.float()[..., None]).sum((-1, -2))
        if self.m is not None:
            out = out + (self.m.float() * x.sum(-1)).sum(-1)
        return out[None]

    def _halves(self) -> tuple[Tensor, Tensor]:
        """Weights 0 to 15 of each group and 16 to 31, before the scale, float32 [N, K/32, 16]."""
        middle = 8 if self.m is None else 0  # the four bits of `block_q4_0` stand for −8 … 7
        return (self.q & 15).float() - middle, (self.q >> 4).float() - middle


class GroupedEmbedding(nn.Module):
    """`nn.Embedding` over a table in groups, of which rows that are asked for are taken apart."""

    def __init__(self, groups: Groups):
        super().__init__()
        self.groups = groups

    @property
    def weight(self) -> Tensor:
        """The whole table, a copy."""
        return self.groups.dense()

    def forward(self, ids: Tensor) -> Tensor:
        return self.groups[ids].dense()


class GroupedLinear(nn.Module):
    """A linear layer of one row over a weight in groups."""

    def __init__(self, groups: Groups, bias: Tensor | None):
        super().__init__()
        self.q = nn.Parameter(groups.q, requires_grad=False)
        self.d = nn.Parameter(groups.d, requires_grad=False)
        self.m = None if groups.m is None else nn.Parameter(groups.m, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)

    def forward(self, row: Tensor) -> Tensor:
        out = Groups(self.q, self.d, self.m).times(row)
        return out if self.bias is None else out + self.bias
