"""The blocks that one round of a workload may hold, and who gives some back when others need them."""

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
    """Why a request waits: `needed` blocks, where `free` are free and `longest` of them in a row."""

    why: schema.Waits
    needed: int
    free: int
    longest: int | None = None


class Room:
    """Of the round's requests, `by_key`, to which more may come.

    `evicted` is called with the request whose cached blocks are reused after its end.
    """

    def __init__(
        self,
        engine: Engine,
        settings: ServingSettings,
        by_key: Mapping[str, ServedRequest],
        evicted: Callable[[ServedRequest], None],
    ):
        self._engine, self._settings, self._evicted = engine, settings, evicted
        self._by_key = by_key

    @property
    def sharers(self) -> list[str]:
        """Runs that may share their blocks with each other."""
        return list(self._by_key) if self._settings.sharing else []

    @property
    def region(self) -> schema.Region | None:
        """The consecutive blocks in which the requests are; None where a request may hold any."""
        return None

    def prepare(self) -> None:
        """Before each pass."""

    def most_blocks(self, asked: Tokenized) -> int:
        """Blocks that a request may come to hold."""
        return asked.most_blocks()

    def for_newcomer(self, request: ServedRequest, running: Sequence[ServedRequest]) -> bool:
        """Whether it can be read to the end of what is written of it, and those that are running too."""

        def needed() -> int:
            return self.needed_with(request, running)

        # Alone it takes the blocks even of whom it could share with, rather than wait for nobody.
        return self._find(needed, keep=self.donor(request)) or (not running and self._find(needed))

    def needed_with(self, request: ServedRequest, running: Sequence[ServedRequest]) -> int:
        """New blocks until all of these are read to the end of what is written of them."""
        return self._to_begin(request) + sum(self._to_go_on(each, whole=True) for each in running)

    def why_not(self, request: ServedRequest, running: Sequence[ServedRequest]) -> Reason:
        """Why there is no room for it."""
        return Reason("blocks", self.needed_with(request, running), self.free)

    def reserve(self, request: ServedRequest) -> CacheSequence | None:
        """What a newcomer writes to from the start; None where it gets its blocks as it needs them, or shares some."""
        return None

    @property
    def free(self) -> int:
        """Blocks that the round may hold and none of its requests does."""
        return self._settings.blocks - self._held()

    @property
    def longest(self) -> int | None:
        """Blocks of the longest stretch of free ones; None where it does not matter."""
        return None

    def slots(self) -> schema.Slots | None:
        """What is in the blocks that the round may hold; None where it has none yet."""
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
            cached=(self._held() - len(filled)) * BLOCK_SIZE,
            free=self.free * BLOCK_SIZE,
            longest=None if longest is None else longest * BLOCK_SIZE,
        )

    def close(self) -> None:
        """The round is over, and nobody holds a block."""

    def for_next_pass(self, running: Sequence[ServedRequest]) -> bool:
        """Whether they can all go on."""
        return self._find(lambda: sum(map(self._to_go_on, running)))

    def donor(self, request: ServedRequest) -> ServedRequest | None:
        """Who has the longest beginning of it in the cache."""
        key, _ = self._holder(request)
        return None if key is None else self._by_key[key]

    def sequence_of(self, request: ServedRequest) -> CacheSequence | None:
        """What it has in the cache, while it runs or afterwards."""
        run = self._run(request)
        if run is not None:
            return run.sequence
        kept = self._engine.scheduler.kept.get(request.key)
        return None if kept is None else kept.sequence

    def forget(self, request: ServedRequest) -> None:
        """Give back what was kept of it after its end."""
        if request.key in self._engine.scheduler.kept:
            self._engine.scheduler.forget(request.key)
        request.table = []

    def _find(self, needed: Callable[[], int], keep: ServedRequest | None = None) -> bool:
        """Whether so many blocks more can be held, once requests that are done give theirs back as far as needed: who
        was of no use for longest first, and never `keep`.
        """
        while self._held() + needed() > self._settings.blocks:
            kept = (self._by_key[key] for key in self._engine.scheduler.kept if key in self._by_key)
            victim = next((request for request in kept if request is not keep), None)
            if victim is None:
                return False
            self._evicted(victim)
            self.forget(victim)
        return True

    def _held(self) -> int:
        """Blocks that the requests hold; one that several share counts once."""
        sequences = map(self.sequence_of, self._by_key.values())
        return len({block for sequence in sequences if sequence for block in sequence.table})

    def _to_begin(self, request: ServedRequest) -> int:
        """New blocks of what is written before its next token, or of all it may come to hold where that is reserved."""
        positions = request.asked.most_positions if self._settings.reserve else len(self._ids(request))
        # A block that is shared in part is copied before it is written to.
        return -(-positions // BLOCK_SIZE) - self._holder(request)[1] // BLOCK_SIZE

    def _to_go_on(self, request: ServedRequest, *, whole: bool = False) -> int:
        """New blocks that its next rows take; `whole`: all that are written and not computed yet."""
        run = self._run(request)
        assert run is not None
        table, first = run.sequence.table, run.sequence.length
        rows = len(run.ids) - run.fed
        rows = run.most_guesses + (rows if whole else min(self._settings.chunk, rows))
        missing = max(0, -(-(first + rows) // BLOCK_SIZE) - len(table))
        at = first // BLOCK_SIZE
        return missing + (at < len(table) and self._engine.cache.refcounts[table[at]] > 1)

    def _holder(self, request: ServedRequest) -> tuple[str | None, int]:
        """Whose run has the longest beginning of it in the cache, and how many rows that is."""
        ids = self._ids(request)
        return self._engine.scheduler.holder_of(ids, len(ids) - 1, self.sharers)

    def _ids(self, request: ServedRequest) -> list[int]:
        """All that is written before its next token."""
        run = self._run(request)
        return request.asked.ids if run is None else run.ids

    def _run(self, request: ServedRequest) -> Run | None:
        return self._engine.scheduler.runs.get(request.key)
