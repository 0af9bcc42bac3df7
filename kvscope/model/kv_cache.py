"""The paged KV cache (PagedAttention, arXiv:2309.06180).

One preallocated pool of blocks of 16 positions serves every sequence and layer. A sequence owns a block table: block i
of the table contains positions 16·i … 16·i + 15. Blocks are reference-counted, so a fork shares its parent's memory; a
write to a shared block copies it first (copy-on-write). A position's index in the pool, `block·16 + offset`, is its
slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Blocks
from dataclasses import dataclass, field

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig

BLOCK_SIZE = 16


class CacheFull(RuntimeError):
    """The pool has no free block."""


@dataclass(slots=True, eq=False)
class Sequence:
    """One sequence's view of the pool. Only `length` stores its position."""

    table: list[int] = field(default_factory=list)
    length: int = 0
    reserved: bool = False
    """Whether it keeps its blocks until it is released, written or not, and never gets others."""
    keeps_window: bool = False
    """Whether layers with a window keep all its blocks for now, because it will be truncated."""
    near_from: int = 0
    """Index of its first block that layers with a window still have; see kvscope.model.windowed_cache."""
    selected: int = 0
    """Its length after `select`, if that dropped rows of layers with a window: it cannot go back before that."""


class KVCache:
    """`pool` is [layers, 2, Hkv, blocks·16, Dh]: K at index 0 of the second axis, V at index 1."""

    def __init__(self, config: ModelConfig, blocks: int, device: str = "cpu", dtype: torch.dtype = torch.float32):
        self.block_size = BLOCK_SIZE
        self.blocks = blocks
        shape = (config.kv_heads, blocks * BLOCK_SIZE, config.head_dim)
        self.pool = torch.empty((self.stored_layers(config), 2, *shape), device=device, dtype=dtype)
        self.by_layer = list(self.pool)
        """K and V of each layer, [2, Hkv, slots, Dh]."""
        self.refcounts = [0] * blocks
        self.apart: set[int] = set()
        """Blocks that only `reserve` may allocate."""
        self._free = list(range(blocks - 1, -1, -1))
        self._offsets = torch.arange(BLOCK_SIZE)

    @staticmethod
    def stored_layers(config: ModelConfig) -> int:
        """Returns the number of layers that `pool` has rows for."""
        return config.layers

    @property
    def free_blocks(self) -> int:
        return len(self._free)

    @property
    def position_bytes(self) -> int:
        """Bytes of one position in all layers, read from the pool's tensors."""
        return self.pool[:, :, :, 0].nbytes

    def bytes_used(self, sequence: Sequence) -> int:
        """Returns the bytes of the sequence's written positions."""
        return sequence.length * self.position_bytes

    def bytes_reserved(self, sequence: Sequence) -> int:
        """Returns the bytes of the sequence's blocks, written or not."""
        return len(sequence.table) * self.block_size * self.position_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of all preallocated memory."""
        return sum(stored.nbytes for stored in self._stored)

    def windowed(self, sequence: Sequence) -> tuple[int, int] | None:
        """Returns how many positions and blocks layers with a window have; None if as many as other layers."""
        return None

    def bytes_filled(self, filled: Mapping[int, int]) -> int:
        """Returns the bytes of written positions. `filled`: block → number of positions written in it."""
        return sum(filled.values()) * self.position_bytes

    def places(self, layer: int, slots: Tensor) -> Tensor:
        """Returns the indices of the rows of `slots` in the layer's tensor, `by_layer[layer]`, on its device."""
        return slots.to(self.pool.device)

    def can_fork(self, sequence: Sequence, length: int) -> bool:
        """Returns whether all layers still have the rows that the query at position `length` reads."""
        return True

    def extend(self, sequence: Sequence, count: int) -> Tensor:
        """Allocates `count` more positions and returns their slots, [count]. Raises CacheFull, changing nothing."""
        first, last = sequence.length, sequence.length + count
        shared = len(sequence.table) > first // self.block_size and (
            self.refcounts[sequence.table[first // self.block_size]] > 1
        )
        missing = max(0, -(-last // self.block_size) - len(sequence.table))
        if missing and sequence.reserved:
            raise CacheFull(f"{missing} blocks more are needed than were reserved")
        if missing + shared > len(self._free):
            raise CacheFull(f"{missing + shared} blocks are needed and {len(self._free)} are free")
        if shared:
            self._unshare(sequence, first // self.block_size)
        sequence.table += [self._take() for _ in range(missing)]
        sequence.length = last
        return self.slots(sequence)[first:]

    def hold(self, sequence: Sequence, positions: int) -> None:
        """Allocates the blocks of that many positions before they are written. Raises CacheFull, changing nothing."""
        written = sequence.length
        self.extend(sequence, positions - written)
        sequence.length = written

    def slots(self, sequence: Sequence) -> Tensor:
        """Returns the slots of all positions, [length], in order, on the host."""
        return self.slots_of(sequence.table)[: sequence.length]

    def fork(self, sequence: Sequence, length: int) -> Sequence:
        """Returns a new sequence with the first `length` positions' blocks. Raises ValueError if fewer are written."""
        if not 0 <= length <= sequence.length:
            raise ValueError(f"cannot share {length} of {sequence.length} positions")
        table = sequence.table[: -(-length // self.block_size)]
        for block in table:
            self.refcounts[block] += 1
        return Sequence(table, length)

    def truncate(self, sequence: Sequence, length: int) -> None:
        """Drops the positions from `length` on, and frees their whole blocks. Raises ValueError if fewer exist."""
        if not 0 <= length <= sequence.length:
            raise ValueError(f"cannot keep {length} of {sequence.length} positions")
        sequence.length = length
        if sequence.reserved:
            return
        keep = -(-length // self.block_size)
        for block in sequence.table[keep:]:
            self._give(block)
        del sequence.table[keep:]

    def select(self, sequence: Sequence, rows: Tensor) -> None:
        """Keeps only these rows and moves them together, in order. `rows`: [n], or [layers, Hkv, n] if each layer and
        head keeps other rows. Raises CacheFull, changing nothing.
        """
        count = rows.shape[-1]
        blocks = -(-count // self.block_size)
        shared = [index for index in range(blocks) if self.refcounts[sequence.table[index]] > 1]
        if len(shared) > len(self._free):
            raise CacheFull(f"{len(shared)} blocks are needed and {len(self._free)} are free")
        self._place_all(sequence)
        old = self.slots(sequence)[rows]
        values = self._pick(old)
        for index in shared:
            self._unshare(sequence, index)
        self.truncate(sequence, count)
        self._put(self.slots(sequence), values)

    def release(self, sequence: Sequence) -> None:
        """Frees all blocks of the sequence."""
        sequence.reserved = False
        self.truncate(sequence, 0)

    def set_apart(self, blocks: Blocks[int]) -> None:
        """Allocates these blocks only by `reserve`, until `put_back`. The caller must `move` the blocks in use."""
        self.apart.update(blocks)
        self._free = [block for block in self._free if block not in self.apart]

    def set_free_apart(self, count: int) -> list[int]:
        """Sets `count` free blocks apart and returns them. Raises CacheFull, changing nothing."""
        if count > len(self._free):
            raise CacheFull(f"{count} blocks are needed and {len(self._free)} are free")
        blocks = [self._free.pop() for _ in range(count)]
        self.apart.update(blocks)
        return blocks

    def put_back(self, blocks: Blocks[int]) -> None:
        """Allocates these blocks again like all others. They must be set apart and in no sequence."""
        self.apart.difference_update(blocks)
        self._free += reversed(blocks)

    def reserve(self, blocks: Blocks[int], length: int = 0) -> Sequence:
        """Returns a sequence with these blocks, which must be set apart. Its first `length` positions are written."""
        sequence = Sequence(length=length, reserved=True)
        self.grow(sequence, blocks)
        return sequence

    def grow(self, sequence: Sequence, blocks: Blocks[int]) -> None:
        """Adds blocks that are set apart to a sequence with reserved blocks."""
        for block in blocks:
            self.refcounts[block] += 1
        sequence.table += blocks

    def move(self, block: int) -> int:
        """Copies a block that is set apart to a free block and returns that. The caller must replace it in all tables.

        Raises CacheFull.
        """
        if not self._free:
            raise CacheFull("no block is free")
        new = self._take()
        self._copy(block, new)
        self.refcounts[new], self.refcounts[block] = self.refcounts[block], 0
        return new

    def write(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Stores K and V rows, each [T, Hkv, Dh], at `slots` [T]."""
        keys, values = self.by_layer[layer]
        places = self.places(layer, slots)
        keys.index_copy_(1, places, k.transpose(0, 1))
        values.index_copy_(1, places, v.transpose(0, 1))

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Returns K and V at `slots` [n], each [Hkv, n, Dh]."""
        both = self.by_layer[layer].flatten(0, 1)  # 2·Hkv slots Dh: torch copies rows of three axes faster than of four
        keys, values = both.index_select(1, self.places(layer, slots)).chunk(2)
        return keys, values

    def read_all(self, slots: Tensor) -> Tensor:
        """Returns K and V of every layer at `slots` [n], [layers, 2, Hkv, n, Dh]."""
        return self.pool.index_select(3, self.places(0, slots))

    def write_all(self, slots: Tensor, rows: Tensor) -> None:
        """Stores K and V of every layer at `slots` [n]. `rows`: [layers, 2, Hkv, n, Dh]."""
        self.pool.index_copy_(3, self.places(0, slots), rows.to(self.pool.device))

    def slots_of(self, blocks: Blocks[int]) -> Tensor:
        """Returns the slots of whole blocks, [16·blocks], in order, on the host."""
        return (torch.tensor(blocks, dtype=torch.long)[:, None] * self.block_size + self._offsets).flatten()

    @property
    def _stored(self) -> list[Tensor]:
        return [self.pool]

    def _pick(self, slots: Tensor) -> list[Tensor]:
        """Returns the values at `slots`, [n] or [layers, Hkv, n], of each tensor in `_stored`."""
        places = self.places(0, slots)
        return [picked(stored, places) for stored in self._stored]

    def _put(self, slots: Tensor, values: list[Tensor]) -> None:
        """Stores `values`, as `_pick` returns them, at `slots` [n]."""
        for stored, each in zip(self._stored, values, strict=True):
            stored.index_copy_(3, self.places(0, slots), each)

    def _place_all(self, sequence: Sequence) -> None:
        """Gives all blocks of the sequence a place in layers with a window."""

    def _take(self) -> int:
        block = self._free.pop()
        self.refcounts[block] = 1
        return block

    def _give(self, block: int) -> None:
        self.refcounts[block] -= 1
        if self.refcounts[block] == 0 and block not in self.apart:
            self._free.append(block)

    def _unshare(self, sequence: Sequence, index: int) -> None:
        old, new = sequence.table[index], self._take()
        self._copy(old, new)
        self._give(old)
        sequence.table[index] = new

    def _copy(self, old: int, new: int) -> None:
        for stored in self._stored:
            self.copy_block(stored, old, new)

    def copy_block(self, stored: Tensor, old: int, new: int) -> None:
        """Copies a block of `stored`, one of the tensors in `_stored`."""
        size = self.block_size
        stored[:, :, :, new * size : (new + 1) * size] = stored[:, :, :, old * size : (old + 1) * size]


def picked(stored: Tensor, slots: Tensor) -> Tensor:
    """Returns the values at `slots`, [n] or [layers, Hkv, n], as [layers, 2, Hkv, n, …]."""
    if slots.ndim == 1:
        return stored.index_select(3, slots)
    return stored.take_along_dim(slots[:, None, :, :, None], dim=3)
