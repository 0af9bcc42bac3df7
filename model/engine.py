"""The engine: advances every active run by one forward pass together.

A run that is still in prefill brings its next chunk of prompt tokens, a run in decode the token it chose last; all rows
go through the model as one ragged batch (continuous batching, Orca, OSDI '22; chunked prefill, arXiv:2308.16369). It
takes ids and yields records; text belongs to the tokenizer. One thread calls it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor

from model.api import Sampling
from model.candidates import candidates
from model.capture import Capture, CapturedRows
from model.hooks import Observer, hook_points, observing
from model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence
from model.ragged import Entry, make_batch
from model.records import CloseRecord, KVState, Record, RowsRecord, StepRecord, Timing
from model.sampling import choose
from model.transformer import Transformer
from model.work import Work

PREFILL_CHUNK = 128
"""Prompt tokens of one run per forward pass: long enough to keep the matrix products busy, short enough that others'
decode steps wait for at most a few times their own length."""

log = logging.getLogger(__name__)


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
        """Blocks the run may come to hold."""
        return _blocks_promised(self.prompt_length, self.max_new_tokens)


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one forward pass gave: `runs` in batch order, the `rows` each brought, `logits` [runs, V] of their last."""

    runs: list[Run]
    rows: list[int]
    logits: Tensor
    captured: list[CapturedRows]
    forward_ms: float
    capture_ms: float


