"""Linear layers whose weights are laid out for the processor.

A decode step multiplies one row by every weight matrix. For that shape torch's default float32 product on the CPU
(`aten::mm` through MKL) runs on one thread and well below the memory's speed on some processors; oneDNN with weights
packed in its own blocked layout does not. Measured on 2 AMD EPYC cores, all of SmolLM2-135M's matrices but the LM head,
in ms per pass of 1, 8 and 37 rows: plain 35, 40, 74; packed 18, 19, 46. Doubling the row, so that the product is no
longer a vector's (17 ms with the head), helps one row only; `torch.utils.mkldnn` converts every activation there and
back (27 ms).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


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
        return self.in_features * self.out_features * (4 if self.packed is not None else self.weight.element_size())

    def forward(self, rows: Tensor) -> Tensor:
        if self.packed is None:
            return F.linear(rows, self.weight, self.bias)
        return times_packed(rows, self.packed, self.bias)


def times_packed(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    """`F.linear` with a weight in oneDNN's layout."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    return product


def can_pack(device: str) -> bool:
    """Whether weights on `device` can be packed: a CPU for which torch has oneDNN."""
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return device == "cpu" and available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def pack_all(transformer: nn.Module) -> None:
    """Pack every `Linear` of `transformer`."""
    for module in transformer.modules():
        if isinstance(module, Linear):
            module.pack()
