"""Read the weights of a GGUF file in its groups (model/grouped.py), to multiply by them without dequantizing.

GGML's types (ggml-common.h, `block_q4_0` to `block_q6_K`; ggml-quants.c, `get_scale_min_k4`). Types of 5 and 6 bits are
stored in 8 bits. Scales that a file stores as products of two numbers are multiplied. Both are exact in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Kind

from kvscope.model.checkpoint.layout import Slot
from kvscope.model.gguf_header import TensorInfo
from kvscope.model.grouped import Bits, Groups
from kvscope.model.held import GROUPED
from kvscope.model.linear import GroupedWeight

Raw = Callable[[str], tuple[TensorInfo, np.ndarray]]
"""A part's tensor and its bytes [rows, bytes of a row], rows in the model's order."""


class Unpacked(NamedTuple):
    """The groups of a file's blocks: `q` [rows, groups, bytes of a group], `d` and `m` [rows, groups]."""

    q: np.ndarray
    d: np.ndarray
    m: np.ndarray | None
    bits: Bits


def groups_of(slot: Slot, raw: Raw) -> GroupedWeight | None:
    """Returns a matrix in groups; None if the file stores any part of it in a type that is not in `GROUPED`."""
    parts = [raw(part) for part, _ in slot.parts]
    if any(info.kind.name not in GROUPED for info, _ in parts):
        return None
    alike = groupby(parts, key=lambda part: part[0].kind)
    return tuple(_groups(kind, np.concatenate([rows for _, rows in some])) for kind, some in alike)


def _groups(kind: Kind, rows: np.ndarray) -> Groups:
    """Builds groups from a file's rows, bytes [N, bytes of a row]."""
    blocks = rows.reshape(len(rows), -1, GGML_QUANT_SIZES[kind][1])
    q, d, m, bits = KINDS[kind](blocks)
    minimum = None if m is None else torch.from_numpy(np.ascontiguousarray(m))
    return Groups.of(
        torch.from_numpy(np.ascontiguousarray(q)), torch.from_numpy(np.ascontiguousarray(d)), minimum, bits
    )


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """Returns the float16 at byte `at` of each block."""
    return np.ascontiguousarray(blocks[..., at : at + 2]).view(np.float16)[..., 0]


def _q4_0(blocks: np.ndarray) -> Unpacked:
    return Unpacked(blocks[..., 2:], _half(blocks, 0), None, 4)


def _q4_1(blocks: np.ndarray) -> Unpacked:
    return Unpacked(blocks[..., 4:], _half(blocks, 0), _half(blocks, 2), 4)


def _q8_0(blocks: np.ndarray) -> Unpacked:
    return Unpacked(blocks[..., 2:].view(np.int8), _half(blocks, 0), None, 8)


def _q5_0(blocks: np.ndarray) -> Unpacked:
    return Unpacked(_five_bits(blocks[..., 2:]) - 16, _half(blocks, 0), None, 8)


def _q5_1(blocks: np.ndarray) -> Unpacked:
    return Unpacked(_five_bits(blocks[..., 4:]), _half(blocks, 0), _half(blocks, 2), 8)


def _five_bits(blocks: np.ndarray) -> np.ndarray:
    """Decodes 5-bit numbers: 4 bytes contain their highest bits, then 16 bytes the other four bits, low half first."""
    high = np.unpackbits(blocks[..., :4], axis=-1, bitorder="little")
    low = np.concatenate((blocks[..., 4:] & 15, blocks[..., 4:] >> 4), axis=-1)
    return (low | high << 4).view(np.int8)


def _q4_k(blocks: np.ndarray) -> Unpacked:
    d, m = _scales_k(blocks)
    q = _nibbles_k(blocks[..., 16:])  # … 8 32
    return Unpacked(_by_group(q[..., :16] | q[..., 16:] << 4), d, m, 4)


def _q5_k(blocks: np.ndarray) -> Unpacked:
    d, m = _scales_k(blocks)
    high = blocks[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1  # … 8 32
    return Unpacked(_by_group(_nibbles_k(blocks[..., 48:]) | high << 4).view(np.int8), d, m, 8)


def _q6_k(blocks: np.ndarray) -> Unpacked:
    """Decodes Q6_K blocks into groups of 16."""
    shifts = np.array([0, 4], dtype=np.uint8)[:, None]
    low = blocks[..., :128].reshape(*blocks.shape[:2], 2, 1, 64) >> shifts & 15  # … 2 2 64
    high = blocks[..., 128:192].reshape(*blocks.shape[:2], 2, 1, 32)
    high = high >> np.array([0, 2, 4, 6], dtype=np.uint8)[:, None] & 3  # … 2 4 32
    q = (low.reshape(high.shape) | high << 4).view(np.int8) - 32
    scales = _half(blocks, 208).astype(np.float32)[..., None] * blocks[..., 192:208].view(np.int8)
    return Unpacked(_by_group(q.reshape(*blocks.shape[:2], 16, 16)), _by_group(scales), None, 8)


def _scales_k(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the scale and minimum of each of a block's eight groups: two float16 times 6-bit numbers."""
    packed = blocks[..., 4:16]
    first, second, rest = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    scale = np.concatenate((first & 63, rest & 15 | first >> 2 & 48), axis=-1)
    minimum = np.concatenate((second & 63, rest >> 4 | second >> 2 & 48), axis=-1)
    d, m = (_half(blocks, at).astype(np.float32)[..., None] for at in (0, 2))
    return _by_group(d * scale), _by_group(-m * minimum)


def _nibbles_k(packed: np.ndarray) -> np.ndarray:
    """Returns the lower four bits of a block's eight groups, [rows, blocks, 8, 32]: two groups share 32 bytes."""
    halves = packed.reshape(*packed.shape[:2], 4, 1, 32) >> np.array([0, 4], dtype=np.uint8)[:, None] & 15
    return halves.reshape(*packed.shape[:2], 8, 32)


def _by_group(values: np.ndarray) -> np.ndarray:
    """Reshapes [rows, blocks, groups of a block, …] to [rows, groups, …]."""
    return values.reshape(len(values), -1, *values.shape[3:])


KINDS: dict[Kind, Callable[[np.ndarray], Unpacked]] = {
    Kind.Q4_0: _q4_0,
    Kind.Q4_1: _q4_1,
    Kind.Q5_0: _q5_0,
    Kind.Q5_1: _q5_1,
    Kind.Q8_0: _q8_0,
    Kind.Q4_K: _q4_k,
    Kind.Q5_K: _q5_k,
    Kind.Q6_K: _q6_k,
}
"""The function that decodes blocks, uint8 [rows, blocks of a row, bytes], of each type in `GROUPED`."""