class Engine:
    """`capacity`: positions the cache pool holds; `eos`: ids that end a run.

    `reserve`: positions of the pool that are kept out of admissions, so that a running run can be looked into.
    """

    def __init__(
        self,
        model: Transformer,
        *,
        capacity: int = 8192,
        reserve: int = 0,
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
        self._room = self.cache.blocks - -(-reserve // BLOCK_SIZE)
        self._kept: dict[str, tuple[list[int], Sequence]] = {}
        """Tokens and cache of ended runs, the one that ended first in front."""

    def admit(self, key: str, ids: list[int], sampling: Sampling, max_new_tokens: int, *, captured: bool = True) -> Run:
        """A new run over prompt `ids`.

        Raises ValueError for an empty prompt or a key in use, CacheFull when others hold the room.
        """
        if not ids:
            raise ValueError("a run needs at least one token")
        self._check_admission(key, len(ids), max_new_tokens)
        generator = torch.Generator().manual_seed(sampling.seed)
        run = Run(key, list(ids), len(ids), sampling, max_new_tokens, Sequence(), generator, captured)
        self.runs[key] = run
        return run

    def fork(self, key: str, ids: list[int], prompt_length: int, sampling: Sampling, max_new_tokens: int) -> Run:
        """A run that continues after `ids`, whose last token is still to be fed. It shares the blocks of whichever run
        computed the same tokens; positions nobody holds any more are computed again.

        Raises ValueError when nothing was generated yet and for a key in use, CacheFull when others hold the room.
        """
        if not 0 < prompt_length < len(ids):
            raise ValueError("a fork needs a prompt and at least one generated token")
        self._check_admission(key, prompt_length, max_new_tokens)
        step = len(ids) - prompt_length
        generator = torch.Generator().manual_seed(sampling.seed)
        # One draw per token chosen before, so that the fork draws what its parent would have drawn.
        torch.rand(step, generator=generator, dtype=torch.float64)
        with self.replay(ids[:-1], len(ids) - 1) as shared:
            sequence = self.cache.fork(shared, shared.length)
        run = Run(key, list(ids), prompt_length, sampling, max_new_tokens, sequence, generator, step=step)
        self.runs[key] = run
        return run

    def stop(self, key: str, reason: str = "stopped", error: str | None = None) -> CloseRecord:
        """End a run. Its blocks stay until room is needed, so that it can be forked. Raises KeyError.

        A failed run's are given back at once: what they hold may be unwritten or not finite.
        """
        run = self.runs.pop(key)
        if reason == "failed":
            self.cache.release(run.sequence)
        elif run.sequence.length:
            if key in self._kept:
                self._forget(key)
            self._kept[key] = (run.ids[: run.sequence.length], run.sequence)
        return CloseRecord(key, reason, error, run.step)

    @property
    def busy(self) -> bool:
        return any(run.ready for run in self.runs.values())

    def advance(self) -> list[Record]:
        """One forward pass for all runs that are not paused; the records that gave, each run's in log order.

        Whatever the pass raises ends the runs in it as failed, and no others.
        """
        ready = [run for run in self.runs.values() if run.ready]
        if not ready:
            return []
        try:
            done = self._pass(ready)
        except Exception as error:
            log.exception("a forward pass of %d runs failed", len(ready))
            return [self.stop(run.key, "failed", f"The model failed: {error}") for run in ready]
        records: list[Record] = []
        for place, run in enumerate(done.runs):
            run.chunk_ms.append(done.forward_ms)
            run.capture_ms += done.capture_ms / len(ready)
            run.work += Work.of_pass(self.model, done.rows[place], run.sequence.length)
            if run.captured:
                records.append(RowsRecord(run.key, run.step, done.captured[place]))
            if run.sequence.length == len(run.ids):
                records += self._finish_step(run, done.logits[place], len(ready))
        return records

    @contextmanager
    def replay(
        self, ids: list[int], first_query: int, observers: Mapping[str, Observer] | None = None
    ) -> Iterator[Sequence]:
        """Compute rows `first_query`… of `ids` once more in one pass, seen by `observers`.

        The sequence lives inside the context. Rows before `first_query` come from the cache where some run still holds
        them and are computed unseen otherwise. Raises CacheFull, and ValueError for a row that `ids` does not have.
        """
        if not 0 <= first_query <= len(ids):
            raise ValueError(f"there is no row {first_query} among {len(ids)}")
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

    def _check_admission(self, key: str, prompt_length: int, max_new_tokens: int) -> None:
        """Every run must be able to reach its last token, so the room for it is promised when it starts."""
        if key in self.runs:
            raise ValueError(f"run {key!r} is already active")
        promised = sum(run.blocks_promised for run in self.runs.values())
        promised += _blocks_promised(prompt_length, max_new_tokens)
        if promised > self._room:
            raise CacheFull(f"{promised} blocks would be promised to runs, of {self._room}")

    def _pass(self, ready: list[Run]) -> _Pass:
        entries = [self._entry(run) for run in ready]
        batch, order, lengths = make_batch(entries, self.device, self.model.config.window)
        capture = Capture(self.model.config) if any(run.captured for run in ready) else None
        started = time.perf_counter()
        with observing(self.points, capture.observers) if capture else nullcontext():
            logits = self.model(batch, self.cache)
        self._synchronize()
        forward_ms = _ms_since(started)
        started = time.perf_counter()
        captured = capture.rows(batch, lengths, self.cache) if capture else []
        return _Pass(
            runs=[ready[place] for place in order],
            rows=[entries[place].count for place in order],
            logits=logits,
            captured=captured,
            forward_ms=forward_ms,
            capture_ms=_ms_since(started),
        )

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
        logits: Tensor = self.model(batch, self.cache)
        return logits

    def _finish_step(self, run: Run, logits: Tensor, batch: int) -> list[Record]:
        started = time.perf_counter()
        try:
            choice = choose(logits, run.sampling, run.generator)
            shown = candidates(logits) if run.captured else None
        except Exception as error:  # NotFinite above all; the other runs of the batch go on
            return [self.stop(run.key, "failed", f"step {run.step}: {error}")]
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


def _blocks_promised(prompt_length: int, max_new_tokens: int) -> int:
    """Blocks of a whole run. The last token's K and V are not among them: it is never fed."""
    return -(-(prompt_length + max_new_tokens - 1) // BLOCK_SIZE)


def _common_prefix(a: list[int], b: list[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
