"""A loaded model serving runs: text in, frames out. Implements `model.api.Service`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Thread
from typing import Any

import torch

from kvscope.model.activations.answers import algebra_values, block_values, head_values
from kvscope.model.activations.embedding import neighbourhood
from kvscope.model.activations.lens import LensRow, lens_rows, standings
from kvscope.model.activations.losses import prompt_losses
from kvscope.model.activations.shards import layer_shards
from kvscope.model.activations.smaller import compared
from kvscope.model.activations.step_values import step_values
from kvscope.model.activations.twice import layer_twice
from kvscope.model.activations.weights import weight_picture, weight_row
from kvscope.model.activations.what_if import appended, everything, turned
from kvscope.model.api import (
    BUSY,
    MAX_BEAM_LENGTH,
    MAX_BEAMS,
    MAX_COMPARED,
    MAX_NEW_TOKENS,
    MAX_PROMPT_CHARS,
    MAX_PROMPT_TOKENS,
    BeamRequest,
    CacheDtype,
    ForkRequest,
    Frame,
    JoinRequest,
    Progress,
    Refused,
    RunRequest,
    Sampling,
    TakeUpRequest,
    TwinRequest,
    ValuesRequest,
    WeightDtype,
    WorkloadRequest,
    called,
    same_model,
)
from kvscope.model.by_hand.derivation import derive
from kvscope.model.by_hand.examples import Example
from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.checkpoint.fetch import cache_folder
from kvscope.model.compiled.graph import GRAPHED, NOT_GRAPHED, GraphedSteps
from kvscope.model.compiled.job import COMPILED, NOT_COMPILED, CompileFailed, compiled_steps
from kvscope.model.engine.beam import blocks_of_search
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, Record, TokenRecord
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull
from kvscope.model.linear import COMPUTED
from kvscope.model.log import frames, schema
from kvscope.model.log.derived import LARGEST_OPENING, forked, study_opening
from kvscope.model.log.recorder import Recorder, values_frames
from kvscope.model.measure import measure, name_of
from kvscope.model.serving.admission import joining, served, study_of, tokenized
from kvscope.model.serving.workload import Told, Workload
from kvscope.model.small_cache import Form
from kvscope.model.transformer import Transformer

log = logging.getLogger(__name__)

IDLE_S = 0.005
"""How long nothing is looked at while a workload waits for its next request and no run goes on."""
CAPACITY_POSITIONS = 8192
CAPACITY_BYTES = 2 << 30
"""The cache pool holds `CAPACITY_POSITIONS`, fewer where that would take more bytes than this."""


class ModelService:
    """One model, one engine, and the logs of the runs it is serving."""

    def __init__(self, checkpoint: Checkpoint, device: str):
        config = checkpoint.config
        self.tokenizer = checkpoint.tokenizer
        transformer = Transformer.from_weights(config, checkpoint.weights, device)
        position_bytes = 2 * config.layers * config.kv_heads * config.head_dim * COMPUTED.itemsize
        capacity = min(CAPACITY_POSITIONS, CAPACITY_BYTES // position_bytes)
        half = capacity // 2 // BLOCK_SIZE * BLOCK_SIZE
        self.max_positions = min(config.context, MAX_PROMPT_TOKENS + MAX_NEW_TOKENS, half)
        """Most positions one run may have; as many again are kept free to compute any of its rows once more."""
        self.engine = Engine(
            transformer, capacity=capacity, reserve=self.max_positions, eos=self.tokenizer.eos, device=device
        )
        self.info = describe(checkpoint, transformer, device)
        self._groups = checkpoint.groups
        self._recorders: dict[str, Recorder] = {}
        self._workloads: dict[str, Workload] = {}
        self._systems: dict[str, str] = {}
        """What the prompts of each workload begin with."""
        self._owners: dict[str, str] = {}
        """Who asked for each run that is in the cache."""
        self._waiting: list[Frame] = []

    @classmethod
    def load(
        cls, model: str | None, device: str, dtype: WeightDtype, progress: Callable[[Progress], None]
    ) -> ModelService:
        """Fetch if need be, load, build, and run once: the first run's times shall not be those of a cold start.

        Raises Refused.
        """
        chosen = pick_device(device)
        if chosen != "cpu":
            torch.cuda.set_device(chosen)  # graphs are recorded on the current one
        service = cls(load(model, progress, getattr(torch, dtype)), chosen)
        service._warm_up()
        progress(Progress("ready", 1, 1, f"{service.info['name']} is ready on {chosen}"))
        return service

    def compile(self, say: Callable[[str, bool], None]) -> None:
        """Have decode steps compiled, in a thread beside everything else; `say` hears how that goes."""
        Thread(target=self._compile, args=(say,), name="compile", daemon=True).start()

    def start(self, request: RunRequest) -> list[Frame]:
        """Tokenize and admit a run; returns its `open` frame. Raises Refused."""
        _not_too_long(request.prompt)
        ids = self._encode(request.prompt, request.chat)
        most = self._most_tokens
        if len(ids) > most:
            message = f"The prompt is {len(ids):,} tokens long; the limit is {most:,}."
            raise Refused("prompt", message, limit=most, status=413)
        if not ids:
            raise Refused("prompt", "The prompt is empty: there is nothing to predict from.")
        new, room = request.max_new_tokens, min(MAX_NEW_TOKENS, self.max_positions - len(ids))
        _within("max_new_tokens", new, 1, room, f"after a prompt of {len(ids):,} tokens ")
        among = self._runs_of(request.owner) if request.reuse else []
        _, reused = self.engine.scheduler.holder_of(ids, len(ids) - 1, among)
        recorder = Recorder(request.run, self.info, self.tokenizer, request.sampling.temperature)
        opening = recorder.open(request, ids, self.max_positions, reused=reused)
        _fits_the_log(opening, "prompt", "The prompt and its tokens fill")
        with _refusing_when_full():
            self.engine.admit(request.run, ids, request.sampling, new, among=among)
        self._recorders[request.run], self._owners[request.run] = recorder, request.owner
        return [opening]

    def _runs_of(self, owner: str) -> list[str]:
        """The runs of an owner whose rows are in the cache; nobody's own where there is no owner."""
        scheduler = self.engine.scheduler
        self._owners = {
            run: whose for run, whose in self._owners.items() if run in scheduler.runs or run in scheduler.kept
        }
        return [run for run, whose in self._owners.items() if whose == owner != ""]

    def fork(self, request: ForkRequest) -> list[Frame]:
        """Admit a fork; returns its log so far: the parent's frames under the new id, with the forced token.

        Raises Refused.
        """
        opened = frames.header(request.frames[0]).data
        prompt = len(opened["tokens"])
        ids = frames.token_ids(request.frames)
        if not prompt <= request.position == len(ids) - 1:
            last = len(ids) - 1
            message = f"position is {request.position}; a token that was generated stands at {prompt} to {last}."
            raise Refused("position", message, limit=last)
        _among("token", request.token, self.info["vocab"])
        self._same_model(opened)
        sampling = Sampling(**opened["sampling"])
        new_tokens = opened["limits"]["max_new_tokens"]
        if len(ids) - prompt >= new_tokens or request.token in self.engine.eos:
            raise Refused("position", "Nothing could follow that token: the branch would be over at once.")
        log = forked(request, self.tokenizer.token(request.token))
        ids[-1] = request.token
        with _refusing_when_full():
            self.engine.fork(request.run, ids, prompt, sampling, new_tokens)
        self._recorders[request.run] = Recorder(request.run, self.info, self.tokenizer, sampling.temperature, len(log))
        return log

    def twin(self, request: TwinRequest) -> list[Frame]:
        """Admit a twin; returns its `open` frame. Raises Refused."""
        opened, *steps = (frames.header(payload).data for payload in request.frames)
        self._same_model(opened)
        sampling = Sampling(**opened["sampling"])
        study = {"kind": "twin", "of": request.of, "cache": request.caching}
        opening = study_opening(request.frames[0], request.run, study, len(steps))
        ids = [token["id"] for token in opened["tokens"]]
        forced = {step["step"]: step["token"]["id"] for step in steps if step["token"].get("forced")}
        with _refusing_when_full():
            self.engine.admit(
                request.run,
                ids,
                sampling,
                len(steps),
                recorded="steps",
                caching=request.caching,
                forced=forced,
            )
        return self._begun(opening, sampling)

    def beam(self, request: BeamRequest) -> list[Frame]:
        """Admit a beam search; returns its `open` frame. Raises Refused."""
        opened = frames.header(request.opening).data
        self._same_model(opened)
        beams, length, context = request.beams, request.length, len(request.ids)
        longest = min(MAX_BEAM_LENGTH, self.max_positions - context)
        _within("length", length, 1, longest, f"after {context:,} tokens ")
        room = self.engine.scheduler.room
        most = next(n for n in range(MAX_BEAMS, 0, -1) if blocks_of_search(context, n, length) <= room)
        _within("beams", beams, 1, most, f"for {length} tokens after {context:,} ")
        study = {"kind": "beam", "of": request.of, "step": request.step, "beams": beams, "length": length}
        opening = study_opening(request.opening, request.run, study, length)
        with _refusing_when_full():
            self.engine.search(request.run, request.ids, beams, length)
        return self._begun(opening, Sampling(**opened["sampling"]))

    def workload(self, request: WorkloadRequest) -> list[Frame]:
        """Admit a workload; returns its `open` frame. Raises Refused."""
        asked = tokenized(request, self.tokenizer, self.max_positions, self.info["layers"])
        first = RunRequest(request.run, request.asks[0].prompt, self.tokenizer.has_chat, request.asks[0].max_new_tokens)
        recorder = Recorder(request.run, self.info, self.tokenizer, first.sampling.temperature)
        opening = recorder.open(first, asked[0].ids, self.max_positions, study_of(request, asked))
        _fits_the_log(opening, "requests", "The requests fill")
        with _refusing_when_full():
            made = Workload(request.run, self.engine, asked, request.rounds, recorder.token)
        self._workloads[request.run], self._recorders[request.run] = made, recorder
        self._systems[request.run] = request.system
        return [opening]

    def join(self, request: JoinRequest) -> int:
        """Add a request to a workload, as of now; returns its number there. Raises Refused."""
        workload = self._workload(request.run)
        ask, made = joining(request, self._systems[request.run], workload.now_ms, self.tokenizer, self.max_positions)
        number = workload.join(made, request.retry_of)
        self._waiting += self._tell(request.run, [schema.Asked(number=number, request=served(ask, made))])
        return number

    def leave(self, run: str, request: int) -> None:
        """Cancel a request of a workload, as of now. Raises Refused."""
        self._workload(run).leave(request)

    def _workload(self, run: str) -> Workload:
        if run not in self._workloads:
            message = "Nobody is being answered there any more: that workload is over, or it is a run of one person."
            raise Refused("run", message, status=409)
        return self._workloads[run]

    def algebra(self, ids: list[int], layer: int, head: int) -> bytes:
        """One head's last row of `ids` with the cache, and all its rows without one (docs/frames.md, On demand).

        Raises Refused.
        """
        _among("layer", layer, self.info["layers"])
        _among("head", head, self.info["heads"])
        _among("step", len(ids) - 1, len(ids))
        with _refusing_when_full():
            return algebra_values(self.engine, ids, layer, head)

    def operations(self, ids: list[int], layer: int) -> dict[str, Any]:
        """One layer's operations with the cache and without (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        if len(ids) < 2:
            raise Refused("step", "Before its only token there is none in the cache.")
        self._few_enough(ids)
        with _refusing_when_full():
            return {"operations": [asdict(each) for each in layer_twice(self.engine, ids, layer)]}

    def control(self, run: str, action: str) -> str:
        """`pause`, `resume`, `step` or `stop`; returns the run's new status: running, paused or closed.

        Raises Refused.
        """
        if run in self._workloads:
            if action != "stop":
                raise Refused("action", "A workload can be stopped, and not paused.", status=409)
            self._waiting += self._tell(run, [self._workloads[run].stop()])
            return "closed"
        state = self.engine.active(run)
        if state is None:
            raise Refused("run", "That run is over: it can be read, not controlled.", status=409)
        if action == "stop":
            record = self.engine.stop(run)
            self._waiting += self._recorders.pop(run).record(record)
            return "closed"
        if action not in ("pause", "resume", "step"):
            raise Refused("action", f"action is {action!r}; it must be pause, resume, step or stop.")
        state.paused = action != "resume"
        state.single_steps = state.single_steps + 1 if action == "step" else 0
        return "paused" if state.paused else "running"

    def set_aside(self, run: str) -> None:
        """Drop a paused run between two steps; its blocks stay in the cache until others need them. Raises Refused."""
        if not self.engine.set_aside(run):
            raise Refused("run", "That run is over, goes on, or is in the middle of a step.", status=409)
        del self._recorders[run]

    def take_up(self, request: TakeUpRequest) -> None:
        """Admit a run that was set aside, and pause it. Raises Refused."""
        opened = frames.header(request.frames[0]).data
        self._same_model(opened)
        sampling, new_tokens = Sampling(**opened["sampling"]), opened["limits"]["max_new_tokens"]
        ids, prompt = frames.token_ids(request.frames), len(opened["tokens"])
        with _refusing_when_full():
            if len(ids) == prompt:
                run = self.engine.admit(request.run, ids, sampling, new_tokens, reused=opened.get("reused", 0))
            else:
                run = self.engine.fork(request.run, ids, prompt, sampling, new_tokens)
        run.paused = True
        self._recorders[request.run] = Recorder(
            request.run, self.info, self.tokenizer, sampling.temperature, request.seq
        )

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._workloads) or self.engine.busy

    def advance(self) -> list[Frame]:
        """Advance every active run by one forward pass together; the frames that gave, each run's in log order."""
        made, self._waiting = self._waiting, []
        for run, workload in list(self._workloads.items()):
            made += self._tell(run, workload.prepare())
        if self._workloads and not self.engine.busy:
            time.sleep(min(IDLE_S, *(workload.until_next_s for workload in self._workloads.values())))
        for record in self.engine.advance():
            made += self._record(record)
        for run, workload in list(self._workloads.items()):
            made += self._tell(run, workload.told(self.engine.last_pass))
        return made

    def _record(self, record: Record) -> list[Frame]:
        """The frames of what the engine says of a run; of a workload's requests the workload tells."""
        workload = next((each for each in self._workloads.values() if each.owns(record.run)), None)
        if workload is not None:
            assert isinstance(record, TokenRecord | CloseRecord)
            workload.take(record)
            return []
        assert not isinstance(record, TokenRecord)
        made = self._recorders[record.run].record(record)
        if isinstance(record, CloseRecord):
            del self._recorders[record.run]
        return made

    def _tell(self, run: str, told: list[Told]) -> list[Frame]:
        """The frames of what a workload tells."""
        made = [self._recorders[run].frame(schema.KINDS[type(each)], each) for each in told]
        if self._workloads[run].over:
            del self._workloads[run], self._recorders[run], self._systems[run]
        return made

    def head(self, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
        """Exact values of one head (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        _among("head", head, self.info["heads"])
        _among("step", first_query, len(ids))
        with _refusing_when_full():
            return head_values(self.engine, ids, first_query, layer, head)

    def block(self, ids: list[int], layer: int, position: int) -> bytes:
        """Every activation of one block for the token at `position`. Raises Refused."""
        _among("layer", layer, self.info["layers"])
        _among("position", position, len(ids))
        with _refusing_when_full():
            return block_values(self.engine, ids[: position + 1], layer)

    def shards(self, ids: list[int], layer: int, position: int, devices: int) -> bytes:
        """One layer on several devices for the token at `position` (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        _among("position", position, len(ids))
        heads = self.info["kv_heads"]
        if not 2 <= devices <= heads:
            most = f"cut for at most {heads}, a K/V head each" if heads > 1 else "not cut: it has one K/V head"
            raise Refused("devices", f"devices is {devices}; this model's layers are {most}.", limit=heads)
        with _refusing_when_full():
            return layer_shards(self.engine, ids[: position + 1], layer, devices)

    def candidates(self, ids: list[int], text: str) -> dict[str, Any]:
        """How likely the tokens that `text` is spelled with are to come after `ids`, the likeliest first.

        Words mostly have a token with the space before them and one without. Of a text that takes several tokens the
        first is meant: it would have to come next. Raises Refused.
        """
        _among("step", len(ids) - 1, len(ids))
        spelled = [self.tokenizer.encode(each, special=True) for each in (text, f" {text}")]
        whole = {tokens[0]: len(tokens) == 1 for tokens in spelled if tokens}
        if not whole:
            raise Refused("text", "The model's vocabulary has no token for this text.")
        with _refusing_when_full():
            found = standings(self.engine, ids, list(whole))
        candidates = [
            {**self.tokenizer.token(token), **asdict(standing), "whole": whole[token]}
            for token, standing in zip(whole, found, strict=True)
        ]
        return {"candidates": sorted(candidates, key=lambda each: (not each["whole"], each["rank"]))}

    def lens(self, ids: list[int], token: int) -> dict[str, Any]:
        """Top tokens of the last row after each layer, and where `token` stands there. Raises Refused."""
        _among("step", len(ids) - 1, len(ids))
        _among("token", token, self.info["vocab"])
        with _refusing_when_full():
            return self._lens(lens_rows(self.engine, ids, token), token)

    def mask(self, ids: list[int]) -> dict[str, Any]:
        """What the last of `ids` changes of the rows before it, with the causal mask and without (docs/frames.md).

        Raises Refused.
        """
        if len(ids) < 2:
            raise Refused("step", "Before its only token there is none that it could change.")
        self._few_enough(ids)
        told = {}
        for name, masked in (("with_mask", True), ("without", False)):
            found = appended(self.engine.transformer, ids, masked=masked, device=self.info["device"])
            chances = found.logits.softmax(-1)
            likeliest = int(chances.argmax())
            token = {**self.tokenizer.token(likeliest), "prob": float(chances[likeliest])}
            told[name] = {"by_layer": found.by_layer, "by_position": found.by_position, "likeliest": token}
        return told

    def everything(self, ids: list[int]) -> dict[str, Any]:
        """What the rows before the last of `ids` left, and what is kept of it (docs/frames.md). Raises Refused."""
        if len(ids) < 2:
            raise Refused("step", "Before its only token there is none that left anything.")
        self._few_enough(ids)
        with _refusing_when_full():
            return asdict(everything(self.engine, ids))

    def positions(self, token: int, position: int, other: int, layer: int, head: int) -> dict[str, Any]:
        """What a position changes of a token that stands alone (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        _among("head", head, self.info["heads"])
        device = self.info["device"]
        return asdict(turned(self.engine.transformer, token, (position, other), layer, head, device))

    def losses(self, ids: list[int]) -> dict[str, Any]:
        """What each position of `ids` says of the next token, held against the one that came. Raises Refused."""
        with _refusing_when_full():
            found = prompt_losses(self.engine, ids)
        positions = [
            {
                "best": {**self.tokenizer.token(each.best), "prob": each.best_prob},
                "came": None if each.loss is None else {"prob": each.prob, "rank": each.rank, "loss": each.loss},
            }
            for each in found.predictions
        ]
        kept = {"logits": found.logits_bytes, "last_logits": found.last_logits_bytes, "kv": found.kv_bytes}
        return {"positions": positions, "loss": found.mean, "perplexity": found.perplexity, "bytes": kept}

    def tokens(self, prompt: str, chat: bool) -> dict[str, Any]:
        """How a prompt is cut: all that a run may have, and how many there would be. Raises Refused."""
        _not_too_long(prompt)
        ids, most = self._encode(prompt, chat), self._most_tokens
        return {"tokens": [self.tokenizer.token(token) for token in ids[:most]], "count": len(ids), "limit": most}

    def embedding(self, token: int) -> dict[str, Any]:
        """A token's row of the embedding table among all others (docs/frames.md, Of the vocabulary). Raises Refused."""
        _among("token", token, self.info["vocab"])
        found = neighbourhood(self.engine.transformer.embed.weight, token)
        nearest = [{**self.tokenizer.token(other), "cosine": cosine} for other, cosine in found.nearest]
        return {
            "token": self.tokenizer.token(token),
            "row": found.row,
            "length": found.length,
            "nearest": nearest,
            "plane": {"points": found.points, "kept": found.kept},
            "vocab": self.info["vocab"],
            "tied": self.engine.transformer.config.tied,
        }

    def weights(self, layer: int, of: str, index: int) -> bytes:
        """What makes one number of a block (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        return weight_row(self.engine.transformer, layer, of, index)

    def matrix(self, layer: int, of: str) -> bytes:
        """A weight matrix of a block as a picture (docs/frames.md, On demand). Raises Refused."""
        _among("layer", layer, self.info["layers"])
        return weight_picture(self.engine.transformer, layer, of)

    def smaller(self, ids: list[int], steps: int, dtype: CacheDtype, kv_heads: int) -> dict[str, Any]:
        """What the last `steps` rows of `ids` lose with K and V stored otherwise (docs/frames.md, On demand).

        Raises Refused.
        """
        heads = self.info["kv_heads"]
        if heads % kv_heads:
            choices = [count for count in range(1, heads + 1) if heads % count == 0]
            raise Refused("kv_heads", f"{heads} KV heads cannot be merged to {kv_heads}.", limit=choices)
        self._few_enough(ids)
        form = Form(dtype, kv_heads)
        loss = compared(self.engine.transformer, ids, steps, form, self.info["device"])
        likeliest = [[self.tokenizer.token(token) for token in pair] for pair in loss.likeliest]
        return {
            **asdict(loss),
            "likeliest": likeliest,
            "per_position": form.position_bytes(self.engine.transformer.config),
        }

    def by_hand(self, example: Example) -> dict[str, Any]:
        """What a worked example gives. It has a model, an engine and a cache of its own. Raises Refused."""
        return derive(example).told()

    def measure(self) -> dict[str, Any]:
        """The machine's memory bandwidth and peak. Raises Refused while a run goes on: each would slow the other."""
        if self.busy:
            raise Refused("run", BUSY, status=409)
        return measure(self.engine.runner.device, self.engine.transformer.weight_dtype)

    def values(self, request: ValuesRequest) -> list[Frame]:
        """One `values` frame per layer of what a step computed, the lens in the last one. Raises Refused."""
        ids = request.ids
        _among("first_query", request.first_query, len(ids))
        _among("token", request.token, self.info["vocab"])
        if len(ids) > self.max_positions:
            message = f"The step has {len(ids):,} positions; the limit is {self.max_positions:,}."
            raise Refused("step", message, limit=self.max_positions)
        with _refusing_when_full():
            layers, rows = step_values(self.engine, ids, request.first_query, request.level, request.token)
        window = self.engine.transformer.config.window
        return values_frames(request, self.info, window, layers, self._lens(rows, request.token))

    @staticmethod
    def _few_enough(ids: list[int]) -> None:
        if len(ids) > MAX_COMPARED:
            message = f"There are {len(ids):,} positions; at most {MAX_COMPARED} are run again: others wait meanwhile."
            raise Refused("run", message, limit=MAX_COMPARED)

    def _lens(self, rows: list[LensRow], token: int) -> dict[str, Any]:
        layers = [
            {
                "layer": layer,
                "top": [{**self.tokenizer.token(best), "prob": prob} for best, prob in row.top],
                "chosen": {"prob": row.prob, "rank": row.rank},
            }
            for layer, row in enumerate(rows)
        ]
        return {"token": self.tokenizer.token(token), "layers": layers}

    def _begun(self, opening: Frame, sampling: Sampling) -> list[Frame]:
        """The log of a study that was admitted."""
        self._recorders[opening.run] = Recorder(opening.run, self.info, self.tokenizer, sampling.temperature, seq=1)
        return [opening]

    def _same_model(self, opened: dict[str, Any]) -> None:
        if not same_model(opened["model"], self.info):
            message = f"The run was made by {called(opened['model'])}, and {called(self.info)} is loaded."
            raise Refused("model", message, status=409)

    def _encode(self, prompt: str, chat: bool) -> list[int]:
        if chat:
            text = self.tokenizer.chat([{"role": "user", "content": prompt}])
            return self.tokenizer.encode(text, special=True)
        return self.tokenizer.encode(prompt)

    @property
    def _most_tokens(self) -> int:
        """Of a prompt: one at least is to follow."""
        return min(MAX_PROMPT_TOKENS, self.max_positions - 1)

    def _compile(self, say: Callable[[str, bool], None]) -> None:
        runner = self.engine.runner
        if runner.device != "cpu":
            runner.compiled = GraphedSteps(
                runner.transformer, runner.cache, lambda why: say(f"{NOT_GRAPHED}: {why}", False)
            )
            say(GRAPHED, False)
            return
        try:
            if runner.transformer.weight_dtype != COMPUTED:
                raise CompileFailed(f"the weights are in {self.info['weight_dtype']}")
            folder, groups = cache_folder() / "compiled", self._groups()
            runner.compiled = compiled_steps(runner.transformer, groups, folder, lambda line: say(line, True))
            if runner.transformer.config.tied and (table := groups.get("lm_head.weight")):
                runner.transformer.embed_from(table)
        except CompileFailed as failed:
            say(f"{NOT_COMPILED}: {failed}", False)
        except Exception as error:  # of a thread that nobody waits for
            log.exception("compiling failed")
            say(f"{NOT_COMPILED}: {type(error).__name__}: {error}", False)
        else:
            say(COMPILED, False)

    def _warm_up(self) -> None:
        ids = list(range(min(8, self.info["vocab"], self.info["context"])))
        with self.engine.replay(ids, len(ids) - 1):
            pass


def describe(checkpoint: Checkpoint, transformer: Transformer, device: str) -> dict[str, Any]:
    """The `model` object of an `open` frame."""
    config = checkpoint.config
    return {
        "name": checkpoint.name,
        "sha256": checkpoint.sha256,
        "arch": config.arch,
        "layers": config.layers,
        "heads": config.heads,
        "kv_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "d": config.d,
        "d_mlp": config.d_mlp,
        "vocab": config.vocab,
        "context": config.context,
        "dtype": name_of(COMPUTED),
        "element_bytes": COMPUTED.itemsize,
        "weight_dtype": name_of(transformer.weight_dtype),
        "weight_bytes": sum(weight.nbytes for weight in checkpoint.weights.values()),
        "parameters": sum(weight.numel() for weight in checkpoint.weights.values()),
        "device": device,
        "eos": list(checkpoint.tokenizer.eos),
    }


def pick_device(device: str) -> str:
    """`auto` is the GPU where torch sees one. Raises Refused for a device this machine lacks."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return device
    kind, colon, index = device.partition(":")
    if kind != "cuda" or (colon and not index.isdecimal()):
        raise Refused("device", f"device is {device!r}; it must be auto, cpu, cuda or cuda:N.")
    if int(index or 0) >= torch.cuda.device_count():
        raise Refused("device", f"device is {device!r}, and torch sees {torch.cuda.device_count()} CUDA devices here.")
    return device


def _not_too_long(prompt: str) -> None:
    if len(prompt) > MAX_PROMPT_CHARS:
        message = f"The prompt has {len(prompt):,} characters; the limit is {MAX_PROMPT_CHARS:,}."
        raise Refused("prompt", message, limit=MAX_PROMPT_CHARS, status=413)


def _fits_the_log(opening: Frame, field: str, what: str) -> None:
    if len(opening.payload) > LARGEST_OPENING:
        message = f"{what} {len(opening.payload):,} bytes of the run's log; the limit is {LARGEST_OPENING:,}."
        raise Refused(field, message, limit=LARGEST_OPENING, status=413)


def _within(field: str, value: int, low: int, high: int, given: str = "") -> None:
    if not low <= value <= high:
        raise Refused(field, f"{field} is {value}; {given}it must be {low} to {high}.", limit=high)


def _among(field: str, value: int, count: int) -> None:
    _within(field, value, 0, count - 1)


@contextmanager
def _refusing_when_full() -> Iterator[None]:
    try:
        yield
    except CacheFull as full:
        message = f"The KV cache has no room for this now: {full}. Wait for a run to end."
        raise Refused("run", message, status=429) from None


def load_service(
    model: str | None, device: str, dtype: WeightDtype, progress: Callable[[Progress], None]
) -> ModelService:
    """Fetch if need be, load, and return a service. `model` None is the default model.

    `device`: "auto", "cpu", "cuda" or "cuda:N". `dtype`: of matrices and the embedding. Raises `Refused` with one
    readable sentence when the model cannot be had.
    """
    return ModelService.load(model, device, dtype, progress)
