"""A loaded model that serves runs: takes text and returns frames. Implements `model.api.Service`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from kvscope.model.api import (
    BUSY,
    MAX_BEAM_LENGTH,
    MAX_BEAMS,
    BeamRequest,
    ChangedRequest,
    ChangedRun,
    ForkRequest,
    Frame,
    JoinRequest,
    Keeping,
    ReadmitRequest,
    Refused,
    RunRequest,
    TwinRequest,
    WorkloadRequest,
    called,
    same_model,
)
from kvscope.model.checkpoint import Checkpoint
from kvscope.model.cuda_graphs import GRAPHED, NOT_GRAPHED, GraphedSteps
from kvscope.model.engine.beam import blocks_of_search
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.eviction import staying
from kvscope.model.engine.records import CloseRecord, Record, StepRecord, TokenRecord
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.linear import COMPUTED, linears, plain_product
from kvscope.model.log import frames, schema, size
from kvscope.model.log.derived import MOST_RECOMPUTED, changed_opening, fork_opening, forked, study_opening, twin_study
from kvscope.model.log.recorder import Recorder, Shape
from kvscope.model.measure import measure
from kvscope.model.native import Native
from kvscope.model.service.info import describe
from kvscope.model.service.limits import alone, among, fits_the_log, not_too_long, refusing_when_full, within
from kvscope.model.service.longest import longest_run
from kvscope.model.service.questions import Questions
from kvscope.model.serving.admission import joining, served, study_of, tokenized
from kvscope.model.serving.workload import Reported, Workload
from kvscope.model.settings import Sampling, ServingSettings
from kvscope.model.transformer import Transformer

IDLE_S = 0.005
"""The longest sleep, in seconds, while a workload waits for its next request and no run is computed."""
CAPACITY_POSITIONS = 8192
CAPACITY_BYTES = 2 << 30
"""The cache pool has `CAPACITY_POSITIONS`, or fewer if they would take more bytes than this."""


class ModelService(Questions):
    """One model, one engine and the recorders of its active runs; also answers `Questions`."""

    def __init__(
        self, checkpoint: Checkpoint, device: str, native: Native | None = None, compiled: str = "", max_tokens: int = 0
    ):
        """`max_tokens`: the most tokens of a run, prompt and answer together; 0: as `longest_run` says."""
        config = checkpoint.config
        products = native.products if native else plain_product
        transformer = Transformer.from_weights(config, checkpoint.weights, device, products)
        position_bytes = 2 * config.layers * config.kv_heads * config.head_dim * COMPUTED.itemsize
        capacity = min(CAPACITY_POSITIONS, CAPACITY_BYTES // position_bytes)
        longest = longest_run(config, capacity, max_tokens)
        # The same number of positions stays reserved, so that any rows of a run can be computed again.
        engine = Engine(transformer, capacity=capacity, reserve=longest, eos=checkpoint.tokenizer.eos, device=device)
        super().__init__(engine, checkpoint.tokenizer, describe(checkpoint, transformer, device), longest)
        self._native = native
        if native:
            engine.runner.steps = native.steps(transformer, engine.cache)
        self.compiled = compiled
        """One line: what was compiled to make steps faster, or why nothing was."""
        self._say: Callable[[str], None] = lambda line: None
        self._recorders: dict[str, Recorder] = {}
        self._workloads: dict[str, Workload] = {}
        self._systems: dict[str, str] = {}
        """The system prompt of each workload."""
        self._owners: dict[str, str] = {}
        """The client of each run in the cache."""
        self._waiting: list[Frame] = []

    def warm_up(self) -> None:
        """Computes one pass, so that the first run's times do not include a cold start."""
        ids = list(range(min(8, self.info["vocab"], self.info["context"])))
        with self.engine.replay(ids, len(ids) - 1):
            pass

    def use_graphs(self) -> None:
        """Computes decode steps as CUDA graphs, for as long as they can be recorded."""
        runner = self.engine.runner
        runner.steps = GraphedSteps(runner.transformer, runner.cache, lambda why: self._set(f"{NOT_GRAPHED}: {why}"))
        self._set(GRAPHED)

    def report_compiled(self, say: Callable[[str], None]) -> None:
        """Calls `say` with the line about what was compiled, now and after each change."""
        self._say = say
        say(self.compiled)

    def _set(self, compiled: str) -> None:
        self.compiled = compiled
        self._say(compiled)

    def most_bytes(
        self, request: RunRequest | ForkRequest | TwinRequest | ChangedRequest | BeamRequest | WorkloadRequest
    ) -> int:
        """Returns the most bytes that the log of this request can have. Raises Refused for an invalid request."""
        shape, chunk = Shape.of(self.info), self.engine.scheduler.prefill_chunk
        match request:
            case RunRequest():
                not_too_long(request.prompt)
                prompt = min(len(self.encode(request.prompt, request.chat)), self.most_tokens)
                last = min(prompt + request.max_new_tokens, self.max_positions)
                return size.of_opening(prompt) + size.of_steps(shape, 0, prompt, last, chunk)
            case ForkRequest():
                opened = frames.header(request.frames[0]).data
                prompt = len(opened["tokens"])
                last = min(prompt + opened["limits"]["max_new_tokens"], self.max_positions)
                copied = sum(len(payload) for payload in request.frames) + len(request.frames) * size.TOKEN_BYTES
                return size.of_opening(0) + copied + size.of_steps(shape, request.position, prompt, last, chunk)
            case ChangedRequest():
                opened = frames.header(request.frames[0]).data
                prompt = len(opened["tokens"])
                last = min(prompt + opened["limits"]["max_new_tokens"], self.max_positions)
                return size.of_opening(prompt) + size.of_steps(shape, 0, prompt, last, chunk)
            case TwinRequest():
                opened = frames.header(request.frames[0]).data
                step = size.of_step(shape, self.max_positions)
                if request.keeping:
                    step += size.of_kept(self.info, request.keeping.policy, self.max_positions)
                return size.of_opening(len(opened["tokens"])) + (len(request.frames) - 1) * step
            case BeamRequest():
                return size.of_opening(len(request.ids)) + size.of_beams(request.beams, request.length)
            case WorkloadRequest():
                asked = tokenized(request.workload, self.tokenizer, self.max_positions, self.engine.transformer.config)
                prompts, new = [len(each.ids) for each in asked], [each.max_new_tokens for each in asked]
                rounds, blocks = request.workload.rounds, self.engine.cache.blocks
                return size.of_opening(sum(prompts)) + size.of_workload(prompts, new, rounds, blocks)

    def start(self, request: RunRequest) -> list[Frame]:
        """Tokenizes and admits a run; returns its `open` frame. Raises Refused."""
        not_too_long(request.prompt)
        ids = self.encode(request.prompt, request.chat)
        most = self.most_tokens
        if len(ids) > most:
            message = f"The prompt has {len(ids):,} tokens; the limit is {most:,}."
            raise Refused("prompt", message, limit=most, status=413)
        if not ids:
            raise Refused("prompt", "The prompt is empty; it must have at least one token.")
        new, room = request.max_new_tokens, self.max_positions - len(ids)
        within("max_new_tokens", new, 1, room, f"after a prompt of {len(ids):,} tokens ")
        own = self._runs_of(request.owner)
        holders = own if request.reuse else []
        _, reused = self.engine.scheduler.holder_of(ids, len(ids) - 1, holders)
        recorder = Recorder(request.run, self.info, self.tokenizer, request.sampling.temperature)
        prefix = self._prefix_of(request, ids, reused, own)
        opening = recorder.open(request, ids, self.max_positions, reused=reused, prefix=prefix)
        fits_the_log(opening, "prompt", "The prompt and its tokens need")
        with refusing_when_full():
            self.engine.admit(request.run, ids, request.sampling, new, among=holders)
        self._recorders[request.run], self._owners[request.run] = recorder, request.owner
        return [opening]

    def _prefix_of(self, request: RunRequest, ids: list[int], reused: int, own: list[str]) -> schema.Prefix:
        """Returns how much of a run's prompt the cache has, and why no more is read. It considers only runs of the same
        client: a client must not learn how much of another client's prompt is equal.
        """
        common, why = self.engine.scheduler.unread(ids, reused, own)
        if not request.owner:
            why = "no_client"
        elif not request.reuse:
            why = "off"
        return schema.Prefix(common=common, reason=why)

    def _runs_of(self, owner: str) -> list[str]:
        """Returns the owner's runs whose rows are cached or were recently evicted; none if `owner` is empty."""
        scheduler = self.engine.scheduler
        known = scheduler.runs.keys() | scheduler.kept.keys() | scheduler.forgotten.keys()
        self._owners = {run: client for run, client in self._owners.items() if run in known}
        return [run for run, client in self._owners.items() if client == owner != ""]

    def fork(self, request: ForkRequest) -> list[Frame]:
        """Admits a fork; returns its log so far: the parent's frames under the new id, with the forced token.

        Raises Refused.
        """
        opened = frames.header(request.frames[0]).data
        prompt = len(opened["tokens"])
        ids = frames.token_ids(request.frames)
        if not prompt <= request.position == len(ids) - 1:
            last = len(ids) - 1
            message = f"position is {request.position}; generated tokens have positions {prompt} to {last}."
            raise Refused("position", message, limit=last)
        among("token", request.token, self.info["vocab"])
        self._same_model(opened)
        sampling = Sampling(**opened["sampling"])
        new_tokens = opened["limits"]["max_new_tokens"]
        if len(ids) - prompt >= new_tokens or request.token in self.engine.eos:
            raise Refused("position", "No token can follow that token, so the branch would end at once.")
        held, token = self.engine.holds(request.parent), self.tokenizer.token(request.token)
        fork_opening(request, MOST_RECOMPUTED)  # raises Refused if it does not fit, before anything is computed
        ids[-1] = request.token
        with refusing_when_full():
            changes = self._changes(opened)
            run = self.engine.fork(request.run, ids, prompt, sampling, new_tokens, changes)
        spent = {"rows": run.recomputed_rows, "ms": round(run.recomputed_ms, 3), "held": held}
        log = forked(request, token, spent)
        self._recorders[request.run] = Recorder(request.run, self.info, self.tokenizer, sampling.temperature, len(log))
        return log

    def twin(self, request: TwinRequest) -> list[Frame]:
        """Admits a twin; returns its `open` frame. Raises Refused."""
        opened, *steps = (frames.header(payload).data for payload in request.frames)
        self._same_model(opened)
        sampling = Sampling(**opened["sampling"])
        ids, keeping = [token["id"] for token in opened["tokens"]], request.keeping
        if keeping:
            self._can_keep(keeping, len(ids) + len(steps) - 1)
        compared = keeping is not None and keeping.given
        opening = study_opening(request.frames[0], request.run, twin_study(request), len(steps))
        forced = {step["step"]: step["token"]["id"] for step in steps if compared or step["token"].get("forced")}
        with refusing_when_full():
            self.engine.admit(
                request.run,
                ids,
                sampling,
                len(steps),
                recorded="steps",
                caching=request.caching,
                forced=forced,
                keeping=staying(keeping.policy, keeping.budget) if keeping else None,
                apart=keeping is not None,
                compared=compared,
                changes=self._changes(opened),
            )
        return self._begun(opening, sampling)

    def changed(self, request: ChangedRequest) -> list[Frame]:
        """Admits a changed run; returns its `open` frame. Raises Refused."""
        opened, *forced = (frames.header(payload).data for payload in request.frames)
        self._same_model(opened)
        ids, sampling = [token["id"] for token in opened["tokens"]], Sampling(**opened["sampling"])
        opening = changed_opening(request)
        with refusing_when_full():
            self.engine.admit(
                request.run,
                ids,
                sampling,
                opened["limits"]["max_new_tokens"],
                forced={step["step"]: step["token"]["id"] for step in forced},
                changes=self._changes(frames.header(opening.payload).data),
                reused=0,
            )
        return self._begun(opening, sampling)

    def _can_keep(self, keeping: Keeping, positions: int) -> None:
        """Raises Refused if a twin cannot drop rows of a run with `positions` positions as `keeping` says."""
        within("budget", keeping.budget, 1, positions, "in this run ")
        window = self.engine.transformer.config.window
        if window is not None and positions > window:
            message = f"Layers of this model read only the newest {window:,} positions; the run has {positions:,}."
            raise Refused("cache", message, limit=window)
        step = size.of_step(Shape.of(self.info), positions) + size.of_kept(self.info, keeping.policy, positions)
        if step > frames.MAX_FRAME_BYTES:
            message = f"The positions that each KV head keeps need {step:,} bytes in a frame of the log; "
            message += f"the limit is {frames.MAX_FRAME_BYTES:,}. Choose window or sinks, or a shorter run."
            raise Refused("cache", message, limit=frames.MAX_FRAME_BYTES)

    def beam(self, request: BeamRequest) -> list[Frame]:
        """Admits a beam search; returns its `open` frame. Raises Refused."""
        opened = frames.header(request.opening).data
        self._same_model(opened)
        beams, length, context = request.beams, request.length, len(request.ids)
        longest = min(MAX_BEAM_LENGTH, self.max_positions - context)
        within("length", length, 1, longest, f"after {context:,} tokens ")
        room = self.engine.scheduler.room
        most = next(n for n in range(MAX_BEAMS, 0, -1) if blocks_of_search(context, n, length) <= room)
        within("beams", beams, 1, most, f"for {length} tokens after {context:,} ")
        study = {"kind": "beam", "of": request.of, "step": request.step, "beams": beams, "length": length}
        opening = study_opening(request.opening, request.run, study, length)
        with refusing_when_full():
            self.engine.search(request.run, request.ids, beams, length, self._changes(opened))
        return self._begun(opening, Sampling(**opened["sampling"]))

    def workload(self, request: WorkloadRequest) -> list[Frame]:
        """Admits a workload; returns its `open` frame. Raises Refused."""
        workload = request.workload
        asked = tokenized(workload, self.tokenizer, self.max_positions, self.engine.transformer.config)
        first = RunRequest(request.run, asked[0].text, self.tokenizer.has_chat, asked[0].max_new_tokens)
        recorder = Recorder(request.run, self.info, self.tokenizer, first.sampling.temperature)
        opening = recorder.open(first, asked[0].ids, self.max_positions, study_of(workload, asked))
        fits_the_log(opening, "requests", "The requests need")
        self._has_memory_for(workload.rounds)
        with refusing_when_full():
            admitted = Workload(request.run, self.engine, asked, workload.rounds, recorder.token, self._another_engine)
        self._workloads[request.run], self._recorders[request.run] = admitted, recorder
        self._systems[request.run] = workload.system
        return [opening]

    def _has_memory_for(self, rounds: Sequence[ServingSettings]) -> None:
        """Raises Refused if the caches of the rounds' own engines need more memory than a cache may have here, or while
        another workload has engines of its own.
        """
        own = [settings.engines.count * settings.blocks for settings in rounds if settings.engines]
        if own and any(each.has_engines for each in self._workloads.values()):
            message = "Another workload on several engines is running. Try again when it has ended."
            raise Refused("rounds", message, status=409)
        most = CAPACITY_BYTES // (self.engine.cache.position_bytes * BLOCK_SIZE)
        if max(own, default=0) > most:
            message = f"The engines of a round need {max(own):,} blocks together; there is memory for {most:,}."
            raise Refused("rounds", message, limit=most)

    def _another_engine(self, blocks: int) -> Engine:
        """Returns an engine over the same weights, with a cache of so many blocks."""
        transformer = self.engine.transformer
        engine = Engine(
            transformer, capacity=blocks * BLOCK_SIZE, eos=self.engine.eos, device=self.engine.runner.device
        )
        if self._native:
            engine.runner.steps = self._native.steps(transformer, engine.cache)
        return engine

    def join(self, request: JoinRequest) -> int:
        """Adds a request to a workload now; returns its number there. Raises Refused."""
        workload = self._workload(request.run)
        system = self._systems[request.run]
        ask, tokens = joining(request.ask, system, workload.now_ms, self.tokenizer, self.max_positions)
        number = workload.join(tokens, ask.retry_of)
        self._waiting += self._frames(request.run, [schema.Asked(number=number, request=served(ask, tokens))])
        return number

    def leave(self, run: str, request: int) -> None:
        """Cancels a request of a workload now. Raises Refused."""
        self._workload(run).leave(request)

    def _workload(self, run: str) -> Workload:
        if run not in self._workloads:
            message = "The workload has ended, or this is a run, not a workload."
            raise Refused("run", message, status=409)
        return self._workloads[run]

    def control(self, run: str, action: str) -> str:
        """Applies `pause`, `resume`, `step` or `stop`; returns the run's new status: running, paused or closed.

        Raises Refused.
        """
        if run in self._workloads:
            if action != "stop":
                raise Refused("action", f"action is {action!r}; a workload can only be stopped.", status=409)
            self._waiting += self._frames(run, [self._workloads[run].stop()])
            return "closed"
        state = self.engine.active(run)
        if state is None:
            raise Refused("run", "The run has ended. It can no longer be controlled.", status=409)
        if action == "stop":
            record = self.engine.stop(run)
            self._waiting += self._recorders.pop(run).record(record)
            return "closed"
        if action not in ("pause", "resume", "step"):
            raise Refused("action", f"action is {action!r}; it must be pause, resume, step or stop.")
        state.paused = action != "resume"
        state.single_steps = state.single_steps + 1 if action == "step" else 0
        return "paused" if state.paused else "running"

    def evict_run(self, run: str) -> None:
        """Evicts a paused run between two steps; its blocks stay cached until others need them. Raises Refused."""
        if not self.engine.evict_run(run):
            raise Refused("run", "The run has ended, is running, or is in the middle of a step.", status=409)
        del self._recorders[run]

    def readmit(self, request: ReadmitRequest) -> None:
        """Admits an evicted run, paused. Raises Refused."""
        opened = frames.header(request.frames[0]).data
        self._same_model(opened)
        sampling, new_tokens = Sampling(**opened["sampling"]), opened["limits"]["max_new_tokens"]
        ids, prompt = frames.token_ids(request.frames), len(opened["tokens"])
        with refusing_when_full():
            changes = self._changes(opened)
            if len(ids) == prompt:
                reused = opened["reused"]
                run = self.engine.admit(request.run, ids, sampling, new_tokens, reused=reused, changes=changes)
            else:
                run = self.engine.fork(request.run, ids, prompt, sampling, new_tokens, changes)
        run.paused = True
        self._recorders[request.run] = Recorder(
            request.run, self.info, self.tokenizer, sampling.temperature, request.seq
        )

    @property
    def room(self) -> int:
        """Blocks of the KV cache that are not reserved for open runs."""
        return self.engine.scheduler.unpromised

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._workloads) or self.engine.busy

    def advance(self) -> list[Frame]:
        """Advances all active runs by one forward pass; returns their new frames, each run's in log order."""
        new_frames, self._waiting = self._waiting, []
        for run, workload in list(self._workloads.items()):
            new_frames += self._frames(run, workload.prepare())
        if self._workloads and not self.engine.busy:
            time.sleep(min(IDLE_S, *(workload.until_next_s for workload in self._workloads.values())))
        for record in self.engine.advance():
            new_frames += self._record(record)
        for run, workload in list(self._workloads.items()):
            new_frames += self._frames(run, workload.record_passes(self.engine.passes))
        return new_frames

    def _record(self, record: Record) -> list[Frame]:
        """Returns the frames of a record of a run; none for a workload's request, which the workload reports."""
        workload = next((each for each in self._workloads.values() if each.owns(record.run)), None)
        if workload is not None:
            assert isinstance(record, TokenRecord | CloseRecord)
            workload.take(record)
            return []
        assert not isinstance(record, TokenRecord)
        if isinstance(record, StepRecord):
            self.pace.take(record)
        new_frames = self._recorders[record.run].record(record)
        if isinstance(record, CloseRecord):
            del self._recorders[record.run]
        return new_frames

    def _frames(self, run: str, reported: list[Reported]) -> list[Frame]:
        """Returns the frames of a workload's reports, and removes the workload after its last."""
        new_frames = [self._recorders[run].frame(schema.KINDS[type(each)], each) for each in reported]
        if self._workloads[run].over:
            del self._workloads[run], self._recorders[run], self._systems[run]
        return new_frames

    def measure(self) -> dict[str, Any]:
        """Measures the machine's memory bandwidth and peak. Raises Refused while a run is computed: both would slow."""
        transformer = self.engine.transformer
        with alone(self.busy, BUSY):
            return measure(self.engine.runner.device, transformer.weight_dtype, linears(transformer))

    def _changes(self, opened: dict[str, Any]) -> Changes | None:
        """Returns the changes of a run with this `open` frame, None for a run without changes. Raises Refused."""
        return self.changing.of(ChangedRun.of(opened))

    def _begun(self, opening: Frame, sampling: Sampling) -> list[Frame]:
        """Creates the recorder of an admitted study and returns its log so far."""
        self._recorders[opening.run] = Recorder(opening.run, self.info, self.tokenizer, sampling.temperature, seq=1)
        return [opening]

    def _same_model(self, opened: dict[str, Any]) -> None:
        if not same_model(opened["model"], self.info):
            message = f"The run was computed by {called(opened['model'])}; this server has loaded {called(self.info)}."
            raise Refused("model", message, status=409)
