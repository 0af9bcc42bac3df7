"""Blocks that sequences share if they are full and have the same content, as in the prefix caching of vLLM V1.

A full block is named by a hash of its tokens and of the name of the block before it, so two equal names mean equal
prefixes. A block that no sequence holds keeps its name and can be found until its memory is needed: blocks without a
name are taken first, then the named ones that were given back first. A sequence gives its last block back first, so the
beginning of a prompt, which others may share, stays longest (docs.vllm.ai, Automatic Prefix Caching; the order of
blocks without a name is that of vLLM since 0.24).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence

from kvscope.model.kv_cache import CacheFull, KVCache
from kvscope.model.kv_cache import Sequence as CacheSequence


def names_of(ids: Sequence[int], size: int, known: Sequence[bytes] = ()) -> list[bytes]:
    """Returns the name of each full block of `size` tokens of `ids`. `known`: the names of the first ones."""
    names = list(known)
    for first in range(len(names) * size, len(ids) - size + 1, size):
        parent = names[-1] if names else b""
        names.append(hashlib.sha256(parent + array("q", ids[first : first + size]).tobytes()).digest())
    return names


class BlockPool:
    """`blocks` of `cache`, which must be set apart and in no sequence. The first of them are taken first."""

    def __init__(self, cache: KVCache, blocks: Sequence[int]):
        self._cache, self._blocks = cache, blocks
        self._unnamed = list(reversed(blocks))
        """Blocks without a name that no sequence holds; the last is taken first."""
        self._unused: dict[int, None] = {}
        """Blocks with a name that no sequence holds, in the order in which they lose it."""
        self._name: dict[int, bytes] = {}
        self._named: dict[bytes, dict[int, None]] = {}
        """All blocks of a name, the oldest first: sequences that are computed at the same time do not share."""

    @property
    def free(self) -> int:
        """How many blocks no sequence holds."""
        return len(self._unnamed) + len(self._unused)

    @property
    def unused(self) -> list[int]:
        """Blocks with a name that no sequence holds, in the order in which they lose it."""
        return list(self._unused)

    def find(self, names: Iterable[bytes]) -> list[int]:
        """Returns the blocks of the longest beginning of `names` that all have a block."""
        blocks = []
        for name in names:
            if name not in self._named:
                break
            blocks.append(next(iter(self._named[name])))
        return blocks

    def held(self, blocks: Iterable[int]) -> int:
        """Returns how many of these blocks a sequence holds."""
        return sum(self._cache.refcounts[block] > 0 for block in blocks)

    def begin(self, blocks: Sequence[int]) -> CacheSequence:
        """Returns a sequence whose first rows are in these blocks, which `find` returned."""
        for block in blocks:
            self._unused.pop(block, None)
        return self._cache.reserve(blocks, len(blocks) * self._cache.block_size)

    def grow(self, sequence: CacheSequence, count: int) -> dict[int, bytes]:
        """Adds `count` blocks to a sequence; returns those that lost their name for it, with that name; their rows are
        still there. Raises CacheFull, changing nothing.
        """
        if count > self.free:
            raise CacheFull(f"{count} blocks are needed and {self.free} are free")
        unnamed = [self._unnamed.pop() for _ in range(min(count, len(self._unnamed)))]
        evicted = {block: self._name[block] for block in list(self._unused)[: count - len(unnamed)]}
        for block in evicted:
            self._forget(block)
        self._cache.grow(sequence, [*unnamed, *evicted])
        return evicted

    def give_name(self, block: int, name: bytes) -> bool:
        """Names a full block that a sequence holds, so that it is found; returns whether it had no name."""
        if block in self._name:
            return False
        self._name[block] = name
        self._named.setdefault(name, {})[block] = None
        return True

    def take_back(self, table: Sequence[int]) -> None:
        """Takes back the blocks of a released sequence, the last first. If several sequences were released together,
        a block that they shared goes with the last one.
        """
        for block in reversed(table):
            if self._cache.refcounts[block]:
                continue
            if block in self._name:
                self._unused.pop(block, None)
                self._unused[block] = None
            else:
                self._unnamed.append(block)

    def close(self) -> None:
        """Gives all blocks back to the cache. No sequence may hold one."""
        self._cache.put_back(self._blocks)

    def _forget(self, block: int) -> None:
        name = self._name.pop(block)
        del self._unused[block], self._named[name][block]
        if not self._named[name]:
            del self._named[name]
