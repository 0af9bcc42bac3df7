"""The engine: advances every active run by one forward pass together.

A run that is still in prefill brings its next chunk of prompt tokens, a run in decode the token it chose last; all rows go through the
model as one ragged batch (continuous batching, Orca, OSDI '22; chunked prefill, arXiv:2308.16369). It takes ids and yields records;
text belongs to the tokenizer. One thread calls it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor

from model.api import Sampling
from model.candidates import Candidates, candidates
from model.capture import Capture, CapturedRows
from model.hooks import Observer, hook_points, observing
from model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence
from model.ragged import Entry, make_batch
from model.sampling import Choice, NotFinite, choose
from model.transformer import Transformer
from model.work import Work

PREFILL_CHUNK = 128
"""Prompt tokens of one run per forward pass: long enough to keep the matrix products busy, short enough that others' decode steps wait
for at most a few times their own length."""


@dataclass(frozen=True, slots=True)
class KVState:
    """A run's cache after a step. Bytes are read off the pool's tensors."""

    positions: int
    block_table: tuple[int, ...]
    refcounts: tuple[int, ...]
    bytes_written: int
    bytes_used: int
    bytes_reserved: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall time in milliseconds. `chunks`: each forward pass of the step; `forward` is their sum."""

    chunks: tuple[float, ...]
    capture: float
    sample: float
    total: float

    @property
    def forward(self) -> float:
        return sum(self.chunks)


