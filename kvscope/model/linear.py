"""Linear layers whose weights are laid out for the processor.

A decode step multiplies one row by every weight matrix. For that shape torch's default float32 product on the CPU
(`aten::mm` through MKL) runs on one thread and well below the memory's speed on some processors; oneDNN with weights
packed in its blocked layout does not. Measured on 2 AMD EPYC cores, all of SmolLM2-135M's matrices except the LM head,
in ms per pass of 1, 8 and 37 rows: plain 35, 40, 74; packed 18, 19, 46. Doubling the row, so that torch multiplies two
matrices (17 ms with the head), helps one row only; `torch.utils.mkldnn` converts every activation to its layout and
back (27 ms).

A weight may be stored in bfloat16, with half the bytes to store and read. Then its input rows are rounded to bfloat16
too, because processors multiply two factors of that type. The product and all other values stay float32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kvscope.model.grouped import Groups

GroupedWeight = tuple[Groups, ...]
"""A weight [out, in]: consecutive ranges of its outputs, each with its own format."""
Product = Callable[[Tensor], Tensor]
"""Maps rows [T, in] to [T, out]."""
Products = Callable[[GroupedWeight, Tensor | None], Product]
"""Creates the product with a weight and a bias [out], or None."""

COMPUTED = torch.float32
"""The dtype of rows, K and V, biases, norms and logits. Only matrices and the embedding may have another."""


def name_of(dtype: torch.dtype) -> str:
    """Returns the dtype's name in logs and on the command line, such as float32."""
    return str(dtype).removeprefix("torch.")


class Linear(nn.Linear):
    """`nn.Linear`, whose weight is dense, in groups after `hold`, or in oneDNN's layout after `pack`."""

    packed: Tensor | None = None
    groups: GroupedWeight = ()
    _product: Product | None = None

    def hold(self, groups: GroupedWeight) -> None:
        """Replaces the dense weight by groups. `use` must be called before `forward`."""
        self.groups = groups
        del self.weight

    def use(self, products: Products) -> None:
        """Uses the product that `products` creates from the groups."""
        self._product = products(self.groups, self.bias)

    def pack(self) -> None:
        """Replaces the dense weight by oneDNN's layout for the CPU. An embedding that shares the weight keeps it."""
        self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), None)
        del self.weight

    def dense(self) -> Tensor:
        """Returns the weight [out, in] as a plain tensor; a copy, unless it is dense."""
        if self.groups:
            return dense(self.groups)
        if self.packed is None:
            return self.weight
        plain: Tensor = self.packed.to_dense()
        return plain

    def rows(self, outputs: Tensor) -> Tensor:
        """Returns the weights of some outputs [n] as a plain tensor [n, in]; of groups, only these are dequantized."""
        if not self.groups:
            return self.dense()[outputs]
        rows = torch.empty(len(outputs), self.in_features, device=outputs.device)
        start = 0
        for part in self.groups:
            inside = (outputs >= start) & (outputs < start + part.outputs)
            rows[inside] = part.rows(outputs[inside] - start)
            start += part.outputs
        return rows

    @property
    def bytes_by_format(self) -> dict[str, int]:
        """Bytes of the weight as `forward` reads it, such as {"4-bit groups": 331776}."""
        if self.groups:
            read: Counter[str] = Counter()
            for part in self.groups:
                read[part.format] += part.nbytes
            return dict(read)
        dtype = COMPUTED if self.packed is not None else self.weight.dtype
        return {name_of(dtype): self.in_features * self.out_features * dtype.itemsize}

    def forward(self, rows: Tensor) -> Tensor:
        if self._product is not None:
            return self._product(rows)
        if self.packed is not None:
            return times_packed(rows, self.packed, self.bias)
        if self.weight.dtype == rows.dtype:
            return F.linear(rows, self.weight, self.bias)
        product = times_rounded(rows, self.weight)
        return product if self.bias is None else product + self.bias


def dense(weight: GroupedWeight) -> Tensor:
    """Returns the dequantized weight, float32 [out, in]."""
    return torch.cat([part.dense() for part in weight])


def plain_product(weight: GroupedWeight, bias: Tensor | None) -> Product:
    """Returns the product in torch. It dequantizes the weight each time, so it is slow."""
    return lambda rows: F.linear(rows, dense(weight), bias)


def linears(module: nn.Module) -> list[Linear]:
    """Returns the linear layers in `module`; of a transformer, all matrices that a pass multiplies by."""
    return [each for each in module.modules() if isinstance(each, Linear)]


def times_packed(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    """Computes `F.linear` with a weight in oneDNN's layout."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    return product


def times_rounded(rows: Tensor, weight: Tensor) -> Tensor:
    """Computes the float32 product of a weight [out, in] and rows [T, in], which are rounded to the weight's dtype.

    On a CPU torch rounds the product to that dtype, which is too coarse for logits: steps of 0.125 at 20. So there the
    rounding error is computed too, as the product minus the rounded product; the sum of both has 17 bits.
    """
    rows = rows.to(weight.dtype)
    if rows.is_cuda:
        return torch.mm(rows, weight.t(), out_dtype=COMPUTED)
    rounded = F.linear(rows, weight)
    return rounded.to(COMPUTED) + torch.addmm(-rounded, rows, weight.t()).to(COMPUTED)


def can_pack(device: str) -> bool:
    """Returns whether float32 weights on `device` can be packed: a CPU for which torch has oneDNN."""
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return device == "cpu" and available and hasattr(torch.ops.mkldnn, "_linear_pointwise")
