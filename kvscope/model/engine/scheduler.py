"""Who may run, what the next pass computes, and whose K and V stay in the cache.

Every run must be able to reach its last token, so the room for it is promised when it starts. Blocks of runs that have
ended stay until that room is needed: whoever comes with the same tokens shares them.
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
"""Prompt tokens of one run per forward pass: long enough to keep the matrix products busy, short enough that others'
decode steps wait for at most a few times their own length."""
MOST_FORGOTTEN = 64
"""Evicted runs whose tokens are remembered, so that it can be said why their rows are not read."""


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """What an ended run left in the cache: `sequence`, which holds `ids`, computed with `changes`."""

    ids: list[int]
    sequence: Sequence
    changes: Changes | None


class Scheduler:
    """`reserve`: positions of the cache that are kept out of promises, so that a running run can be looked into."""

    def __init__(self, cache: KVCache, reserve: int = 0, prefill_chunk: int = PREFILL_CHUNK):
        self.cache = cache
        self.prefill_chunk = prefill_chunk
        self.runs: dict[str, Run] = {}
        self.searches: dict[str, BeamSearch] = {}
        self.kept: dict[str, Ended] = {}
        """Of ended runs, the one that was of no use for longest in front."""
        self.forgotten: dict[str, Ended] = {}
        """Of evicted runs, the last ones, the newest last; their sequences are empty."""
        self.promised: dict[str, int] = {}
        """Blocks kept free for whoever admits runs of its own, by its name."""
        self.room = cache.blocks - -(-reserve // BLOCK_SIZE)
        """Blocks that may be promised to runs."""

    def active(self, key: str) -> Run | BeamSearch | None:
        """The run or search of that key, None when it is over."""
        return self.runs.get(key) or self.searches.get(key)

    @property
    def busy(self) -> bool:
        return any(each.ready for each in self._all())

    def check(self, key: str, blocks: int) -> None:
        """Whether `blocks` can be promised to a new run. Raises ValueError for a key in use, and CacheFull."""
        if self.active(key) is not None:
            raise ValueError(f"run {key!r} is already active")
        if blocks > self.unpromised:
            message = f"this run may need {blocks} blocks, and {self.unpromised} of {self.room} are not reserved"
            raise CacheFull(message)

    @property
    def unpromised(self) -> int:
        """Blocks that may still be promised."""
        return self.room - sum(each.blocks_promised for each in self._all()) - sum(self.promised.values())

    def promise(self, owner: str, blocks: int) -> None:
        """Keep `blocks` free for runs that `owner` will admit. Raises ValueError for a name in use, and CacheFull."""
        self.check(owner, blocks)
        self.promised[owner] = blocks

    def end(self, key: str, *, failed: bool = False) -> Run | BeamSearch:
        """Take out a run or search. Raises KeyError.

        A failed run's blocks are given back at once: what they hold may be unwritten or not finite. So are those of a
        run that keeps no cache, or not all of it, or has reserved them, and those of a search.
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
        """Leave `sequence`, which holds `ids`, in the cache until others need the room; the one of that key goes."""
        if key in self.kept:
            self.forget(key)
        self.kept[key] = Ended(ids, sequence, changes)
        self.forgotten.pop(key, None)

    def forget(self, key: str) -> None:
        """Give back the blocks of an ended run. Raises KeyError."""
        ended = self.kept.pop(key)
        self.cache.release(ended.sequence)
        self.forgotten[key] = ended
        if len(self.forgotten) > MOST_FORGOTTEN:
            del self.forgotten[next(iter(self.forgotten))]

    def shared_prefix(
        self, ids: list[int], most: int, among: Collection[str] | None = None, changes: Changes | None = None
    ) -> Sequence:
        """A sequence over the longest prefix of `ids`, at most `most` long, that some run has in the cache.

        `among`: the runs that may share theirs, all where it is None; none shares but with the same `changes`. What was
        kept of an ended run and is of use again is the last that is forgotten.
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
        """Which run has the longest prefix of `ids` in the cache, and how long that is, at most `most`."""
        best, donor = 0, None
        for key, each in self._held().items():
            if (among is None or key in among) and each.changes == changes:
                common = _common_prefix(each.ids[: each.sequence.length], ids[:most])
                if common > best and self.cache.can_fork(each.sequence, common):
                    best, donor = common, key
        return donor, best

    def unread(self, ids: list[int], read: int, among: Collection[str]) -> tuple[int, Unread | None]:
        """How long a prefix of `ids`, without the last, the unchanged runs of `among` have in the cache, had there, or
        are computing; and why only the first `read` of those rows can be read, None where these are all.
        """
        held, wanted = self._held(), ids[:-1]
        best = read
        why: Unread | None = None
        for key in among:
            each = held.get(key) or self.forgotten.get(key)
            common = _common_prefix(each.ids, wanted) if each and each.changes is None else 0
            if each and common > best:
                best = common
                why = "evicted" if key not in held else "computing" if common > each.sequence.length else "window"
        return best, why

    def _held(self) -> dict[str, Ended]:
        """What there is of all whose rows can be shared, active ones and ended ones."""
        # What a run without a cache, or with a part of it, has computed is not all there, or comes from less than the
        # whole text.
        whole = {
            key: run
            for key, run in self.runs.items()
            if run.caching == "kept" and not run.forgotten and not run.sequence.reserved
        }
        return {key: Ended(run.ids, run.sequence, run.changes) for key, run in whole.items()} | self.kept

    def ready_runs(self) -> list[Run]:
        """The runs of the next pass."""
        return [run for run in self.runs.values() if run.ready]

    def ready_searches(self) -> list[BeamSearch]:
        """The searches that go on, each in a pass of its own."""
        return [search for search in self.searches.values() if search.ready]

    def entry_of(self, run: Run) -> Entry:
        """What the run brings to the next pass: its next chunk of the prompt, or the token it chose last."""
        chunk = run.chunk or self.prefill_chunk
        ids = run.ids[run.fed : run.fed + chunk] + run.guessed
        return self.entry(run.sequence, ids, run.forgotten, outputs=1 + len(run.guessed), changes=run.changes)

    def entries_of(self, search: BeamSearch) -> list[Entry]:
        """What each hypothesis brings, equally many ids of each."""
        fed = search.feed(self.prefill_chunk)
        return [self.entry(sequence, ids, changes=search.changes) for sequence, ids in fed]

    def chunks_of(self, ids: list[int], sequence: Sequence, changes: Changes | None = None) -> Iterator[Entry]:
        """What brings `sequence`, which holds the first of `ids`, up to all of them, pass by pass."""
        while sequence.length < len(ids):
            yield self.entry(sequence, ids[sequence.length : sequence.length + self.prefill_chunk], changes=changes)

    def entry(
        self, sequence: Sequence, ids: list[int], forgotten: int = 0, outputs: int = 1, changes: Changes | None = None
    ) -> Entry:
        """`sequence` with room made for `ids`, which a pass is to compute. Raises CacheFull."""
        first = sequence.length
        new_slots = self._with_room(lambda: self.cache.extend(sequence, len(ids)))
        return Entry(ids, first, new_slots, self.cache.slots(sequence), forgotten, outputs, changes)

    def hold(self, sequence: Sequence, positions: int) -> None:
        """Take the blocks of that many positions before they are written. Raises CacheFull."""
        self._with_room(lambda: self.cache.hold(sequence, positions))

    def clear(self, count: int) -> range | None:
        """Set apart that many consecutive blocks with nothing in them, in the last part of the pool where that is
        possible. Ended runs that are in the way are forgotten, and blocks of others' runs are moved.

        None where runs of workloads or computations in progress are in the way: those stay where they are.
        """
        movable = self._movable()
        held = {block for sequence in movable for block in sequence.table}
        ended = [each.sequence for each in self.kept.values()]
        known = Counter(block for sequence in (*movable, *ended) for block in sequence.table)
        others = {block for block, holders in enumerate(self.cache.refcounts) if holders > known[block]}
        fixed = others | self.cache.apart
        possible = (range(first, first + count) for first in range(self.cache.blocks - count, -1, -1))
        unfixed = [blocks for blocks in possible if fixed.isdisjoint(blocks)]
        if not unfixed:
            return None
        blocks = min(unfixed, key=lambda each: len(held.intersection(each)))
        for key in [key for key, each in self.kept.items() if not set(blocks).isdisjoint(each.sequence.table)]:
            self.forget(key)
        self.cache.set_apart(blocks)
        self._move_out(blocks)
        return blocks

    def _move_out(self, blocks: range) -> None:
        """Put other blocks in the place of these, which are set apart, in every table."""
        moved: dict[int, int] = {}
        for sequence in self._movable():
            for block in sequence.table:
                if block in blocks and block not in moved:
                    moved[block] = self._with_room(partial(self.cache.move, block))
            sequence.table[:] = [moved.get(block, block) for block in sequence.table]

    def _movable(self) -> list[Sequence]:
        """The sequences of all who are no request of a workload."""
        runs = [run.sequence for run in self.runs.values() if not run.owner]
        return runs + [each.sequence for search in self.searches.values() for each in search.live]

    def _with_room(self, take: Callable[[], Taken]) -> Taken:
        """What `take` gives, once as many ended runs are forgotten as that needs. Raises CacheFull."""
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
