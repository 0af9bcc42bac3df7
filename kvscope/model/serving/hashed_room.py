"""The memory of a round whose requests share full blocks, found by a hash of their content (model.block_pool).

If the round has a tier (serving.tier), evicted blocks are stored there and brought back instead of computed again
(LMCache, arXiv:2510.09665).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from torch import Tensor

from kvscope.model.block_pool import BlockPool, names_of
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull
from kvscope.model.kv_cache import Sequence as CacheSequence
from kvscope.model.log import schema
from kvscope.model.serving.request import ServedRequest
from kvscope.model.serving.room import Room
from kvscope.model.serving.tier import MOST_BYTES, tier_of
from kvscope.model.settings import ServingSettings

Copied = Callable[[schema.Copies, ServedRequest, int, int, float], None]
"""Called with what was done with blocks, the request, and how many blocks, bytes and milliseconds it was."""


class HashedRoom(Room):
    """A `Room` whose blocks are set apart from the cache before its first pass, and found by their content."""

    def __init__(
        self,
        engine: Engine,
        settings: ServingSettings,
        by_key: Mapping[str, ServedRequest],
        evicted: Callable[[ServedRequest, int], None],
        copied: Copied,
    ):
        super().__init__(engine, settings, by_key, evicted)
        self._copied, self._tier = copied, tier_of(settings.tier)
        self._fetched: dict[str, int] = {}
        """The rows that each request brought back when it joined last."""
        self._stored_bytes = 0
        self._stored_for: dict[bytes, ServedRequest] = {}
        """The request that computed each block in the tier."""
        self._pool: BlockPool | None = None
        self._names: dict[str, list[bytes]] = {}
        """The names of each request's full blocks so far."""
        self._computed_by: dict[int, ServedRequest] = {}
        """The request that computed the rows of each named block."""

    @property
    def sharers(self) -> list[str]:
        """No runs: requests find blocks, whoever computed them."""
        return []

    def prepare(self) -> None:
        """Sets the blocks apart, unless they are already. Requests wait while computations in progress hold them."""
        if self._pool is None:
            try:
                blocks = self._engine.scheduler.set_apart(self._settings.blocks)
            except CacheFull:
                return
            self._pool = BlockPool(self._engine.cache, blocks)

    def for_newcomer(self, request: ServedRequest, running: Sequence[ServedRequest]) -> bool:
        """Returns whether enough blocks are free for all tokens of this request and the running ones."""
        return self.needed_with(request, running) <= self.free

    def for_next_pass(self, running: Sequence[ServedRequest]) -> bool:
        """Returns whether enough blocks are free for the next rows of all running requests."""
        return sum(map(self._to_continue, running)) <= self.free

    def reserve(self, request: ServedRequest) -> CacheSequence:
        """Returns a sequence with the blocks of the request's beginning that are cached, or that the tier has."""
        sequence = self._opened.begin(self._hits(request))
        try:
            self._fetch(request, sequence)
        except BaseException:
            self._give_back(sequence)
            raise
        return sequence

    def _give_back(self, sequence: CacheSequence) -> None:
        table = list(sequence.table)
        self._engine.cache.release(sequence)
        self._opened.take_back(table)

    def fetched_rows(self, request: ServedRequest) -> int:
        return self._fetched.get(request.key, 0)

    def _fetch(self, request: ServedRequest, sequence: CacheSequence) -> None:
        """Copies the next blocks of the request's beginning from the tier to the end of `sequence`."""
        self._fetched.pop(request.key, None)
        if self._tier is None:
            return
        missing = self._to_find(request)[len(sequence.table) :]
        names = list(takewhile(self._tier.has, missing))
        if not names:
            return
        self._grow(sequence, len(names))
        started = time.perf_counter()
        blocks = sequence.table[-len(names) :]
        rows = self._tier.get(names)
        self._engine.cache.write_all(self._engine.cache.slots_of(blocks), rows)
        ms = (time.perf_counter() - started) * 1000
        sequence.length += len(names) * BLOCK_SIZE
        for block, name in zip(blocks, names, strict=True):
            self._opened.give_name(block, name)
            self._computed_by[block] = self._stored_for[name]
        self._fetched[request.key] = len(names) * BLOCK_SIZE
        self._copied("fetched", request, len(names), rows.nbytes, ms)

    def _grow(self, sequence: CacheSequence, count: int) -> None:
        """Adds blocks to a sequence. Those that are evicted for it go to the tier."""
        evicted: dict[str, dict[int, bytes]] = {}
        for block, name in self._opened.grow(sequence, count).items():
            evicted.setdefault(self._computed_by.pop(block).key, {})[block] = name
        for key, blocks in evicted.items():
            self._evicted(self._by_key[key], len(blocks))
            self._store(self._by_key[key], blocks)

    def _store(self, request: ServedRequest, evicted: Mapping[int, bytes]) -> None:
        if self._tier is None:
            return
        left = (MOST_BYTES - self._stored_bytes) // (BLOCK_SIZE * self._engine.cache.position_bytes)
        new = dict([each for each in evicted.items() if not self._tier.has(each[1])][:left])
        if not new:
            return
        started, size, cache = time.perf_counter(), 0, self._engine.cache
        for block, name in new.items():
            rows = cache.read_all(cache.slots_of([block]))
            self._tier.put(name, rows)
            self._stored_for[name] = request
            size += rows.nbytes
        self._stored_bytes += size
        self._copied("stored", request, len(new), size, (time.perf_counter() - started) * 1000)

    def cached_rows(self, ids: Sequence[int]) -> int:
        """Returns how many rows of the beginning of `ids`, without the last, are in blocks that can be found."""
        names = names_of(ids, BLOCK_SIZE)[: (len(ids) - 1) // BLOCK_SIZE]
        return len(self._pool.find(names)) * BLOCK_SIZE if self._pool else 0

    def rows_of(self, request: ServedRequest) -> tuple[list[bytes], Tensor]:
        """Returns the names and rows of the full blocks of an ended request's prompt that can still be found."""
        names = names_of(request.asked.ids, BLOCK_SIZE)
        blocks = self._opened.find(names)
        return names[: len(blocks)], self._engine.cache.read_all(self._engine.cache.slots_of(blocks))

    def adopt(self, request: ServedRequest, names: Sequence[bytes], rows: Tensor) -> int:
        """Stores rows of another engine in blocks that no request holds, as many as there are, so that `request` finds
        them. Returns how many blocks there were of which it had none. `rows`: as `rows_of` returns them.
        """
        self.prepare()
        known = self._opened.find(names)
        sequence = self._opened.begin(known)
        count = min(len(names) - len(known), self._opened.free)
        self._grow(sequence, count)
        blocks, first = sequence.table[len(known) :], len(known) * BLOCK_SIZE
        self._engine.cache.write_all(
            self._engine.cache.slots_of(blocks), rows[:, :, :, first : first + count * BLOCK_SIZE]
        )
        for block, name in zip(blocks, names[len(known) :], strict=False):
            self._opened.give_name(block, name)
            self._computed_by[block] = request
        self._give_back(sequence)
        return count

    def allot(self, running: Sequence[ServedRequest]) -> None:
        """Gives the requests the blocks of the next pass, and names those that it fills. Call it right before that
        pass: from then on, other requests find them.
        """
        for request in sorted(running, key=lambda each: each.joined):
            sequence, missing = self._engine.scheduler.runs[request.key].sequence, self._to_continue(request)
            self._grow(sequence, missing)
            request.table = list(sequence.table)
            self._name_filled(request)

    def _name_filled(self, request: ServedRequest) -> None:
        run = self._engine.scheduler.runs[request.key]
        names = self._names_of(request)
        full = (run.fed + self._engine.scheduler.chunk_of(run)) // BLOCK_SIZE
        for block, name in zip(request.table[:full], names, strict=False):
            if self._opened.give_name(block, name):
                self._computed_by[block] = request

    def donor(self, request: ServedRequest) -> ServedRequest | None:
        """Returns the request that computed the last cached block of this one's beginning."""
        hits = self._hits(request)
        return self._computed_by[hits[-1]] if hits else None

    def forget(self, request: ServedRequest) -> None:
        """Takes the blocks of an ended or preempted request back; those with a name can still be found."""
        table = request.table
        super().forget(request)
        if self._pool:
            self._pool.take_back(table)

    @property
    def free(self) -> int:
        """Blocks that no request holds, cached ones among them."""
        return self._pool.free if self._pool else 0

    @property
    def cached(self) -> list[schema.CachedBlock]:
        """The blocks that no request holds and that can be found, the next to be evicted first."""
        unused = self._pool.unused if self._pool else []
        return [schema.CachedBlock(block=block, request=self._computed_by[block].number) for block in unused]

    def close(self) -> None:
        """Gives the blocks back to the cache, and frees what the tier has."""
        if self._tier:
            self._tier.close()
        if self._pool:
            self._pool.close()
            self._pool = None

    @property
    def _opened(self) -> BlockPool:
        assert self._pool is not None
        return self._pool

    def _used(self) -> int:
        return super()._used() + len(self.cached)

    def _to_begin(self, request: ServedRequest) -> int:
        hits = self._hits(request)
        held = self._pool.held(hits) if self._pool else 0
        return -(-len(self._ids(request)) // BLOCK_SIZE) - held

    def _hits(self, request: ServedRequest) -> list[int]:
        """Returns the cached blocks of the request's beginning, without its last token, which is always computed."""
        if self._pool is None:
            return []
        return self._pool.find(self._to_find(request))

    def _to_find(self, request: ServedRequest) -> list[bytes]:
        """Returns the names of the blocks of its beginning that it may find: not the one of its last token."""
        return self._names_of(request)[: (len(self._ids(request)) - 1) // BLOCK_SIZE]

    def _names_of(self, request: ServedRequest) -> list[bytes]:
        names = names_of(self._ids(request), BLOCK_SIZE, self._names.get(request.key, ()))
        self._names[request.key] = names
        return names
