"""The blocks that the requests of one round of a workload may use, and which ended requests are evicted for others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kvscope.model.engine.engine import Engine
from kvscope.model.engine.run import Run
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.kv_cache import Sequence as CacheSequence
from kvscope.model.log import schema
from kvscope.model.serving.request import ServedRequest, Tokenized
from kvscope.model.settings import ServingSettings


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a request waits: it needs `needed` blocks, `free` are free, and `longest` of these are consecutive."""

    why: schema.Waits
    needed: int
    free: int
    longest: int | None = None


class Room:
    """Allots the blocks of a round. `by_key`: its requests, to which others may be added.

    `evicted` is called with each request whose cached blocks are released for others, and with their number.
    """

    def __init__(
        self,
        engine: Engine,
        settings: ServingSettings,
        by_key: Mapping[str, ServedRequest],
        evicted: Callable[[ServedRequest, int], None],
    ):
        self._engine, self._settings, self._evicted = engine, settings, evicted
        self._by_key = by_key

    @property
    def sharers(self) -> list[str]:
        """Runs that may share blocks with each other."""
        return list(self._by_key) if self._settings.sharing else []

    @property
    def region(self) -> schema.Region | None:
        """The consecutive blocks of all requests; None if a request may use any blocks."""
        return None

    def prepare(self) -> None:
        """Prepares the room before each pass."""

    def most_blocks(self, asked: Tokenized) -> int:
        """Returns the most blocks that a request needs."""
        return asked.most_blocks()

    def for_newcomer(self, request: ServedRequest, running: Sequence[ServedRequest]) -> bool:
        """Returns whether the cache has blocks for all tokens of this request and the running ones; may evict."""

        def needed() -> int:
            return self.needed_with(request, running)

        # If nothing runs, it evicts even the request with which it could share blocks: waiting would free none.
        return self._free_for(needed, spared=self.donor(request)) or (not running and self._free_for(needed))

    def needed_with(self, request: ServedRequest, running: Sequence[ServedRequest]) -> int:
        """Returns how many new blocks the tokens so far of all these requests need."""
        return self._to_begin(request) + sum(self._to_continue(each, whole=True) for each in running)

    def why_not(self, request: ServedRequest, running: Sequence[ServedRequest]) -> Reason:
        """Returns why there is no room for the request."""
        return Reason("blocks", self.needed_with(request, running), self.free)

    def reserve(self, request: ServedRequest) -> CacheSequence | None:
        """Returns the sequence with which the request joins; None: the engine makes it, and shares with `sharers`.
        Raises OSError if rows cannot be brought back from a tier.
        """
        return None

    def fetched_rows(self, request: ServedRequest) -> int:
        """Returns how many rows of the request were brought back when it joined last."""
        return 0

    @property
    def free(self) -> int:
        """Blocks of the round that none of its requests uses."""
        return self._settings.blocks - self._used()

    @property
    def longest(self) -> int | None:
        """Blocks in the longest free stretch; None if blocks need not be consecutive."""
        return None

    def slots(self) -> schema.Slots | None:
        """Returns how the slots of the round's blocks are used; None if it has no blocks yet."""
        filled: dict[int, int] = {}
        for request in self._by_key.values():
            sequence = self.sequence_of(request) if request.state == "running" else None
            if sequence is None:
                continue
            for at, block in enumerate(sequence.table):
                rows = min(max(sequence.length - at * BLOCK_SIZE, 0), BLOCK_SIZE)
                filled[block] = max(filled.get(block, 0), rows)
        rows, longest = sum(filled.values()), self.longest
        return schema.Slots(
            filled=rows,
            empty=len(filled) * BLOCK_SIZE - rows,
            cached=(self._used() - len(filled)) * BLOCK_SIZE,
            free=(self._settings.blocks - self._used()) * BLOCK_SIZE,
            longest=None if longest is None else longest * BLOCK_SIZE,
        )

    def close(self) -> None:
        """Releases the blocks at the end of the round."""

    def for_next_pass(self, running: Sequence[ServedRequest]) -> bool:
        """Returns whether the cache has blocks for the next rows of all running requests, after evicting ended ones."""
        return self._free_for(lambda: sum(map(self._to_continue, running)))

    def allot(self, running: Sequence[ServedRequest]) -> None:
        """Gives the running requests the blocks of the next pass; here the pass itself takes them."""

    @property
    def cached(self) -> list[schema.CachedBlock] | None:
        """The blocks that no request holds and that can be found by their content; None if requests share by token."""
        return None

    def donor(self, request: ServedRequest) -> ServedRequest | None:
        """Returns the request with the longest cached prefix of this one's tokens."""
        key, _ = self._holder(request)
        return None if key is None else self._by_key[key]

    def sequence_of(self, request: ServedRequest) -> CacheSequence | None:
        """Returns the request's rows in the cache, while it runs or afterwards."""
        run = self._run(request)
        if run is not None:
            return run.sequence
        ended = self._engine.scheduler.kept.get(request.key)
        return None if ended is None else ended.sequence

    def forget(self, request: ServedRequest) -> None:
        """Releases the blocks that an ended request still has in the cache."""
        if request.key in self._engine.scheduler.kept:
            self._engine.scheduler.forget(request.key)
        request.table = []

    def _free_for(self, needed: Callable[[], int], spared: ServedRequest | None = None) -> bool:
        """Evicts ended requests until `needed` more blocks are free: the least recently used first, and never `spared`.
        Returns whether that many are free.
        """
        while self._used() + needed() > self._settings.blocks:
            ended = (self._by_key[key] for key in self._engine.scheduler.kept if key in self._by_key)
            victim = next((request for request in ended if request is not spared), None)
            if victim is None:
                return False
            self._evicted(victim, len(victim.table))
            self.forget(victim)
        return True

    def _used(self) -> int:
        """Returns how many blocks the requests use; a shared block counts once."""
        sequences = map(self.sequence_of, self._by_key.values())
        return len({block for sequence in sequences if sequence for block in sequence.table})

    def _to_begin(self, request: ServedRequest) -> int:
        """Returns the new blocks for its tokens so far, or for its most positions if the round reserves them."""
        positions = request.asked.most_positions if self._settings.reserve else len(self._ids(request))
        # A partly shared block is copied before it is written.
        return -(-positions // BLOCK_SIZE) - self._holder(request)[1] // BLOCK_SIZE

    def _to_continue(self, request: ServedRequest, *, whole: bool = False) -> int:
        """Returns the new blocks for the rows of its next pass; `whole`: for all tokens so far."""
        run = self._run(request)
        assert run is not None
        table, first = run.sequence.table, run.sequence.length
        rows = run.most_guesses + (run.unfed if whole else self._engine.scheduler.chunk_of(run))
        missing = max(0, -(-(first + rows) // BLOCK_SIZE) - len(table))
        at = first // BLOCK_SIZE
        return missing + (at < len(table) and self._engine.cache.refcounts[table[at]] > 1)

    def _holder(self, request: ServedRequest) -> tuple[str | None, int]:
        """Returns the key of the run with the longest cached prefix of its tokens, and the length of that prefix."""
        ids = self._ids(request)
        return self._engine.scheduler.holder_of(ids, len(ids) - 1, self.sharers)

    def _ids(self, request: ServedRequest) -> list[int]:
        """Returns its tokens so far."""
        run = self._run(request)
        return request.asked.ids if run is None else run.ids

    def _run(self, request: ServedRequest) -> Run | None:
        return self._engine.scheduler.runs.get(request.key)
