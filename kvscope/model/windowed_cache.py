"""The KV cache of a model in which some layers have a sliding window. Those layers keep only the newest rows.

A sequence has one block table for all layers. The rows of layers without a window are in one pool. The rows of layers
with a window are in a second pool, where a block has a place only while some sequence may still read it there. Before
the rows from position p on are written, a sequence drops the blocks that the query at p no longer reads: the rest
begins at position 16·⌊max(0, p + 1 − window) ÷ 16⌋. So a step can be undone or computed again.

The second pool has a place for each block of the first, so it is never full before the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Blocks

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence, picked

NOWHERE = 0
"""The index in the second pool for blocks without a place there: its rows are zeros, and masked in every product."""


class WindowedCache(KVCache):
    """`pool`: rows of layers without a window; `near`: of layers with one. Both have the axes of `KVCache.pool`."""

    def __init__(self, config: ModelConfig, blocks: int, device: str = "cpu", dtype: torch.dtype = torch.float32):
        assert config.window is not None
        super().__init__(config, blocks, device, dtype)
        self.window = config.window
        self._with_window = [layer for layer in range(config.layers) if config.has_window(layer)]
        self._without = [layer for layer in range(config.layers) if not config.has_window(layer)]
        shape = (config.kv_heads, (blocks + 1) * BLOCK_SIZE, config.head_dim)
        self.near = torch.empty((len(self._with_window), 2, *shape), device=device, dtype=dtype)
        self.near[:, :, :, :BLOCK_SIZE] = 0
        far, near = iter(self.pool), iter(self.near)
        self.by_layer = [next(near if config.has_window(layer) else far) for layer in range(config.layers)]
        self._offsets_there = torch.arange(BLOCK_SIZE, device=device)
        self._places = self._offsets_there.repeat(blocks, 1)
        """[blocks, 16] index in `near` of each slot, on the device."""
        self._place_of = [NOWHERE] * blocks
        """The place of each block in `near`, on the host."""
        self.near_refcounts = [0] * blocks
        """For each block, how many sequences need it in layers with a window."""
        self._free_places = list(range(blocks, NOWHERE, -1))

    @staticmethod
    def stored_layers(config: ModelConfig) -> int:
        return sum(not config.has_window(layer) for layer in range(config.layers))

    @property
    def position_bytes(self) -> int:
        """Bytes of one position in all layers, while all of them have its rows."""
        return sum(stored[:, :, :, 0].nbytes for stored in self._stored)

    def windowed(self, sequence: Sequence) -> tuple[int, int]:
        positions = max(0, sequence.length - sequence.near_from * self.block_size)
        return positions, len(sequence.table) - sequence.near_from

    def bytes_used(self, sequence: Sequence) -> int:
        far, near = (stored[:, :, :, 0].nbytes for stored in self._stored)
        return sequence.length * far + self.windowed(sequence)[0] * near

    def bytes_reserved(self, sequence: Sequence) -> int:
        far, near = (stored[:, :, :, : self.block_size].nbytes for stored in self._stored)
        return len(sequence.table) * far + self.windowed(sequence)[1] * near

    def bytes_filled(self, filled: Mapping[int, int]) -> int:
        far, near = (stored[:, :, :, 0].nbytes for stored in self._stored)
        near_rows = sum(rows for block, rows in filled.items() if self.near_refcounts[block])
        return sum(filled.values()) * far + near_rows * near

    def places(self, layer: int, slots: Tensor) -> Tensor:
        there = super().places(layer, slots)
        return there if layer in self._without else self._places.view(-1)[there]

    def can_fork(self, sequence: Sequence, length: int) -> bool:
        return length >= sequence.selected and self._first_seen(length) >= sequence.near_from

    def extend(self, sequence: Sequence, count: int) -> Tensor:
        first = sequence.length
        slots = super().extend(sequence, count)
        if sequence.keeps_window:
            return slots
        self._drop_before(sequence, first)
        return slots

    def fork(self, sequence: Sequence, length: int) -> Sequence:
        """As `KVCache.fork`. Also raises ValueError if layers with a window no longer have the rows before `length`."""
        if not self.can_fork(sequence, length):
            raise ValueError(f"layers with a window no longer hold what position {length} reads")
        child = super().fork(sequence, length)
        child.near_from, child.selected = min(sequence.near_from, len(child.table)), sequence.selected
        for block in child.table[child.near_from :]:
            self.near_refcounts[block] += 1
        return child

    def truncate(self, sequence: Sequence, length: int) -> None:
        """As `KVCache.truncate`. Also raises ValueError if layers with a window no longer have the rows that stay."""
        if 0 < length <= sequence.length and not self.can_fork(sequence, length):
            raise ValueError(f"layers with a window no longer hold what position {length} reads")
        keep = -(-length // self.block_size)
        if not sequence.reserved and 0 <= length <= sequence.length:
            for block in sequence.table[max(keep, sequence.near_from) :]:
                self._let_go(block)
            sequence.near_from = min(sequence.near_from, keep)
        if length == 0:
            sequence.selected = 0
        super().truncate(sequence, length)

    def select(self, sequence: Sequence, rows: Tensor) -> None:
        """As `KVCache.select`. In layers with a window, rows that the last one did not read become zeros, even if other
        sequences still have them.
        """
        self._drop_before(sequence, sequence.length - 1)
        dropped, lacks = sequence.near_from * self.block_size, sequence.near_from + sequence.selected > 0
        super().select(sequence, rows)
        sequence.selected = sequence.length if lacks else 0
        if dropped:
            places = self.places(self._with_window[0], self.slots(sequence))
            stays = (rows >= dropped).expand(len(self.by_layer), self.near.shape[2], -1)[self._with_window]
            stays = stays[:, None, :, :, None].to(self.near.device)  # layers 1 Hkv n 1
            self.near[:, :, :, places] = torch.where(stays, self.near[:, :, :, places], 0.0)

    def reserve(self, blocks: Blocks[int], length: int = 0) -> Sequence:
        sequence = super().reserve(blocks, length)
        for block in blocks:
            self._give_place(block)
            self.near_refcounts[block] = 1
        return sequence

    def move(self, block: int) -> int:
        new = super().move(block)
        self._let_go(new, self.near_refcounts[new])
        self._put_at(new, self._place_of[block])
        self._put_at(block, NOWHERE)
        self.near_refcounts[new], self.near_refcounts[block] = self.near_refcounts[block], 0
        return new

    def read_all(self, slots: Tensor) -> Tensor:
        both = [stored.index_select(2, self.places(layer, slots)) for layer, stored in enumerate(self.by_layer)]
        return torch.stack(both)

    @property
    def _stored(self) -> list[Tensor]:
        return [self.pool, self.near]

    def _pick(self, slots: Tensor) -> list[Tensor]:
        apart = slots.ndim > 1
        parts = ((self.pool, self._without), (self.near, self._with_window))
        return [
            picked(pool, self.places(layers[0], slots[layers] if apart else slots)) if layers else pool[:, :, :, :0]
            for pool, layers in parts
        ]

    def _put(self, slots: Tensor, values: list[Tensor]) -> None:
        parts = ((self.pool, self._without), (self.near, self._with_window))
        for (pool, layers), each in zip(parts, values, strict=True):
            if layers:
                pool.index_copy_(3, self.places(layers[0], slots), each)

    def _place_all(self, sequence: Sequence) -> None:
        """Gives a place to the blocks that layers with a window have dropped. Their rows there become zeros."""
        for block in sequence.table[: sequence.near_from]:
            if not self.near_refcounts[block]:
                self._give_place(block)
                place = self._place_of[block] * self.block_size
                self.near[:, :, :, place : place + self.block_size] = 0
            self.near_refcounts[block] += 1
        sequence.near_from = sequence.selected = 0

    def _take(self) -> int:
        block = super()._take()
        self._give_place(block)
        self.near_refcounts[block] = 1
        return block

    def _unshare(self, sequence: Sequence, index: int) -> None:
        old = sequence.table[index]
        super()._unshare(sequence, index)
        self._let_go(old)

    def _copy(self, old: int, new: int) -> None:
        for stored, (source, target) in zip(
            self._stored, ((old, new), (self._place_of[old], self._place_of[new])), strict=True
        ):
            self.copy_block(stored, source, target)

    def _drop_before(self, sequence: Sequence, position: int) -> None:
        """Drops the blocks that the query at that position no longer reads, in layers with a window."""
        first = self._first_seen(position)
        for block in sequence.table[sequence.near_from : first]:
            self._let_go(block)
        sequence.near_from = max(sequence.near_from, first)

    def _first_seen(self, position: int) -> int:
        """Returns the first block that the query at that position reads in layers with a window."""
        return max(0, position + 1 - self.window) // self.block_size

    def _give_place(self, block: int) -> None:
        self._put_at(block, self._free_places.pop())

    def _let_go(self, block: int, count: int = 1) -> None:
        """Records that `count` sequences no longer need the block in windowed layers; frees its place if none does."""
        self.near_refcounts[block] -= count
        if self.near_refcounts[block] == 0:
            self._free_places.append(self._place_of[block])
            self._put_at(block, NOWHERE)

    def _put_at(self, block: int, place: int) -> None:
        self._place_of[block] = place
        self._places[block] = self._offsets_there + place * self.block_size
