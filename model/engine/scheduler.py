"""Who may run, what the next pass computes, and whose K and V stay in the cache.

Every run must be able to reach its last token, so the room for it is promised when it starts. Blocks of runs that have
ended stay until that room is needed: whoever comes with the same tokens shares them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvscope.model.engine.batch import Entry
from kvscope.model.engine.beam import BeamSearch
from kvscope.model.engine.run import Run
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence

PREFILL_CHUNK = 128
"""Prompt tokens of one run per forward pass: long enough to keep the matrix products busy, short enough that others'
decode steps wait for at most a few times their own length."""


class Scheduler:
    """`reserve`: positions of the cache that are kept out of promises, so that a running run can be looked into."""

    def __init__(self, cache: KVCache, reserve: int = 0, prefill_chunk: int = PREFILL_CHUNK):
        self.cache = cache
        self.prefill_chunk = prefill_chunk
        self.runs: dict[str, Run] = {}
        self.searches: dict[str, BeamSearch] = {}
        self.kept: dict[str, tuple[list[int], Sequence]] = {}
        """Tokens and cache of ended runs, the one that ended first in front."""
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
        promised = blocks + sum(each.blocks_promised for each in self._all())
        if promised > self.room:
            free = self.room - (promised - blocks)
            raise CacheFull(f"this run may come to hold {blocks} blocks, and {free} of {self.room} are not promised")

    def end(self, key: str, *, failed: bool = False) -> Run | BeamSearch:
        """Take out a run or search. Raises KeyError.

        A failed run's blocks are given back at once: what they hold may be unwritten or not finite. So are those of a
        run that keeps no cache, and those of a search.
        """
        if key in self.searches:
            search = self.searches.pop(key)
            search.release(self.cache)
            return search
        run = self.runs.pop(key)
        if failed or run.caching != "kept":
            self.cache.release(run.sequence)
        elif run.sequence.length:
            self.keep(key, run.ids[: run.sequence.length], run.sequence)
        return run

    def keep(self, key: str, ids: list[int], sequence: Sequence) -> None:
        """Leave `sequence`, which holds `ids`, in the cache until others need the room; the one of that key goes."""
        if key in self.kept:
            self._forget(key)
        self.kept[key] = (ids, sequence)

    def shared_prefix(self, ids: list[int], most: int) -> Sequence:
        """A sequence over the longest prefix of `ids`, at most `most` long, that some run has in the cache."""
        # What a run without a cache has computed is not all there, or was computed from less than the whole text.
        held = [(run.ids, run.sequence) for run in self.runs.values() if run.caching == "kept"]
        held += self.kept.values()
        best, donor = 0, None
        for tokens, sequence in held:
            common = _common_prefix(tokens[: sequence.length], ids[:most])
            if common > best:
                best, donor = common, sequence
        return self.cache.fork(donor, best) if donor else Sequence()

    def ready_runs(self) -> list[Run]:
        """The runs of the next pass."""
        return [run for run in self.runs.values() if run.ready]

    def ready_searches(self) -> list[BeamSearch]:
        """The searches that go on, each in a pass of its own."""
        return [search for search in self.searches.values() if search.ready]

    def entry_of(self, run: Run) -> Entry:
        """What the run brings to the next pass: its next chunk of the prompt, or the token it chose last."""
        return self.entry(run.sequence, run.ids[run.fed : run.fed + self.prefill_chunk], run.forgotten)

    def entries_of(self, search: BeamSearch) -> list[Entry]:
        """What each hypothesis brings, equally many ids of each."""
        return [self.entry(sequence, ids) for sequence, ids in search.feed(self.prefill_chunk)]

    def chunks_of(self, ids: list[int], sequence: Sequence) -> Iterator[Entry]:
        """What brings `sequence`, which holds the first of `ids`, up to all of them, pass by pass."""
        while sequence.length < len(ids):
            yield self.entry(sequence, ids[sequence.length : sequence.length + self.prefill_chunk])

    def entry(self, sequence: Sequence, ids: list[int], forgotten: int = 0) -> Entry:
        """`sequence` with room made for `ids`, which a pass is to compute. Raises CacheFull."""
        first = sequence.length
        while True:
            try:
                new_slots = self.cache.extend(sequence, len(ids))
                return Entry(ids, first, new_slots, self.cache.slots(sequence), forgotten)
            except CacheFull:
                if not self.kept:
                    raise
                self._forget(next(iter(self.kept)))

    def _all(self) -> list[Run | BeamSearch]:
        return [*self.runs.values(), *self.searches.values()]

    def _forget(self, key: str) -> None:
        self.cache.release(self.kept.pop(key)[1])


def _common_prefix(a: list[int], b: list[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))
