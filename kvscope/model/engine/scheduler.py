"""Decides which runs are admitted, what the next pass computes, and whose K and V stay in the cache.

Every run must be able to reach its last token, so its blocks are reserved when it is admitted. The blocks of ended runs
stay cached until others need the room; a new run with the same tokens shares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kvscope.model.api import Unread
from kvscope.model.engine.batch import Entry
from kvscope.model.engine.beam import BeamSearch
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.run import Run
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence

Taken = TypeVar("Taken")
PREFILL_CHUNK = 128
"""Prompt tokens of one run per pass: enough for efficient matrix products, and few enough that decode steps of other
runs wait at most a few times their own duration."""
MOST_FORGOTTEN = 64
"""How many evicted runs' tokens stay known, to explain why their rows are not read."""


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """An ended run in the cache: `sequence` has the rows of `ids`, computed with `changes`."""

    ids: list[int]
    sequence: Sequence
    changes: Changes | None


class Scheduler:
    """`reserve`: positions of the cache that no run may reserve, so that a run's rows can be computed again."""

    def __init__(self, cache: KVCache, reserve: int = 0, prefill_chunk: int = PREFILL_CHUNK):
        self.cache = cache
        self.prefill_chunk = prefill_chunk
        self.runs: dict[str, Run] = {}
        self.searches: dict[str, BeamSearch] = {}
        self.kept: dict[str, Ended] = {}
        """Ended runs in the cache by key, least recently used first."""
        self.forgotten: dict[str, Ended] = {}
        """The runs whose blocks were released last, newest last; their sequences are empty."""
        self.promised: dict[str, int] = {}
        """Blocks that each workload has reserved for its requests."""
        self.room = cache.blocks - -(-reserve // BLOCK_SIZE)
        """Blocks that runs may reserve in all."""

    def active(self, key: str) -> Run | BeamSearch | None:
        """Returns the run or search with this key, None if it has ended."""
        return self.runs.get(key) or self.searches.get(key)

    @property
    def busy(self) -> bool:
        return any(each.ready for each in self._all())

    def check(self, key: str, blocks: int) -> None:
        """Checks that a new run can reserve `blocks`. Raises ValueError for a key in use, and CacheFull."""
        if self.active(key) is not None:
            raise ValueError(f"run {key!r} is already active")
        if blocks > self.unpromised:
            message = f"this run may need {blocks} blocks, and {self.unpromised} of {self.room} are not reserved"
            raise CacheFull(message)

    @property
    def unpromised(self) -> int:
        """Blocks that can still be reserved."""
        return self.room - sum(each.blocks_promised for each in self._all()) - sum(self.promised.values())

    def promise(self, owner: str, blocks: int) -> None:
        """Reserves `blocks` for runs that `owner` will admit. Raises ValueError for a name in use, and CacheFull."""
        self.check(owner, blocks)
        self.promised[owner] = blocks

    def end(self, key: str, *, failed: bool = False) -> Run | BeamSearch:
        """Removes a run or search. Raises KeyError.

        A failed run's blocks are released at once: their values may be unwritten or not finite. So are the blocks of a
        search, and of a run without a cache, with dropped rows, or with a reserved sequence.
        """
        if key in self.searches:
            search = self.searches.pop(key)
            search.release(self.cache)
            return search
        run = self.runs.pop(key)
        if failed or run.caching != "kept" or run.forgotten or run.sequence.reserved:
            self.cache.release(run.sequence)
        elif run.sequence.length:
            self.keep(key, run.ids[: run.sequence.length], run.sequence, run.changes)
        return run

    def keep(self, key: str, ids: list[int], sequence: Sequence, changes: Changes | None) -> None:
        """Leaves `sequence` with the rows of `ids` in the cache until others need room, in place of the key's last."""
        if key in self.kept:
            self.forget(key)
        self.kept[key] = Ended(ids, sequence, changes)
        self.forgotten.pop(key, None)

    def forget(self, key: str) -> None:
        """Releases the blocks of an ended run. Raises KeyError."""
        ended = self.kept.pop(key)
        self.cache.release(ended.sequence)
        self.forgotten[key] = ended
        if len(self.forgotten) > MOST_FORGOTTEN:
            del self.forgotten[next(iter(self.forgotten))]

    def shared_prefix(
        self, ids: list[int], most: int, among: Collection[str] | None = None, changes: Changes | None = None
    ) -> Sequence:
        """Returns a sequence over the longest cached prefix of `ids`, at most `most` long.

        `among`: runs whose blocks may be shared, None for all; only runs with the same `changes` share. An ended run
        whose blocks are shared again becomes the most recently used.
        """
        donor, length = self.holder_of(ids, most, among, changes)
        if donor is None:
            return Sequence()
        if donor in self.kept:
            self.kept[donor] = self.kept.pop(donor)
            return self.cache.fork(self.kept[donor].sequence, length)
        return self.cache.fork(self.runs[donor].sequence, length)

    def holder_of(
        self, ids: list[int], most: int, among: Collection[str] | None = None, changes: Changes | None = None
    ) -> tuple[str | None, int]:
        """Returns the run with the longest cached prefix of `ids`, and its length, at most `most`."""
        best, donor = 0, None
        for key, each in self._shareable().items():
            if (among is None or key in among) and each.changes == changes:
                common = _common_prefix(each.ids[: each.sequence.length], ids[:most])
                if common > best and self.cache.can_fork(each.sequence, common):
                    best, donor = common, key
        return donor, best

    def unread(self, ids: list[int], read: int, among: Collection[str]) -> tuple[int, Unread | None]:
        """Returns the longest prefix of `ids`, without the last, that the unchanged runs of `among` have cached, had
        cached, or are computing; and why only its first `read` rows can be read, None if it is no longer than `read`.
        """
        shareable, prompt = self._shareable(), ids[:-1]
        best = read
        why: Unread | None = None
        for key in among:
            each = shareable.get(key) or self.forgotten.get(key)
            common = _common_prefix(each.ids, prompt) if each and each.changes is None else 0
            if each and common > best:
                best = common
                why = "evicted" if key not in shareable else "computing" if common > each.sequence.length else "window"
        return best, why

    def _shareable(self) -> dict[str, Ended]:
        """Returns the active and ended runs whose rows can be shared, by key."""
        # Without a cache, or with dropped rows, rows are missing or were computed from less than the whole text.
        whole = {
            key: run
            for key, run in self.runs.items()
            if run.caching == "kept" and not run.forgotten and not run.sequence.reserved
        }
        return {key: Ended(run.ids, run.sequence, run.changes) for key, run in whole.items()} | self.kept

    def ready_runs(self) -> list[Run]:
        """Returns the runs of the next pass."""
        return [run for run in self.runs.values() if run.ready]

    def ready_searches(self) -> list[BeamSearch]:
        """Returns the searches that continue, each in a separate pass."""
        return [search for search in self.searches.values() if search.ready]

    def entry_of(self, run: Run) -> Entry:
        """Returns the run's part of the next pass: its next chunk of the prompt, or its last token and guesses."""
        ids = run.ids[run.fed : run.fed + self.chunk_of(run)] + run.guessed
        return self.entry(run.sequence, ids, run.forgotten, outputs=1 + len(run.guessed), changes=run.changes)

    def chunk_of(self, run: Run) -> int:
        """Returns how many of the run's tokens its next pass feeds, guesses not counted.

        A preempted run that drops rows reads its answer token by token, as it did at first.
        """
        chunk = self.prefill_chunk if run.chunk is None else run.chunk
        if run.keeping is not None:
            chunk = min(chunk, max(1, run.prompt_length - run.fed))
        return min(run.unfed, chunk)

    def entries_of(self, search: BeamSearch) -> list[Entry]:
        """Returns the search's part of its next pass, the same number of ids for each hypothesis."""
        fed = search.feed(self.prefill_chunk)
        return [self.entry(sequence, ids, changes=search.changes) for sequence, ids in fed]

    def chunks_of(self, ids: list[int], sequence: Sequence, changes: Changes | None = None) -> Iterator[Entry]:
        """Yields one entry per pass until `sequence`, which has the first rows of `ids`, has all of them."""
        while sequence.length < len(ids):
            yield self.entry(sequence, ids[sequence.length : sequence.length + self.prefill_chunk], changes=changes)

    def entry(
        self, sequence: Sequence, ids: list[int], forgotten: int = 0, outputs: int = 1, changes: Changes | None = None
    ) -> Entry:
        """Extends `sequence` by slots for `ids`, and returns its entry for a pass. Raises CacheFull."""
        first = sequence.length
        new_slots = self._with_room(lambda: self.cache.extend(sequence, len(ids)))
        return Entry(ids, first, new_slots, self.cache.slots(sequence), forgotten, outputs, changes)

    def hold(self, sequence: Sequence, positions: int) -> None:
        """Allocates the blocks of that many positions before they are written. Raises CacheFull."""
        self._with_room(lambda: self.cache.hold(sequence, positions))

    def set_apart(self, count: int) -> list[int]:
        """Frees `count` blocks, evicting as many ended runs as that needs, and sets them apart. Raises CacheFull."""
        return self._with_room(lambda: self.cache.set_free_apart(count))

    def clear(self, count: int) -> range | None:
        """Frees and reserves `count` consecutive blocks, moving as few blocks as possible, late in the pool if equal.
        Evicts ended runs in these blocks, and moves the blocks of other runs.

        Returns None if requests of workloads or computations in progress leave no such range: they are not moved.
        """
        movable = self._movable()
        movable_blocks = {block for sequence in movable for block in sequence.table}
        ended = [each.sequence for each in self.kept.values()]
        known = Counter(block for sequence in (*movable, *ended) for block in sequence.table)
        others = {block for block, holders in enumerate(self.cache.refcounts) if holders > known[block]}
        fixed = others | self.cache.apart
        possible = (range(first, first + count) for first in range(self.cache.blocks - count, -1, -1))
        unfixed = [blocks for blocks in possible if fixed.isdisjoint(blocks)]
        if not unfixed:
            return None
        blocks = min(unfixed, key=lambda each: len(movable_blocks.intersection(each)))
        for key in [key for key, each in self.kept.items() if not set(blocks).isdisjoint(each.sequence.table)]:
            self.forget(key)
        self.cache.set_apart(blocks)
        self._move_out(blocks)
        return blocks

    def _move_out(self, blocks: range) -> None:
        """Moves the contents of these reserved blocks elsewhere, and updates every table."""
        moved: dict[int, int] = {}
        for sequence in self._movable():
            for block in sequence.table:
                if block in blocks and block not in moved:
                    moved[block] = self._with_room(partial(self.cache.move, block))
            sequence.table[:] = [moved.get(block, block) for block in sequence.table]

    def _movable(self) -> list[Sequence]:
        """Returns the sequences of runs and searches outside workloads."""
        runs = [run.sequence for run in self.runs.values() if not run.owner]
        return runs + [each.sequence for search in self.searches.values() for each in search.live]

    def _with_room(self, take: Callable[[], Taken]) -> Taken:
        """Returns the result of `take`, after evicting as many ended runs as it needs. Raises CacheFull."""
        while True:
            try:
                return take()
            except CacheFull:
                if not self.kept:
                    raise
                self.forget(next(iter(self.kept)))

    def _all(self) -> list[Run | BeamSearch]:
        return [*self.runs.values(), *self.searches.values()]


def _common_prefix(a: list[int], b: list[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))
