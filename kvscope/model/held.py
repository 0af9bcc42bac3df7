"""How the weights of a model are held in memory, and how many bytes that takes: for loading, which goes by it, and for
whoever wants to know before. Nothing here imports torch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from kvscope.model.api import WeightDtype
from kvscope.model.compiler import c_compiler

LANES = 16
"""Outputs of a panel: weights in groups are held in whole ones."""
BYTES: dict[WeightDtype, int] = {"float32": 4, "bfloat16": 2}
"""Of a number of a matrix that is not in groups. Everything that is no matrix is float32."""


class Grouped(NamedTuple):
    """How weights are held in groups: `bits` of each, `size` to a group, which has a scale and maybe a minimum."""

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
"""By GGML's name of the type that a file has them in; matrices of any other type are dequantized."""


def keeps_groups(device: str, dtype: WeightDtype, compiled: bool) -> bool:
    """Whether matrices stay in the groups that a file has them in: native code multiplies by those, on a CPU alone.

    `compiled`: whether such code is wanted. Raises Unavailable if only a compiler is missing.
    """
    wanted = compiled and device == "cpu" and dtype == "float32"
    return wanted and bool(c_compiler())


class Stored(NamedTuple):
    """A tensor of a file. `matrix`: by its name, as tensors that are put together to one matrix have it in common, or
    "" for what is none; `table`: of the embedding; `kind`: GGML's type of a GGUF file's, or "".
    """

    shape: tuple[int, ...]
    matrix: str
    table: bool
    kind: str = ""


def bytes_held(tensors: Iterable[Stored], *, grouped: bool, dtype: WeightDtype, tied: bool, packed: bool) -> int:
    """Bytes that these weights take. `grouped`: what can stay in groups does; `tied`: the table is the LM head too.

    `packed`: float32 matrices are laid out anew (`Linear.pack`), so that a tied table is held twice.
    """
    total = 0
    matrices = defaultdict[str, list[Stored]](list)
    for tensor in tensors:
        if tensor.matrix:
            matrices[tensor.matrix].append(tensor)
        else:
            total += BYTES["float32"] * prod(tensor.shape)
    for parts in matrices.values():
        if grouped and all(part.kind in GROUPED for part in parts):
            total += _in_groups(parts)
        else:
            copies = 1 + (tied and packed and dtype == "float32" and parts[0].table)
            total += copies * BYTES[dtype] * sum(prod(part.shape) for part in parts)
    return total


def _in_groups(parts: list[Stored]) -> int:
    outputs = Counter[str]()
    for part in parts:
        outputs[part.kind] += prod(part.shape[:-1])
    inputs = parts[0].shape[-1]
    return sum(
        int(-(-rows // LANES) * LANES * inputs * GROUPED[kind].bytes_per_weight) for kind, rows in outputs.items()
    )
