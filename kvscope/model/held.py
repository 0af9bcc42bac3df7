"""Decide in which form the weights of a model are held in memory, and compute how many bytes they take.

Loading follows these rules, and `stored` estimates with them. Nothing here imports torch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from kvscope.model.api import WeightDtype
from kvscope.model.compiler import c_compiler
from kvscope.model.prebuilt import prebuilt_library

LANES = 16
"""Output rows of a panel. Weights in groups are held in whole panels."""
BYTES: dict[WeightDtype, int] = {"float32": 4, "bfloat16": 2}
"""Bytes of a number in a matrix that is not in groups. A tensor that is not a matrix is always float32."""


class Grouped(NamedTuple):
    """A format of weights in groups: `bits` per weight; `size` weights per group, which share a scale and,
    if `minimum`, a minimum.
    """

    bits: int
    size: int
    scale_bytes: int
    minimum: bool

    @property
    def bytes_per_weight(self) -> float:
        return self.bits / 8 + self.scale_bytes * (1 + self.minimum) / self.size


GROUPED = {
    "Q4_0": Grouped(4, 32, 2, False),
    "Q4_1": Grouped(4, 32, 2, True),
    "Q5_0": Grouped(8, 32, 2, False),
    "Q5_1": Grouped(8, 32, 2, True),
    "Q8_0": Grouped(8, 32, 2, False),
    "Q4_K": Grouped(4, 32, 4, True),
    "Q5_K": Grouped(8, 32, 4, True),
    "Q6_K": Grouped(8, 16, 4, False),
}
"""GGML's name of a type → the format in memory. Matrices of any other type are dequantized."""


HALVES = {"F16", "BF16"}
"""Types of 16 bits, in which native code reads them."""


def keeps_groups(device: str, dtype: WeightDtype, compiled: bool) -> bool:
    """Returns whether matrices stay in the groups of their file. Only native code on a CPU can multiply by groups.

    `compiled`: whether native code should be used. Raises Unavailable if only the code is missing: the installation
    brings none for this processor, and there is no compiler.
    """
    possible = compiled and device == "cpu" and dtype == "float32"
    return possible and bool(prebuilt_library() or c_compiler())


class Stored(NamedTuple):
    """A tensor of a file.

    `matrix`: the name of the matrix that it is a part of, which tensors that are stacked share; "" if it is not part of
    a matrix. `table`: whether it is the embedding table. `kind`: its GGML type or, in a safetensors file, its dtype.
    """

    shape: tuple[int, ...]
    matrix: str
    table: bool
    kind: str = ""


def bytes_held(tensors: Iterable[Stored], *, grouped: bool, dtype: WeightDtype, tied: bool, packed: bool) -> int:
    """Computes the bytes that these weights take.

    `grouped`: whether matrices are laid out for native code, in the format of their file; `tied`: whether the table is
    also the LM head; `packed`: whether float32 matrices are copied into another layout (`Linear.pack`), so that a tied
    table is held twice.
    """
    total = 0
    matrices = defaultdict[str, list[Stored]](list)
    for tensor in tensors:
        if tensor.matrix:
            matrices[tensor.matrix].append(tensor)
        else:
            total += BYTES["float32"] * prod(tensor.shape)
    for parts in matrices.values():
        if grouped:
            total += _in_panels(parts)
        else:
            copies = 1 + (tied and packed and dtype == "float32" and parts[0].table)
            total += copies * BYTES[dtype] * sum(prod(part.shape) for part in parts)
    return total


def _in_panels(parts: list[Stored]) -> int:
    """Computes the bytes of a matrix for native code. If not all parts are in groups, it has plain numbers."""
    outputs = Counter[str]()
    for part in parts:
        outputs[part.kind] += prod(part.shape[:-1])
    inputs = parts[0].shape[-1]
    if not GROUPED.keys() >= outputs.keys():
        halves = len(outputs) == 1 and outputs.keys() <= HALVES and inputs % 2 == 0
        return -(-outputs.total() // LANES) * LANES * inputs * (2 if halves else 4)
    return sum(
        int(-(-rows // LANES) * LANES * inputs * GROUPED[kind].bytes_per_weight) for kind, rows in outputs.items()
    )
