"""The engine advances all active runs by one forward pass together.

A run in prefill contributes its next chunk of prompt tokens, a run in decode the token it chose last. All rows form one
ragged batch (continuous batching, Orca, OSDI '22; chunked prefill, arXiv:2308.16369). The engine takes token ids and
returns records. Only one thread may call it.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from kvscope.model.api import Caching
from kvscope.model.engine.beam import BeamSearch, blocks_of_search
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.conditions import Watch
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.eviction import evict, look, most_shared
from kvscope.model.engine.guesser import Guesser
from kvscope.model.engine.records import CloseRecord, PassEntry, PassRecord, Record, RowsRecord
from kvscope.model.engine.run import Recorded, Run, Spent, blocks_of_run
from kvscope.model.engine.runner import Pass, Runner
from kvscope.model.engine.scheduler import PREFILL_CHUNK, Scheduler
from kvscope.model.engine.step import finish_step
from kvscope.model.hooks import Observer
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence
from kvscope.model.settings import Drafting, Kept, Sampling
from kvscope.model.transformer import Transformer
from kvscope.model.windowed_cache import WindowedCache

REPLAYED = ""
"""Key of the rows that `Engine.replay` keeps in the cache; no run has it."""

log = logging.getLogger(__name__)


class Engine:
    """`capacity`: positions in the cache pool; `eos`: ids that end a run. `cache`: a cache to use instead of a new one,
    with at least that capacity. `reserve`: positions that no run may take, so that a run's rows can be computed again.
    """

    def __init__(
        self,
        transformer: Transformer,
        *,
        capacity: int = 8192,
        reserve: int = 0,
        eos: Iterable[int] = (),
        device: str = "cpu",
        prefill_chunk: int = PREFILL_CHUNK,
        cache: KVCache | None = None,
    ):
        self.transformer = transformer
        self.eos = frozenset(eos)
        kind = KVCache if transformer.config.window is None else WindowedCache
        self.cache = cache or kind(transformer.config, -(-capacity // BLOCK_SIZE), device)
        self.scheduler = Scheduler(self.cache, reserve, prefill_chunk)
        self.runner = Runner(transformer, self.cache, device)
        self.guesser = Guesser(self.runner, self.scheduler)
        self.passes: list[PassRecord] = []
        """The passes of the last `advance`: one for runs without changes and one for runs with changes. If such a pass
        failed, one for each of its runs."""
        self.changes: Changes | None = None
        """The changes that `replay` applies."""

    def under(self, changes: Changes | None) -> Engine:
        """Returns this engine with `changes` applied in `replay`."""
        other = copy.copy(self)
        other.changes = changes
        return other

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
        draft: Drafting | None = None,
        keeping: Kept | None = None,
        apart: bool = False,
        compared: bool = False,
        owner: str = "",
        among: Collection[str] = (),
        reused: int | None = None,
        reserved: Sequence | None = None,
        changes: Changes | None = None,
    ) -> Run:
        """Admits a new run over prompt `ids`. `forced`: the token that replaces the chosen one, by step.

        `draft`: how tokens are guessed, for one pass to check; only if neither rows nor steps are recorded. `keeping`:
        which rows stay in the cache after a step, None for all; `apart`: each layer and KV head chooses its rows
        separately. `compared`: all tokens are `forced`, and each step records the divergence of its distribution from
        the one with all rows. `owner`: the workload that reserved its blocks. `among`: runs whose blocks it may share
        for an equal prefix; its last token is always computed. `reused`: how many rows it shares or else computes
        first, as an evicted run did when it first began. `reserved`: a sequence with the first of its rows, or none, in
        blocks of `owner`. `changes`: replacements of values in its passes.

        `caching`: "kept" feeds each token once. "none" drops K and V after each step and feeds all tokens again.
        "forgotten" also drops them, but a step feeds only the newest token, at its position in the text, and that token
        attends only to itself.

        Raises ValueError for an empty prompt or a key in use, CacheFull if too few blocks are unreserved.
        """
        if not ids:
            raise ValueError("a run needs at least one token")
        self.scheduler.check(key, 0 if owner else blocks_of_run(len(ids), max_new_tokens))
        if reserved is not None:
            sequence = reserved
        elif reused is None:
            sequence = self.scheduler.shared_prefix(ids, most_shared(ids, len(ids), keeping), among, changes)
        else:
            sequence, *_ = self._computed(ids[:reused], changes)
        run = Run(
            key,
            list(ids),
            len(ids),
            sampling,
            max_new_tokens,
            sequence,
            eos=self.eos,
            recorded=recorded,
            caching=caching,
            forced=forced or {},
            draft=draft,
            keeping=keeping,
            apart=apart,
            compared=compared,
            changes=changes,
            owner=owner,
            reused=sequence.length,
        )
        self.scheduler.runs[key] = run
        return run

    def preempt(self, key: str) -> int:
        """Releases a run's blocks until `resume`; returns how many rows they had. Raises KeyError."""
        run = self.scheduler.runs[key]
        rows = run.sequence.length
        self.cache.release(run.sequence)
        run.spent, run.paused, run.single_steps = Spent(), True, 0
        run.forgotten, run.looked_at, run.stayed = 0, None, None
        return rows

    def resume(self, key: str, among: Collection[str] = (), reserved: Sequence | None = None) -> None:
        """Resumes a preempted run. It shares cached rows of the runs `among`, or has those of `reserved`; its other
        rows are computed again. Raises KeyError.
        """
        run = self.scheduler.runs[key]
        most = most_shared(run.ids, run.prompt_length, run.keeping)
        run.sequence = reserved or self.scheduler.shared_prefix(run.ids, most, among, run.changes)
        run.paused = False

    def fork(
        self,
        key: str,
        ids: list[int],
        prompt_length: int,
        sampling: Sampling,
        max_new_tokens: int,
        changes: Changes | None = None,
    ) -> Run:
        """Admits a run that continues after `ids`, whose last token is still to be fed. It shares cached rows of any
        run with the same tokens and changes; rows no longer cached are computed again.

        Raises ValueError if nothing was generated yet or the key is in use, CacheFull if too few blocks are unreserved.
        """
        if not 0 < prompt_length < len(ids):
            raise ValueError("a fork needs a prompt and at least one generated token")
        self.scheduler.check(key, blocks_of_run(prompt_length, max_new_tokens))
        step = len(ids) - prompt_length
        sequence, recomputed, ms = self._computed(ids[:-1], changes)
        run = Run(key, list(ids), prompt_length, sampling, max_new_tokens, sequence, eos=self.eos, step=step)
        run.changes = changes
        run.recomputed_rows = recomputed
        run.recomputed_ms = ms
        self.scheduler.runs[key] = run
        return run

    def holds(self, key: str) -> bool:
        """Returns whether the cache has blocks of a run: it is active, or it ended and its blocks are not reused."""
        return key in self.scheduler.runs or key in self.scheduler.kept

    def search(self, key: str, ids: list[int], beams: int, length: int, changes: Changes | None = None) -> BeamSearch:
        """Admits a beam search for the `length` tokens after `ids`. It shares cached rows of any run.

        Raises ValueError without ids or for a key in use, CacheFull if too few blocks are unreserved.
        """
        if not ids:
            raise ValueError("a search needs at least one token")
        self.scheduler.check(key, blocks_of_search(len(ids), beams, length))
        context = self.scheduler.shared_prefix(ids, len(ids) - 1, changes=changes)
        search = BeamSearch(key, ids, context, beams=beams, length=length, eos=self.eos, changes=changes)
        self.scheduler.searches[key] = search
        return search

    def active(self, key: str) -> Run | BeamSearch | None:
        """Returns the run or search with this key, None if it has ended."""
        return self.scheduler.active(key)

    def evict_run(self, key: str) -> bool:
        """Evicts a run if it is paused between two steps, and returns whether it is. Its blocks stay cached."""
        run = self.scheduler.runs.get(key)
        if run is None or run.ready or run.recorded != "rows" or run.caching != "kept":
            return False
        self.scheduler.end(key)
        return True

    def stop(self, key: str, reason: str = "stopped", error: str | None = None) -> CloseRecord:
        """Ends a run or search. A run's blocks stay until others need them, so it can be forked. Raises KeyError."""
        ended = self.scheduler.end(key, failed=reason == "failed")
        return CloseRecord(key, reason, error, ended.step if isinstance(ended, Run) else 0)

    @property
    def busy(self) -> bool:
        return self.scheduler.busy

    def advance(self) -> list[Record]:
        """Computes a pass for all ready runs and one per beam search. Returns their records, each run's in log order.

        Runs whose changes the native code or a graph cannot apply have a separate pass, so that it does not slow the
        others. If a pass of several runs raises, each run is computed alone, so that only the faulty run fails.
        """
        self.passes = []
        records: list[Record] = []
        ready = self.scheduler.ready_runs()
        apart = {run for run in ready if not self.runner.can_apply(run.changes)}
        for runs in ([run for run in ready if run not in apart], [run for run in ready if run in apart]):
            records += self._advance_runs(runs) if runs else []
        for search in self.scheduler.ready_searches():
            records += self._advance_search(search)
        return records

    @contextmanager
    def replay(
        self,
        ids: list[int],
        first_query: int,
        observers: Mapping[str, Observer] | None = None,
        *,
        keep: bool = False,
        alike: bool = False,
    ) -> Iterator[Sequence]:
        """Computes the rows of `ids` from `first_query` on again in one pass, with `observers` attached.

        The sequence is released after the context. With `keep`, a fork of it stays in the cache as an ended run's does
        and replaces the last one. `alike`: see `Runner.run`. Earlier rows come from the cache, or are computed without
        observers if it no longer has them. Raises CacheFull, and ValueError for a row that `ids` does not have.
        """
        if not 0 <= first_query <= len(ids):
            raise ValueError(f"there is no row {first_query} among {len(ids)}")
        sequence, *_ = self._computed(ids[:first_query], self.changes)
        try:
            if first_query < len(ids):
                entry = self.scheduler.entry(sequence, ids[first_query:], changes=self.changes)
                self.runner.run([entry], observers, alike=alike)
            yield sequence
            if keep:
                copied = self.cache.fork(sequence, sequence.length)
                self.scheduler.keep(REPLAYED, ids[: sequence.length], copied, self.changes)
        finally:
            self.cache.release(sequence)

    def _computed(self, ids: list[int], changes: Changes | None) -> tuple[Sequence, int, float]:
        """Returns a sequence over all of `ids`, how many of its rows were not cached, and the milliseconds that their
        passes took. Raises CacheFull.
        """
        sequence = self.scheduler.shared_prefix(ids, len(ids), changes=changes)
        missing, ms = len(ids) - sequence.length, 0.0
        try:
            for entry in self.scheduler.chunks_of(ids, sequence, changes):
                ms += self.runner.run([entry]).forward_ms
        except BaseException:
            self.cache.release(sequence)
            raise
        return sequence, missing, ms

    def _advance_runs(self, ready: list[Run]) -> list[Record]:
        started, watch = time.perf_counter(), Watch()
        lengths = [run.sequence.length for run in ready]
        try:
            drafted = self.guesser.guess(ready)
            entries = [self.scheduler.entry_of(run) for run in ready]
            done = self.runner.run(
                entries,
                capture=any(run.recorded == "rows" for run in ready),
                attention=any(run.keeping and run.keeping.heavy for run in ready),
            )
        except Exception as error:
            log.exception("a forward pass of %d runs failed", len(ready))
            if len(ready) == 1:
                return [self.stop(ready[0].key, "failed", f"The model failed: {error}")]
            for run, length in zip(ready, lengths, strict=True):
                self.cache.truncate(run.sequence, length)
            return [record for run in ready for record in self._advance_runs([run])]
        records: list[Record] = []
        shares = sum(run.recorded == "rows" for run in ready)
        conditions = watch.conditions(len(ready) - 1)
        for place, index in enumerate(done.order):
            run, spent = ready[index], ready[index].spent
            spent.chunk_ms.append(done.forward_ms)
            spent.conditions.append(conditions)
            spent.layer_ms.append(done.layer_ms)
            spent.by = done.by
            rows, keys = entries[index].count, run.sequence.length
            spent.cost += Cost.of_pass(self.transformer, rows, keys, done.weights)
            if run.recorded == "rows":
                spent.capture_ms += done.capture_ms / shares
                records.append(RowsRecord(run.key, run.step, done.captured[place]))
            if run.keeping and run.keeping.heavy:
                look(run, done.looked_at[place])
            if run.fed == len(run.ids) + len(run.guessed):
                records += self._finish_steps(run, done, place)
            elif run.fed >= run.prompt_length:  # it was preempted: it drops again what it had dropped
                evict(run, self.cache)
        members = zip(ready, entries, strict=True)
        self.passes.append(
            PassRecord(
                started,
                (time.perf_counter() - started) * 1000,
                done.weights,
                tuple(
                    PassEntry(run.key, entry.positions.start, entry.count, entry.outputs - 1) for run, entry in members
                ),
                replace(conditions, others=0),
                drafted,
            )
        )
        return records

    def _finish_steps(self, run: Run, done: Pass, place: int) -> list[Record]:
        """Finishes the step of a run whose tokens have all been fed, and one more step per correct guess."""
        records: list[Record] = []
        guessed, run.guessed = run.guessed, []
        for distribution, guess in zip(done.distributions_of(place), [*guessed, None], strict=True):
            try:
                whole = self._with_all_rows(run, distribution.logits) if run.compared else None
                record = finish_step(run, distribution, self.cache, len(done.order), whole)
            except Exception as error:  # mostly NotFinite; the other runs of the batch continue
                return [*records, self.stop(run.key, "failed", f"step {run.step}: {error}")]
            records += [] if record is None else [record]
            if run.over is not None or run.ids[-1] != guess:
                break
        if guessed:  # drop the rows of wrong guesses
            self.cache.truncate(run.sequence, len(run.ids) - 1 - run.forgotten)
        if run.over is not None:
            records.append(self.stop(run.key, run.over))
        else:
            evict(run, self.cache)
        return records

    def _with_all_rows(self, run: Run, logits: Tensor) -> Tensor:
        """Returns the logits [V] of the run's newest row as if no row had been dropped. `logits`: its actual ones."""
        if not run.forgotten:
            return logits
        outputs: list[Tensor] = []
        last = f"blocks.{self.transformer.config.layers - 1}.resid_out"
        again = self.under(run.changes).replay(run.ids[: run.fed], run.fed - 1, {last: outputs.append}, keep=True)
        with again, torch.inference_mode():
            return self.transformer.decode_rows(outputs[0])[-1]

    def _advance_search(self, search: BeamSearch) -> list[Record]:
        watch = Watch()
        try:
            done = self.runner.run(self.scheduler.entries_of(search))
            record = search.take(done.logits, self.cache, done.forward_ms, watch.conditions())
        except Exception as error:
            log.exception("a beam search failed")
            return [self.stop(search.key, "failed", f"The model failed: {error}")]
        records: list[Record] = [] if record is None else [record]
        if search.over is not None:
            records.append(self.stop(search.key, search.over))
        return records
