"""Linear layers whose weights are laid out for the processor.

A decode step multiplies one row by every weight matrix. For that shape torch's default float32 product on the CPU
(`aten::mm` through MKL) runs on one thread and well below the memory's speed on some processors; oneDNN with weights
packed in its own blocked layout does not. Measured on 2 AMD EPYC cores, all of SmolLM2-135M's matrices but the LM head,
in ms per pass of 1, 8 and 37 rows: plain 35, 40, 74; packed 18, 19, 46. Doubling the row, so that the product is no
longer a vector's (17 ms with the head), helps one row only; `torch.utils.mkldnn` converts every activation there and
back (27 ms).

A weight may be kept in bfloat16, half the bytes to hold and to read. Then the rows it is multiplied with are rounded to
bfloat16 as well, for the product that processors have is of two such factors. What comes out, and with it all that is
not a factor of such a product, stays float32.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

COMPUTED = torch.float32
"""What all is but matrices and the embedding, which may be kept smaller: rows, K and V, biases, norms, logits."""


def name_of(dtype: torch.dtype) -> str:
    """As logs and the command line call it, such as float32."""
    return str(dtype).removeprefix("torch.")


class Linear(nn.Linear):
    """`nn.Linear`; after `pack`, its weight exists only in oneDNN's layout."""

    packed: Tensor | None = None

    def pack(self) -> None:
        """Lay the weight out for the CPU and let the dense one go; one that is tied to an embedding lives on there."""
        self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), None)
        del self.weight

    def dense(self) -> Tensor:
        """The weight [out, in], laid out plainly; of a packed one a copy."""
        if self.packed is None:
            return self.weight
        plain: Tensor = self.packed.to_dense()
        return plain

    @property
    def nbytes(self) -> int:
        """Of the weight, where `forward` reads it."""
        return self.in_features * self.out_features * self._read_as.itemsize

    @property
    def format(self) -> str:
        """What `forward` reads the weight as."""
        return name_of(self._read_as)

    @property
    def _read_as(self) -> torch.dtype:
        return COMPUTED if self.packed is not None else self.weight.dtype

    def forward(self, rows: Tensor) -> Tensor:
        if self.packed is not None:
            return times_packed(rows, self.packed, self.bias)
        if self.weight.dtype == rows.dtype:
            return F.linear(rows, self.weight, self.bias)
        product = times_rounded(rows, self.weight)
        return product if self.bias is None else product + self.bias


def times_packed(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    """`F.linear` with a weight in oneDNN's layout."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    return product


def times_rounded(rows: Tensor, weight: Tensor) -> Tensor:
    """The product, in float32, of rows [T, in] that are rounded to the dtype of the weight [out, in].

    On a CPU torch gives such a product rounded as its factors are, too coarse for logits: of 20, steps of 0.125. There
    what rounding took is asked for as well, as the same product less the rounded one; together they have 17 bits.
    """
    rows = rows.to(weight.dtype)
    if rows.is_cuda:
        return torch.mm(rows, weight.t(), out_dtype=COMPUTED)
    rounded = F.linear(rows, weight)
    return rounded.to(COMPUTED) + torch.addmm(-rounded, rows, weight.t()).to(COMPUTED)


def can_pack(device: str) -> bool:
    """Whether float32 weights on `device` can be packed: a CPU for which torch has oneDNN."""
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return device == "cpu" and available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def pack_all(transformer: nn.Module) -> None:
    """Pack every `Linear` of `transformer`."""
    for module in transformer.modules():
        if isinstance(module, Linear):
            module.pack()
