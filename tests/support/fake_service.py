"""Stands in for the model where tests are about the web: real frames, made without torch.

`model` says how it behaves: "delay=0.01,bytes=60000" waits so long per step and makes `layer` frames larger by so
much; "refused", "broken" and "dead" do not load. The prompt "boom" makes `start` fail with a fault of the engine's own.
A model may also be a file with these options in it (`write_fake`), of which a server can have several.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from kvscope.model.api import (
    BUSY,
    BeamRequest,
    ChangedRequest,
    ChangedRun,
    ForkRequest,
    Frame,
    JoinRequest,
    Progress,
    ReadmitRequest,
    Refused,
    RunRequest,
    Switching,
    TwinRequest,
    ValuesRequest,
    WeightDtype,
    WorkloadRequest,
)
from kvscope.model.by_hand.examples import Example, Phase
from kvscope.model.log.derived import changed_opening, twin_study
from kvscope.model.log.frames import encode, header, relabel, token_ids
from kvscope.model.settings import Ask
from tests.support.described import described

LAYERS, HEADS, HEAD_DIM, VOCAB = 2, 3, 4, 1000
QUIET = {"disturbed": False, "others": 0, "waiting": 0.0, "switches": 0, "stolen": None}
MOST_TOKENS = 100
"""Of a prompt, the rest of which is passed over: its weights then fit one frame."""


def load_service(
    model: str | None,
    device: str,
    dtype: WeightDtype,
    progress: Callable[[Progress], None],
    compiled: bool = False,
    max_tokens: int = 0,
) -> FakeService:
    """Like kvscope.model.service.load_service."""
    progress(Progress("fetching", 5, 10, "Fetching the fake"))
    name = "fake"
    if model is not None and (file := Path(model)).suffix == ".gguf":
        name = file.stem
        with file.open() as opened:
            model = opened.readline().strip()
    if model == "refused":
        raise Refused("model", "fake.gguf is truncated: it ends at byte 12.")
    if model == "broken":
        raise RuntimeError("no such kernel")
    if model == "dead":
        os._exit(7)
    options = dict(option.split("=") for option in (model or "").split(",") if option)
    time.sleep(float(options.get("load", 0)))
    progress(Progress("loading", 10, 10, "Loading the fake"))
    made = FakeService(float(options.get("delay", 0)), int(options.get("bytes", 0)), dtype, compiled, name)
    if experts := int(options.get("experts", 0)):
        made.info["experts"] = {"count": experts, "chosen": 1, "width": 8}
    return made


def write_fake(folder: Path, name: str, options: str = "", size: int = 0) -> str:
    """Write a model that a server with this service can load, and return what `--model` takes. `size`: of the file."""
    file = folder / f"{name}.gguf"
    with file.open("w") as opened:
        opened.write(f"{options}\n")
        opened.truncate(max(size, len(options) + 1))
    return str(file)


@dataclass(slots=True)
class FakeRun:
    """What the fake knows of a run it serves."""

    ids: list[int]
    prompt: int
    most: int
    seq: int
    step: int = 0
    paused: bool = False
    single_steps: int = 0
    searching: bool = False


class FakeService:
    """Implements model.api.Service. The token after n is n + 1."""

    def __init__(self, delay: float, layer_bytes: int, dtype: WeightDtype, compiled: bool, name: str) -> None:
        sizes = {"head_dim": HEAD_DIM, "d_mlp": 16, "context": 1024}
        self.info = {**described(LAYERS, HEADS, 1, VOCAB), "name": name, **sizes, "weight_dtype": dtype}
        if name != "fake":
            self.info["sha256"] = sha256(name.encode()).hexdigest()
        self._delay, self._layer_bytes = delay, layer_bytes
        self._runs: dict[str, FakeRun] = {}
        self._waiting: list[Frame] = []
        self._calls = 0
        self._compiled = compiled
        self._start: Callable[[], None] = lambda: None

    def report_compiled(self, say: Callable[[str], None]) -> None:
        """That changes when the first run is asked for."""
        say("compiled" if self._compiled else "")
        self._start = lambda: say("no longer compiled") if self._compiled else None

    def held(self) -> dict[str, Any]:
        cache = {"dtype": "float32", "bytes": 64 * 16 * 64, "position_bytes": 64, "block_size": 16}
        taken = {"steps": 2, "rows": 10, "ms": 5.0, "disturbed": 0}
        return {
            "weights": {"float32": 1000},
            "cache": {**cache, "blocks": 64, "free_blocks": 60},
            "pace": {"prefill": taken, "decode": {**taken, "rows": 2}},
        }

    def most_bytes(
        self, request: RunRequest | ForkRequest | TwinRequest | ChangedRequest | BeamRequest | WorkloadRequest
    ) -> int:
        frame = 1000 + self._layer_bytes
        match request:
            case RunRequest():
                keys = min(len(request.prompt), MOST_TOKENS)
                weights = LAYERS * HEADS * (keys**2 + request.max_new_tokens * (keys + request.max_new_tokens))
                return 100 * keys + 2000 + request.max_new_tokens * (1000 + frame) + weights
            case ForkRequest() | TwinRequest() | ChangedRequest():
                return sum(len(each) + frame for each in request.frames) + 8 * (frame + LAYERS * HEADS * 200)
            case BeamRequest():
                return len(request.opening) + request.length * 2000
            case WorkloadRequest():
                return 20_000 + len(request.workload.rounds) * len(request.workload.requests) * 1000

    def start(self, request: RunRequest) -> list[Frame]:
        self._start()
        if "boom" in request.prompt:
            raise ZeroDivisionError("boom")
        if request.prompt.startswith("long"):
            raise Refused("prompt", "The prompt has 600 tokens; the limit is 512.", limit=512, status=413)
        ids = [ord(character) % VOCAB for character in request.prompt[:MOST_TOKENS]]
        data = {
            "model": self.info,
            "prompt": request.prompt,
            "chat": request.chat,
            "sampling": request.sampling.model_dump(),
            "limits": {"max_new_tokens": request.max_new_tokens, "max_positions": 768},
            "tokens": [_token(number) for number in ids],
            "block_size": 16,
            "parent": None,
            "study": None,
            "changed": None,
            "reused": 0,
            "prefix": None,
            "created": "2026-11-21T12:00:00Z",
            "asked": {"reuse": request.reuse, "owner": request.owner},
        }
        self._runs[request.run] = FakeRun(ids, len(ids), request.max_new_tokens, seq=1)
        return [encode(request.run, 0, "open", data)]

    def fork(self, request: ForkRequest) -> list[Frame]:
        log = [relabel(payload, request.run, seq) for seq, payload in enumerate(request.frames)]
        parent = {"run": request.parent, "position": request.position, "token": request.token}
        parent["recomputed"] = {"rows": 0, "ms": 0.0, "held": True}
        log[0] = relabel(log[0].payload, request.run, 0, {"parent": parent})
        log[-1] = relabel(log[-1].payload, request.run, len(log) - 1, {"token": _token(request.token)})
        ids = token_ids(frame.payload for frame in log)
        assert ids[request.position] == request.token
        assert len(ids) == request.position + 1
        steps = sum(frame.kind == "step" for frame in log)
        self._runs[request.run] = FakeRun(ids, len(ids) - steps, steps + 4, len(log), steps)
        return log

    def twin(self, request: TwinRequest) -> list[Frame]:
        kinds = [header(payload).kind for payload in request.frames]
        assert kinds == ["open", *["step"] * (len(kinds) - 1)]
        opened = relabel(request.frames[0], request.run, 0, {"study": twin_study(request), "parent": None})
        ids = [token["id"] for token in header(opened.payload).data["tokens"]]
        self._runs[request.run] = FakeRun(ids, len(ids), len(kinds) - 1, seq=1)
        return [opened]

    def changed(self, request: ChangedRequest) -> list[Frame]:
        opened = changed_opening(request)
        ids = [token["id"] for token in header(opened.payload).data["tokens"]]
        self._runs[request.run] = FakeRun(ids, len(ids), 4, seq=1)
        return [opened]

    def beam(self, request: BeamRequest) -> list[Frame]:
        """One candidate per depth: the token after."""
        if len(request.ids) + request.length > 40:
            raise Refused("length", "length must be smaller.", limit=40 - len(request.ids))
        study = {"kind": "beam", **{name: getattr(request, name) for name in ("of", "step", "beams", "length")}}
        opened = relabel(request.opening, request.run, 0, {"study": study, "parent": None})
        self._runs[request.run] = FakeRun(list(request.ids), 0, request.length, seq=1, searching=True)
        return [opened]

    def workload(self, request: WorkloadRequest) -> list[Frame]:
        """A log whose rounds are over at once, after a pass that gives everybody a token; it ends with them unless its
        first request is to come later.
        """
        workload = request.workload
        if workload.requests[0].prompt == "too large":
            raise Refused("requests[0]", "requests[0] is too large.", limit=9)
        asked = [_served(ask) for ask in workload.requests]
        rounds = [settings.model_dump() for settings in workload.rounds]
        study = {"kind": "serving", "system": workload.system, "requests": asked, "rounds": rounds}
        opened = self.start(RunRequest(request.run, asked[0]["prompt"]))
        made = [relabel(opened[0].payload, request.run, 0, {"study": study})]
        for number in range(len(rounds)):
            made.append(encode(request.run, len(made), "pass", _pass(number, asked)))
            ended = {"round": number, "ms": 2.0, "others": 0, "events": []}
            made.append(encode(request.run, len(made), "round", ended))
        self._runs[request.run].seq = len(made)
        if workload.requests[0].arrives_ms:
            self._runs[request.run].paused = True
        else:
            self._waiting.append(self._close(request.run, "length"))
        return made

    def join(self, request: JoinRequest) -> int:
        """Always as the second."""
        if request.ask.prompt == "too large":
            raise Refused("prompt", "This request may need 9 blocks; the workload has 8 in total.", limit=8)
        return 1

    def leave(self, run: str, request: int) -> None:
        """There are two."""
        if request > 1:
            raise Refused("request", f"There is no request {request}; there are 2.", limit=1, status=404)

    def control(self, run: str, action: str) -> str:
        state = self._runs.get(run)
        if state is None:
            raise Refused("run", "That run is over.", status=409)
        if action == "stop":
            self._waiting.append(self._close(run, "stopped"))
            return "closed"
        state.paused = action != "resume"
        state.single_steps += action == "step"
        return "paused" if state.paused else "running"

    def evict_run(self, run: str) -> None:
        state = self._runs.get(run)
        if state is None or not state.paused or state.single_steps or state.searching:
            raise Refused("run", "That run is over or goes on.", status=409)
        del self._runs[run]

    def readmit(self, request: ReadmitRequest) -> None:
        opened = header(request.frames[0]).data
        ids, prompt = token_ids(request.frames), len(opened["tokens"])
        most = opened["limits"]["max_new_tokens"]
        self._runs[request.run] = FakeRun(ids, prompt, most, request.seq, len(ids) - prompt, paused=True)

    @property
    def room(self) -> int:
        return 60 - len(self._runs)

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or any(not run.paused or run.single_steps for run in self._runs.values())

    def advance(self) -> list[Frame]:
        made, self._waiting = self._waiting, []
        time.sleep(self._delay)
        for run, state in list(self._runs.items()):
            if not state.paused or state.single_steps:
                state.single_steps = max(0, state.single_steps - 1)
                made += self._step(run, state)
        return made

    def head(self, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
        return f"head {ids} {first_query} {layer} {head}".encode()

    def block(self, ids: list[int], layer: int, position: int) -> bytes:
        return f"block {ids} {layer} {position}".encode()

    def shards(self, ids: list[int], layer: int, position: int, devices: int) -> bytes:
        return f"shards {ids} {layer} {position} {devices}".encode()

    def contributions(self, ids: list[int], layer: int, position: int) -> bytes:
        return f"contributions {ids} {layer} {position}".encode()

    def algebra(self, ids: list[int], layer: int, head: int) -> bytes:
        return f"algebra {ids} {layer} {head}".encode()

    def code(
        self, ids: list[int], first_query: int, layer: int, sampling: dict[str, Any], version: str
    ) -> dict[str, Any]:
        rows = len(ids) - first_query
        tensor = {"of": "attn.v", "hook": True, "shape": [rows, 1, HEAD_DIM], "dtype": "float32", "bytes": 16 * rows}
        path = "model/transformer.py"
        return {"lines": {path: {"119": [tensor]}}, "ran": {path: [119]}, "rows": rows, "passes": 1}

    def calls(self, ids: list[int], sampling: dict[str, Any]) -> dict[str, Any]:
        call = {"name": "Engine.advance", "path": "model/engine/engine.py", "line": 1, "count": 1, "calls": []}
        return {"prefill": call, "decode": {**call, "calls": [call]}}

    def operations(self, ids: list[int], layer: int) -> dict[str, Any]:
        same = {"largest": 0.0, "size": float(len(ids))}
        return {"operations": [{"name": "attn.v", "cached": True, "old": same, "new": same}]}

    def smaller(self, ids: list[int], steps: int, dtype: str, kv_heads: int) -> dict[str, Any]:
        look = {"layer": 0, "head": 0, "query": len(ids) - 1, "key": 0, "was": 1.0, "became": 1.0}
        pairs = [[_token(0), _token(0)]] * steps
        return {"bytes": len(ids), "per_position": 1, "furthest": look, "kl": [0.0] * steps, "likeliest": pairs}

    def invariance(
        self, ids: list[int], prompt_length: int, first: int, chosen: list[int], rows: int, sampling: dict[str, Any]
    ) -> dict[str, Any]:
        """All steps from `first` on; in bfloat16, the third chooses another token beside others."""
        same = {"differing": 0, "largest": 0.0, "alone": _token(0), "beside": _token(0)}
        other = {"differing": 9, "largest": 0.5, "alone": _token(0), "beside": _token(1)}
        three = {"numbers": [1.0, 0.5, 0.25], "left": 1.75, "right": 1.5, "at": 1}
        sums = {"count": 4, "one_by_one": 2.0, "in_lanes": 2.5, "backwards": 2.25, "exact": 2.125, "three": three}
        steps = [
            {
                "step": step,
                "gap": 1.0,
                "engine": same,
                "torch": {"float32": {**same, "differing": 5}, "bfloat16": other if step == 2 else same},
                "sums": sums,
            }
            for step in range(first, first + len(chosen))
        ]
        return {"by": "native", "rows": rows, "logits": VOCAB, "steps": steps}

    def mask(self, ids: list[int]) -> dict[str, Any]:
        told = {"by_layer": [0.0] * LAYERS, "by_position": [0.0] * (len(ids) - 1), "likeliest": _token(ids[-1])}
        return {"with_mask": told, "without": told}

    def everything(self, ids: list[int]) -> dict[str, Any]:
        return {"everything": 10 * len(ids), "kv": len(ids), "everything_ms": 1.0, "kv_ms": 0.1, "conditions": QUIET}

    def positions(self, token: int, position: int, other: int, layer: int, head: int) -> dict[str, Any]:
        return {"changes": {"attn.v": 0.0}, "pairs": [[[token, 0], [position, 0], [other, 0]]]}

    def weights(self, layer: int, of: str, index: int) -> bytes:
        return f"weights {layer} {of} {index}".encode()

    def matrix(self, layer: int, of: str) -> bytes:
        return f"matrix {layer} {of}".encode()

    def candidates(self, ids: list[int], text: str) -> dict[str, Any]:
        return {"candidates": [{**_token(ids[-1]), "text": text}]}

    def effects(
        self, ids: list[int], token: int, of: str, first: int, switching: Switching | None = None
    ) -> dict[str, Any]:
        foil = {"logprob": -1.0, "logit": 0.0}
        same = {"logprob": 0.0, "logit": 1.0, "foil": foil, "kl": 0.0, "best": {**_token(token), "prob": 1.0}}
        prompts = [switching.source] if switching and switching.source else []
        answer = {"count": HEADS * LAYERS, "foil": _token(0), "base": same, "effects": [same], "ms": 1.0}
        return {**answer, "other": same if prompts else None, "prompts": prompts}

    def direct(self, ids: list[int], token: int, foil: int | None) -> dict[str, Any]:
        share, layers = [0.5, 0.25, 0.125], [[0.5, 0.25, 0.125]] * LAYERS
        parts = {"heads": layers * HEADS, "attention": layers, "out_bias": layers, "mlp": layers}
        return {"foil": _token(foil or 0), "logits": share, "embedding": share, "bias": share, **parts}

    def patterns(self) -> dict[str, Any]:
        scores = [0.5] * (HEADS * LAYERS)
        return {"previous": scores, "induction": scores, "length": 25, "sequences": 4, "seed": 1}

    def of_changed(self, run: ChangedRun, question: str, *arguments: Any) -> Any:
        return getattr(self, question)(*arguments)

    def lens(self, ids: list[int], token: int) -> dict[str, Any]:
        chosen = {"prob": 1.0, "rank": 0}
        layers = [{"layer": layer, "top": [_token(ids[-1])], "chosen": chosen} for layer in range(LAYERS)]
        return {"token": _token(token), "layers": layers}

    def timing(self, ids: list[int], cached: bool) -> dict[str, Any]:
        """A millisecond a row."""
        if self.busy:
            raise Refused("run", "Other runs are being computed.", status=409)
        rows = 1 if cached else len(ids)
        return {"ms": float(rows), "rows": rows, "weights_read": {"float32": 8}, "conditions": QUIET}

    def losses(self, ids: list[int]) -> dict[str, Any]:
        came = {"prob": 0.25, "rank": 1, "loss": 1.4}
        positions = [{"best": {**_token(number + 1), "prob": 0.5}, "came": came} for number in ids]
        positions[-1]["came"] = None
        told = {"loss": 1.4, "perplexity": 4.0} if len(ids) > 1 else {"loss": None, "perplexity": None}
        return {"positions": positions, **told, "bytes": {"logits": 4 * len(ids), "last_logits": 4, "kv": len(ids)}}

    def browser_model(self, base: str, wasm: str) -> dict[str, Any]:
        """Of files that are not there."""
        files = {name: {"file": f"{name}.js", "bytes": 1, "sha256": "0" * 64} for name in ("details", "wasm")}
        return {"format": 1, "model": self.info, "bytes": 2, "parts": [], **files}

    def tokens(self, prompt: str, chat: bool) -> dict[str, Any]:
        ids = [ord(character) % VOCAB for character in (f"<{prompt}>" if chat else prompt)]
        sizes = {"count": len(ids), "limit": MOST_TOKENS, "positions": 768, "row_ms": None, "step_ms": None}
        return {"tokens": [_token(number) for number in ids[:MOST_TOKENS]], **sizes}

    def embedding(self, token: int) -> dict[str, Any]:
        if token >= VOCAB:
            raise Refused("token", f"token is {token}; it must be from 0 to {VOCAB - 1}.", limit=VOCAB - 1)
        nearest = [{**_token((token + 1) % VOCAB), "cosine": 0.5}]
        plane = {"points": [[0.5, 0.0], [-0.5, 0.0]], "kept": 1.0}
        told = {"row": [1.0, -1.0], "length": 1.4, "nearest": nearest, "plane": plane, "vocab": VOCAB, "tied": True}
        return {"token": _token(token), **told}

    def words(self, words: list[str]) -> dict[str, Any]:
        told = [{"word": word, "tokens": [_token(ord(word[0]) % VOCAB)], "length": 1.0} for word in words]
        cosines = [[1.0 if one == other else 0.5 for other in words] for one in words]
        plane = {"points": [[float(at), 0.0] for at, _ in enumerate(words)], "kept": 1.0}
        return {"words": told, "cosines": cosines, "plane": plane, "width": 2}

    def by_hand(self, example: Example) -> dict[str, Any]:
        """The real one, whose torch is loaded when it is first asked for."""
        from kvscope.model.by_hand.derivation import derive

        return derive(example).as_json()

    def by_hand_code(self, example: Example, phase: Phase, version: str) -> dict[str, Any]:
        from kvscope.model.by_hand.derivation import example_lines

        return example_lines(example, phase).as_json()

    def measure(self) -> dict[str, Any]:
        if self.busy:
            raise Refused("run", BUSY, status=409)
        takes = {"takes_ms": [2.0, 1.0, 4.0], "conditions": QUIET}
        moved = {"bytes": 10**7, "per_second": 5e9, "spread": [2.5e9, 1e10], **takes}
        return {
            "device": "cpu",
            "threads": 2,
            "dtype": "float32",
            "bandwidth": moved,
            "peak": {"flops": 10**8, "per_second": 5e10, "spread": [2.5e10, 1e11], **takes},
            "weights": {"formats": {"4-bit groups": 10**7}, **moved},
        }

    def values(self, request: ValuesRequest) -> list[Frame]:
        """Each number says which position it is of, but those of v which call this is: no two are the same."""
        time.sleep(self._delay)
        self._calls += 1
        rows = len(request.ids) - request.first_query
        position = np.arange(request.first_query, len(request.ids), dtype=np.float32)[None, :, None]
        tensors = {name: np.tile(position, (heads, 1, HEAD_DIM)) for name, heads in (("q", HEADS), ("k", 1))}
        tensors["v"] = np.full((1, rows, HEAD_DIM), self._calls, np.float32)
        data = {"step": request.step, "first_query": request.first_query, "level": request.level, "window": None}
        datas = [{**data, "layer": layer} for layer in range(LAYERS)]
        datas[-1]["lens"] = self.lens(request.ids, request.token)
        first = request.step * LAYERS
        return [encode(request.run, first + layer, "values", each, tensors) for layer, each in enumerate(datas)]

    def _step(self, run: str, state: FakeRun) -> list[Frame]:
        chosen = (state.ids[-1] + 1) % VOCAB
        if state.searching:
            return self._search(run, state, chosen)
        layer = encode(run, state.seq, "layer", *self._weights(state))
        data = {"step": state.step, "position": len(state.ids) - 1, "token": _token(chosen)}
        step = encode(run, state.seq + 1, "step", data, {"top_ids": np.array([chosen], np.int32)})
        state.ids.append(chosen)
        state.seq += 2
        state.step += 1
        return [layer, step, *([self._close(run, "length")] if state.step == state.most else [])]

    def _weights(self, state: FakeRun) -> tuple[dict[str, Any], dict[str, Any]]:
        """Every key that a row may look at gets the step's number."""
        keys = len(state.ids)
        first = keys - 1 if state.step else 0
        seen = np.arange(keys) <= np.arange(first, keys)[:, None]
        tensors = {"attention": np.tile(seen * np.uint8(state.step % 256), (LAYERS, HEADS, 1, 1))}
        if self._layer_bytes:
            tensors["filler"] = np.zeros(self._layer_bytes, np.uint8)
        place = {"first_layer": 0, "first_head": 0, "first_query": first}
        return {"step": state.step, **place, "companding": "sqrt"}, tensors

    def _search(self, run: str, state: FakeRun, chosen: int) -> list[Frame]:
        node = {"id": state.step, "parent": state.step - 1 if state.step else None, "token": _token(chosen)}
        frame = encode(run, state.seq, "beams", {"depth": state.step + 1, "nodes": [node], "best": state.step})
        state.ids.append(chosen)
        state.seq += 1
        state.step += 1
        return [frame, *([self._close(run, "length")] if state.step == state.most else [])]

    def _close(self, run: str, reason: str) -> Frame:
        state = self._runs.pop(run)
        steps = 0 if state.searching else state.step
        return encode(run, state.seq, "close", {"reason": reason, "error": None, "steps": steps})


