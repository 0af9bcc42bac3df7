"""A region of the pool without paging: each sequence is one unbroken stretch of blocks, reserved before it is written.

Serving systems before PagedAttention stored K and V so, each request's in one piece for the longest answer it may get
(arXiv:2309.06180, section 3.1). What is reserved and never written is internal fragmentation. Free blocks that no
stretch is long enough for are external fragmentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvscope.model.kv_cache import KVCache, Sequence


class Region:
    """`blocks` of `cache`, which are set apart and which nobody holds."""

    def __init__(self, cache: KVCache, blocks: range):
        self._cache, self.blocks = cache, blocks

    @property
    def free(self) -> int:
        """Blocks that no stretch holds."""
        return sum(map(len, self._holes()))

    @property
    def longest(self) -> int:
        """Blocks of the longest hole."""
        return max(map(len, self._holes()), default=0)

    def take(self, count: int) -> Sequence | None:
        """A stretch of `count` blocks in the first hole that is long enough; None where none is."""
        hole = next((hole for hole in self._holes() if len(hole) >= count), None)
        return None if hole is None else self._cache.reserve(hole[:count])

    def close(self) -> None:
        """Give the blocks back to the pool. Nobody holds a stretch of them."""
        self._cache.put_back(self.blocks)

    def _holes(self) -> Iterator[range]:
        """Each run of free blocks between two stretches, from the lowest."""
        first = None
        for block in self.blocks:
            if not self._cache.refcounts[block]:
                first = block if first is None else first
            elif first is not None:
                yield range(first, block)
                first = None
        if first is not None:
            yield range(first, self.blocks.stop)