@dataclass(frozen=True, slots=True)
class RowsRecord:
    """Rows of a step that have been computed and captured; the step's `StepRecord` follows, perhaps after more rows."""

    run: str
    step: int
    rows: CapturedRows


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A complete step: the token it chose and what that took."""

    run: str
    step: int
    phase: str
    position: int
    choice: Choice
    candidates: Candidates
    timing: Timing
    batch: int
    kv: KVState
    flops: int
    bytes_read: int


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """The end of a run. `reason`: eos, length, stopped or failed."""

    run: str
    reason: str
    error: str | None
    steps: int


Record = RowsRecord | StepRecord | CloseRecord


@dataclass(slots=True, eq=False)
class Run:
    """A run the engine holds. `ids` runs ahead of `sequence.length` by what is still to be fed."""

    key: str
    ids: list[int]
    prompt_length: int
    sampling: Sampling
    max_new_tokens: int
    sequence: Sequence
    generator: torch.Generator
    captured: bool = True
    step: int = 0
    paused: bool = False
    single_steps: int = 0
    chunk_ms: list[float] = field(default_factory=list)
    capture_ms: float = 0.0
    work: Work = field(default_factory=Work)

    @property
    def ready(self) -> bool:
        return not self.paused or self.single_steps > 0

    @property
    def blocks_promised(self) -> int:
        """Blocks the run may come to hold, its last token's K and V excluded: that token is never fed."""
        return -(-(self.prompt_length + self.max_new_tokens) // BLOCK_SIZE)


class Engine:
    """`capacity`: positions the cache pool holds; `eos`: ids that end a run."""

    def __init__(
        self,
        model: Transformer,
        *,
        capacity: int = 8192,
        eos: Iterable[int] = (),
        device: str = "cpu",
        prefill_chunk: int = PREFILL_CHUNK,
    ):
        self.model = model
        self.device = device
        self.eos = frozenset(eos)
        self.prefill_chunk = prefill_chunk
        self.cache = KVCache(model.config, -(-capacity // BLOCK_SIZE), device)
        self.runs: dict[str, Run] = {}
        self.points = hook_points(model)
        self._kept: OrderedDict[str, tuple[list[int], Sequence]] = OrderedDict()

    def admit(
        self, key: str, ids: list[int], sampling: Sampling, max_new_tokens: int, *, captured: bool = True
    ) -> Run:
        """A new run over prompt `ids`. Raises ValueError for an empty prompt or a key in use, CacheFull when others hold the room."""
        if not ids:
            raise ValueError("a run needs at least one token")
        run = self._admit(key, ids, len(ids), sampling, max_new_tokens, Sequence())
        run.captured = captured
        return run

    def fork(
        self, key: str, ids: list[int], prompt_length: int, sampling: Sampling, max_new_tokens: int
    ) -> Run:
        """A run that continues after `ids`, whose last token is still to be fed. It shares the blocks of whichever run
        computed the same tokens; positions nobody holds any more are computed again.

        Raises as `admit` does.
        """
        with self.replay(ids[:-1], len(ids) - 1) as sequence:
            run = self._admit(key, ids, prompt_length, sampling, max_new_tokens, self.cache.fork(sequence, sequence.length))
        run.step = len(ids) - prompt_length
        torch.rand(run.step, generator=run.generator, dtype=torch.float64)
        return run

    def stop(self, key: str, reason: str = "stopped", error: str | None = None) -> CloseRecord:
        """End a run. Its blocks stay until room is needed, so that it can be forked. Raises KeyError."""
        run = self.runs.pop(key)
        self._kept[key] = (run.ids[: run.sequence.length], run.sequence)
        if reason == "failed":
            self._forget(key)
        return CloseRecord(key, reason, error, run.step)

    @property
    def busy(self) -> bool:
        return any(run.ready for run in self.runs.values())

    def advance(self) -> list[Record]:
        """One forward pass for all runs that are not paused; the records that gave, each run's in log order."""
        ready = [run for run in self.runs.values() if run.ready]
        entries = [self._entry(run) for run in ready]
        if not entries:
            return []
        batch, order, lengths = make_batch(entries, self.device, self.model.config.window)
        ready = [ready[place] for place in order]
        capture = Capture(self.model.config) if any(run.captured for run in ready) else None
        started = time.perf_counter()
        with observing(self.points, capture.observers) if capture else nullcontext():
            logits = self.model(batch, self.cache)
        self._synchronize()
        forward_ms = _ms_since(started)
        started = time.perf_counter()
        captured = capture.rows(batch.groups, lengths) if capture else []
        capture_ms = _ms_since(started) / len(ready)
        records: list[Record] = []
        for place, run in enumerate(ready):
            run.chunk_ms.append(forward_ms)
            run.capture_ms += capture_ms
            run.work += Work.of_pass(self.model, entries[order[place]].count, run.sequence.length)
            if run.captured:
                records.append(RowsRecord(run.key, run.step, captured[place]))
            if run.sequence.length == len(run.ids):
                records += self._finish_step(run, logits[place], len(ready))
        return records

    @contextmanager
    def replay(
        self, ids: list[int], first_query: int, observers: Mapping[str, Observer] | None = None
    ) -> Iterator[Sequence]:
        """Compute rows `first_query`… of `ids` once more in one pass, seen by `observers`; the sequence lives inside the context.

        Rows before `first_query` come from the cache where some run still holds them and are computed unseen otherwise.
        Raises CacheFull.
        """
        sequence = self._shared_prefix(ids, first_query)
        try:
            while sequence.length < first_query:
                self._feed(sequence, ids[sequence.length : min(first_query, sequence.length + self.prefill_chunk)])
            if first_query < len(ids):
                with observing(self.points, observers or {}):
                    self._feed(sequence, ids[first_query:])
            yield sequence
        finally:
            self.cache.release(sequence)

    def _admit(
        self, key: str, ids: list[int], prompt_length: int, sampling: Sampling, max_new_tokens: int, sequence: Sequence
    ) -> Run:
        if key in self.runs:
            raise ValueError(f"run {key!r} is already active")
        generator = torch.Generator().manual_seed(sampling.seed)
        run = Run(key, list(ids), prompt_length, sampling, max_new_tokens, sequence, generator)
        promised = sum(other.blocks_promised for other in self.runs.values()) + run.blocks_promised
        if promised > self.cache.blocks - self._replay_blocks:
            self.cache.release(sequence)
            raise CacheFull(f"{promised * BLOCK_SIZE} cache positions would be promised of {self.cache.blocks * BLOCK_SIZE}")
        self.runs[key] = run
        return run

    @property
    def _replay_blocks(self) -> int:
        """Kept out of admissions, so that a running run can always be looked into."""
        return self.cache.blocks // 10

    def _entry(self, run: Run) -> Entry:
        first = run.sequence.length
        new = run.ids[first : first + self.prefill_chunk]
        return Entry(new, first, self._extend(run.sequence, len(new)), self.cache.slots(run.sequence))

    def _extend(self, sequence: Sequence, count: int) -> Tensor:
        while True:
            try:
                return self.cache.extend(sequence, count)
            except CacheFull:
                if not self._kept:
                    raise
                self._forget(next(iter(self._kept)))

    def _feed(self, sequence: Sequence, ids: list[int]) -> Tensor:
        first = sequence.length
        entry = Entry(ids, first, self._extend(sequence, len(ids)), self.cache.slots(sequence))
        batch, _, _ = make_batch([entry], self.device, self.model.config.window)
        return self.model(batch, self.cache)

    def _finish_step(self, run: Run, logits: Tensor, batch: int) -> list[Record]:
        started = time.perf_counter()
        try:
            choice = choose(logits, run.sampling, run.generator)
        except NotFinite as error:
            return [self.stop(run.key, "failed", f"step {run.step}: {error}")]
        shown = candidates(logits) if run.captured else None
        sample_ms = _ms_since(started)
        first_step = run.step == 0
        written = run.prompt_length if first_step else 1
        chunks = tuple(run.chunk_ms)
        timing = Timing(chunks, run.capture_ms, sample_ms, sum(chunks) + run.capture_ms + sample_ms)
        records: list[Record] = []
        if shown is not None:
            records.append(
                StepRecord(
                    run.key,
                    run.step,
                    "prefill" if first_step else "decode",
                    run.sequence.length - 1,
                    choice,
                    shown,
                    timing,
                    batch,
                    self.kv_state(run.sequence, written),
                    run.work.flops,
                    run.work.bytes_read,
                )
            )
        run.ids.append(choice.token)
        run.step += 1
        run.single_steps = max(0, run.single_steps - 1)
        run.chunk_ms, run.capture_ms, run.work = [], 0.0, Work()
        if choice.token in self.eos:
            records.append(self.stop(run.key, "eos"))
        elif run.step >= run.max_new_tokens:
            records.append(self.stop(run.key, "length"))
        return records

    def kv_state(self, sequence: Sequence, written: int) -> KVState:
        """The cache of `sequence`, `written` of whose positions are new."""
        cache = self.cache
        return KVState(
            positions=sequence.length,
            block_table=tuple(sequence.table),
            refcounts=tuple(cache.refcounts[block] for block in sequence.table),
            bytes_written=written * cache.position_bytes,
            bytes_used=cache.bytes_used(sequence),
            bytes_reserved=cache.bytes_reserved(sequence),
        )

    def _shared_prefix(self, ids: list[int], most: int) -> Sequence:
        """A sequence over the longest prefix of `ids`, at most `most` long, that some run has in the cache."""
        held = [(run.ids, run.sequence) for run in self.runs.values()] + list(self._kept.values())
        best, donor = 0, None
        for tokens, sequence in held:
            common = _common_prefix(tokens[: sequence.length], ids[:most])
            if common > best:
                best, donor = common, sequence
        return self.cache.fork(donor, best) if donor else Sequence()

    def _forget(self, key: str) -> None:
        self.cache.release(self._kept.pop(key)[1])

    def _synchronize(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()


def _common_prefix(a: list[int], b: list[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