def _served(ask: Ask) -> dict[str, Any]:
    """A request as its log has it; of messages, their text with their roles."""
    text = ask.prompt or "".join(f"{each.role}: {each.content}" for each in ask.messages or ())
    count = ask.messages and len(ask.messages)
    return ask.model_dump() | {"prompt": text, "messages": count, "tokens": len(text[:MOST_TOKENS])}


def _pass(number: int, asked: list[dict[str, Any]]) -> dict[str, Any]:
    """The only pass of a round, in which every request is read and answered."""
    read = {"phase": "prefill", "first": 0, "more": [], "guessed": 0}
    members = [
        {"request": request, "rows": each["tokens"], "token": _token(ord(each["prompt"][-1]) + 1), **read}
        for request, each in enumerate(asked)
    ]
    done = [{"ms": 2.0, "what": "done", "request": at, "count": None, "other": None} for at in range(len(asked))]
    return {
        "number": number,
        "round": number,
        "start_ms": 0.5,
        "ms": 1.0,
        "weight_bytes": 4000,
        "members": members,
        "others": {"requests": 0, "rows": 0},
        "requests": [{"state": "done", "positions": 0, "dropped": 0, "table": []} for _ in asked],
        "pool": {"blocks": 16, "others": []},
        "events": done,
    }


def _token(number: int) -> dict[str, Any]:
    return {"id": number, "text": chr(number), "bytes": chr(number).encode().hex(), "special": False}
