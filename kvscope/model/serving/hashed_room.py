"""The memory of a round whose requests share full blocks, found by a hash of their content (model.block_pool)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kvscope.model.block_pool import BlockPool, names_of
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull
from kvscope.model.kv_cache import Sequence as CacheSequence
from kvscope.model.log import schema
from kvscope.model.serving.request import ServedRequest
from kvscope.model.serving.room import Room
from kvscope.model.settings import ServingSettings


class HashedRoom(Room):
    """A `Room` whose blocks are set apart from the cache before its first pass, and found by their content."""

    def __init__(
        self,
        engine: Engine,
        settings: ServingSettings,
        by_key: Mapping[str, ServedRequest],
        evicted: Callable[[ServedRequest, int], None],
    ):
        super().__init__(engine, settings, by_key, evicted)
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
        """Returns a sequence with the cached blocks of the request's beginning."""
        return self._opened.begin(self._hits(request))

    def allot(self, running: Sequence[ServedRequest]) -> None:
        """Gives the requests the blocks of the next pass, and names those that it fills. Call it right before that
        pass: from then on, other requests find them.
        """
        evicted: Counter[str] = Counter()
        for request in sorted(running, key=lambda each: each.joined):
            sequence, missing = self._engine.scheduler.runs[request.key].sequence, self._to_continue(request)
            for block in self._opened.grow(sequence, missing):
                evicted[self._computed_by.pop(block).key] += 1
            request.table = list(sequence.table)
            self._name_filled(request)
        for key, count in evicted.items():
            self._evicted(self._by_key[key], count)

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
        """Gives the blocks back to the cache."""
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
        return self._pool.find(self._names_of(request)[: (len(self._ids(request)) - 1) // BLOCK_SIZE])

    def _names_of(self, request: ServedRequest) -> list[bytes]:
        names = names_of(self._ids(request), BLOCK_SIZE, self._names.get(request.key, ()))
        self._names[request.key] = names
        return names
