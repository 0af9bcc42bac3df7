"""A region of the pool without paging: each sequence has one unbroken stretch of blocks, reserved before it is written.

Serving systems before PagedAttention stored K and V this way: each request in one stretch, long enough for its longest
possible answer (arXiv:2309.06180, section 3.1). Reserved positions that are never written are internal fragmentation.
Free blocks in holes that are too short for a request are external fragmentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvscope.model.kv_cache import KVCache, Sequence


class Region:
    """A region of `cache`: its `blocks` must be set apart and in no sequence."""

    def __init__(self, cache: KVCache, blocks: range):
        self._cache, self.blocks = cache, blocks

    @property
    def free(self) -> int:
        """Number of blocks in no stretch."""
        return sum(map(len, self._holes()))

    @property
    def longest(self) -> int:
        """Number of blocks in the longest hole."""
        return max(map(len, self._holes()), default=0)

    def take(self, count: int) -> Sequence | None:
        """Reserves `count` blocks in the first hole that is long enough; None if there is no such hole."""
        hole = next((hole for hole in self._holes() if len(hole) >= count), None)
        return None if hole is None else self._cache.reserve(hole[:count])

    def close(self) -> None:
        """Gives the blocks back to the pool. All stretches must have been released."""
        self._cache.put_back(self.blocks)

    def _holes(self) -> Iterator[range]:
        """Yields each range of free blocks between two stretches, lowest first."""
        first = None
        for block in self.blocks:
            if not self._cache.refcounts[block]:
                first = block if first is None else first
            elif first is not None:
                yield range(first, block)
                first = None
        if first is not None:
            yield range(first, self.blocks.stop)
