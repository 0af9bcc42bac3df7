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
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.api import Caching, Sampling
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.beam import BeamSearch, blocks_of_search
from kvscope.model.engine.candidates import candidates
from kvscope.model.engine.capture import Capture, CapturedRows
from kvscope.model.engine.cost import Work
from kvscope.model.engine.records import CloseRecord, KVState, Record, RowsRecord, StepRecord, Timing
from kvscope.model.engine.run import Recorded, Run, blocks_of_run
from kvscope.model.engine.sampling import choose, put
from kvscope.model.engine.threads import threads_for
from kvscope.model.hooks import Observer, hook_points, observing
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence
from kvscope.model.transformer import Transformer

PREFILL_CHUNK = 128
"""Prompt tokens of one run per forward pass: long enough to keep the matrix products busy, short enough that others'
decode steps wait for at most a few times their own length."""

REPLAYED = ""
"""Key, no run's, of the cache that `Engine.replay` keeps."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one forward pass gave: `runs` in batch order, the `rows` each brought, `logits` [runs, V] of their last."""

    runs: list[Run]
    rows: list[int]
    logits: Tensor
    captured: list[CapturedRows]
    forward_ms: float
    layer_ms: tuple[float, ...] | None
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
        self.searches: dict[str, BeamSearch] = {}
        self.points = hook_points(model)
        self.room = self.cache.blocks - -(-reserve // BLOCK_SIZE)
        """Blocks that may be promised to runs."""
        self._kept: dict[str, tuple[list[int], Sequence]] = {}
        """Tokens and cache of ended runs, the one that ended first in front."""

    def admit(
        self,
        key: str,
        ids: list[int],
        sampling: Sampling,
        max_new_tokens: int,
        *,
        recorded: Recorded = "rows",
        caching: Caching = "kept",
        forced: Mapping[int, int] | None = None,
    ) -> Run:
        """A new run over prompt `ids`. `forced`: the token to put in place of the chosen one, by step.

        `caching`: "kept" feeds each token once. "none" drops K and V after every step, and feeds all tokens again.
        "forgotten" drops them too and goes on as if they were there: a step feeds the newest token alone, at its
        position in the text, and that token sees nothing but itself.

        Raises ValueError for an empty prompt or a key in use, CacheFull when others hold the room.
        """
        if not ids:
            raise ValueError("a run needs at least one token")
        self._check_admission(key, blocks_of_run(len(ids), max_new_tokens))
        generator = torch.Generator().manual_seed(sampling.seed)
        run = Run(
            key, list(ids), len(ids), sampling, max_new_tokens, Sequence(), generator, recorded, caching, forced or {}
        )
        self.runs[key] = run
        return run

    def fork(self, key: str, ids: list[int], prompt_length: int, sampling: Sampling, max_new_tokens: int) -> Run:
        """A run that continues after `ids`, whose last token is still to be fed. It shares the blocks of whichever run
        computed the same tokens; positions nobody holds any more are computed again.

        Raises ValueError when nothing was generated yet and for a key in use, CacheFull when others hold the room.
        """
        if not 0 < prompt_length < len(ids):
            raise ValueError("a fork needs a prompt and at least one generated token")
        self._check_admission(key, blocks_of_run(prompt_length, max_new_tokens))
        step = len(ids) - prompt_length
        generator = torch.Generator().manual_seed(sampling.seed)
        # One draw per token chosen before, so that the fork draws what its parent would have drawn.
        torch.rand(step, generator=generator, dtype=torch.float64)
        with self.replay(ids[:-1], len(ids) - 1) as shared:
            sequence = self.cache.fork(shared, shared.length)
        run = Run(key, list(ids), prompt_length, sampling, max_new_tokens, sequence, generator, step=step)
        self.runs[key] = run
        return run

    def search(self, key: str, ids: list[int], beams: int, length: int) -> BeamSearch:
        """A beam search for the `length` tokens that follow `ids`. It shares what some run holds of them.

        Raises ValueError when there are no ids and for a key in use, CacheFull when others hold the room.
        """
        if not ids:
            raise ValueError("a search needs at least one token")
        self._check_admission(key, blocks_of_search(len(ids), beams, length))
        context = self._shared_prefix(ids, len(ids) - 1)
        search = BeamSearch(key, ids, context, beams=beams, length=length, eos=self.eos)
        self.searches[key] = search
        return search

    def active(self, key: str) -> Run | BeamSearch | None:
        """The run or search of that key, None when it is over."""
        return self.runs.get(key) or self.searches.get(key)

    @property
    def _active(self) -> list[Run | BeamSearch]:
        return [*self.runs.values(), *self.searches.values()]

    def stop(self, key: str, reason: str = "stopped", error: str | None = None) -> CloseRecord:
        """End a run. Its blocks stay until room is needed, so that it can be forked. Raises KeyError.

        A failed run's are given back at once: what they hold may be unwritten or not finite. So are those of a run
        that keeps no cache.
        """
        if key in self.searches:
            self.searches.pop(key).release(self.cache)
            return CloseRecord(key, reason, error, 0)
        run = self.runs.pop(key)
        if reason == "failed" or run.caching != "kept":
            self.cache.release(run.sequence)
        elif run.sequence.length:
            if key in self._kept:
                self._forget(key)
            self._kept[key] = (run.ids[: run.sequence.length], run.sequence)
        return CloseRecord(key, reason, error, run.step)

    @property
    def busy(self) -> bool:
        return any(each.ready for each in self._active)

    def advance(self) -> list[Record]:
        """One forward pass for all runs that are not paused, and one for each beam search; the records that gave, each
        run's in log order.

        Whatever a pass raises ends the runs in it as failed, and no others.
        """
        ready = [run for run in self.runs.values() if run.ready]
        with threads_for(sum(len(run.ids) - run.fed for run in ready)):
            records = self._advance_runs(ready) if ready else []
        for search in [search for search in self.searches.values() if search.ready]:
            records += self._advance_search(search)
        return records

    def _advance_runs(self, ready: list[Run]) -> list[Record]:
        try:
            done = self._pass(ready)
        except Exception as error:
            log.exception("a forward pass of %d runs failed", len(ready))
            return [self.stop(run.key, "failed", f"The model failed: {error}") for run in ready]
        records: list[Record] = []
        captured = sum(run.recorded == "rows" for run in ready)
        for place, run in enumerate(done.runs):
            run.chunk_ms.append(done.forward_ms)
            run.layer_ms.append(done.layer_ms)
            run.work += Work.of_pass(self.model, done.rows[place], run.sequence.length)
            if run.recorded == "rows":
                run.capture_ms += done.capture_ms / captured
                records.append(RowsRecord(run.key, run.step, done.captured[place]))
            if run.fed == len(run.ids):
                records += self._finish_step(run, done.logits[place], len(ready))
        return records

    @contextmanager
    def replay(
        self, ids: list[int], first_query: int, observers: Mapping[str, Observer] | None = None, *, keep: bool = False
    ) -> Iterator[Sequence]:
        """Compute rows `first_query`… of `ids` once more in one pass, seen by `observers`.

        The sequence lives inside the context; with `keep` it stays afterwards as an ended run's does, in place of the
        one kept so before. Rows before `first_query` come from the cache where it still holds them and are computed
        unseen otherwise. Raises CacheFull, and ValueError for a row that `ids` does not have.
        """
        if not 0 <= first_query <= len(ids):
            raise ValueError(f"there is no row {first_query} among {len(ids)}")
        sequence = self._shared_prefix(ids, first_query)
        try:
            while sequence.length < first_query:
                self._feed([(sequence, ids[sequence.length : min(first_query, sequence.length + self.prefill_chunk)])])
            if first_query < len(ids):
                with observing(self.points, observers or {}):
                    self._feed([(sequence, ids[first_query:])])
            yield sequence
            if keep:
                if REPLAYED in self._kept:
                    self._forget(REPLAYED)
                self._kept[REPLAYED] = (ids[: sequence.length], self.cache.fork(sequence, sequence.length))
        finally:
            self.cache.release(sequence)

    def _check_admission(self, key: str, blocks: int) -> None:
        """Every run must be able to reach its last token, so the room for it is promised when it starts."""
        if self.active(key) is not None:
            raise ValueError(f"run {key!r} is already active")
        promised = blocks + sum(each.blocks_promised for each in self._active)
        if promised > self.room:
            raise CacheFull(f"{promised} blocks would be promised to runs, of {self.room}")

    def _pass(self, ready: list[Run]) -> _Pass:
        entries = [self._entry(run) for run in ready]
        batch, order, lengths = make_batch(entries, self.device, self.model.config.window)
        capture = Capture(self.model.config) if any(run.recorded == "rows" for run in ready) else None
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
            # On a GPU the host runs ahead: its clock says when a layer was asked for, not when it was computed.
            layer_ms=capture.layer_ms if capture and self.device == "cpu" else None,
            capture_ms=_ms_since(started),
        )

    def _entry(self, run: Run) -> Entry:
        first, new = run.sequence.length, run.ids[run.fed : run.fed + self.prefill_chunk]
        return Entry(new, first, self._extend(run.sequence, len(new)), self.cache.slots(run.sequence), run.forgotten)

    def _extend(self, sequence: Sequence, count: int) -> Tensor:
        while True:
            try:
                return self.cache.extend(sequence, count)
            except CacheFull:
                if not self._kept:
                    raise
                self._forget(next(iter(self._kept)))

    def _feed(self, parts: list[tuple[Sequence, list[int]]]) -> Tensor:
        """Equally many ids of each sequence in one pass; logits [sequences, V] of their last rows."""
        entries = [
            Entry(ids, sequence.length, self._extend(sequence, len(ids)), self.cache.slots(sequence))
            for sequence, ids in parts
        ]
        batch, _, _ = make_batch(entries, self.device, self.model.config.window)
        logits: Tensor = self.model(batch, self.cache)
        return logits

    def _advance_search(self, search: BeamSearch) -> list[Record]:
        started = time.perf_counter()
        try:
            logits = self._feed(search.feed(self.prefill_chunk))
            self._synchronize()
            record = search.take(logits, self.cache, _ms_since(started))
        except Exception as error:
            log.exception("a beam search failed")
            return [self.stop(search.key, "failed", f"The model failed: {error}")]
        records: list[Record] = [record] if record is not None else []
        if search.over is not None:
            records.append(self.stop(search.key, search.over))
        return records

    def _finish_step(self, run: Run, logits: Tensor, batch: int) -> list[Record]:
        started = time.perf_counter()
        forced = run.forced.get(run.step)
        try:
            choice = choose(logits, run.sampling, run.generator)
            if forced is not None:
                choice = put(choice, logits, forced)
            shown = candidates(logits) if run.recorded != "end" else None
        except Exception as error:  # NotFinite above all; the other runs of the batch go on
            return [self.stop(run.key, "failed", f"step {run.step}: {error}")]
        sample_ms = _ms_since(started)
        chunks = tuple(run.chunk_ms)
        total = sum(chunks) + run.capture_ms + sample_ms
        timing = Timing(chunks, run.capture_ms, sample_ms, total, _sum_by_layer(run.layer_ms))
        records: list[Record] = []
        if shown is not None:
            records.append(
                StepRecord(
                    run.key,
                    run.step,
                    "prefill" if run.step == 0 else "decode",
                    run.fed - 1,
                    choice,
                    shown,
                    timing,
                    batch,
                    self.kv_state(run.sequence, run.work.rows),
                    run.work,
                    forced is not None,
                )
            )
        if run.caching == "forgotten":
            run.forgotten = run.fed
        if run.caching != "kept":
            self.cache.release(run.sequence)
        run.ids.append(choice.token)
        run.step += 1
        run.single_steps = max(0, run.single_steps - 1)
        run.chunk_ms, run.layer_ms, run.capture_ms, run.work = [], [], 0.0, Work()
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
        # What a run without a cache has computed is not all there, or was computed from less than the whole text.
        held = [(run.ids, run.sequence) for run in self.runs.values() if run.caching == "kept"]
        held += self._kept.values()
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


def _sum_by_layer(passes: list[tuple[float, ...] | None]) -> tuple[float, ...] | None:
    """Milliseconds of each layer over all `passes`, None when one of them was not measured."""
    measured = [each for each in passes if each is not None]
    return tuple(map(sum, zip(*measured, strict=True))) if len(measured) == len(passes) else None


def _common_prefix(a: list[int], b: list[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
