"""Loads a model by name and returns a service that is ready."""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch

from kvscope.model.api import Progress, Refused, WeightDtype
from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.checkpoint.live_model import take_over
from kvscope.model.compiler import Unavailable
from kvscope.model.held import keeps_groups
from kvscope.model.native import Native
from kvscope.model.packaged import cache_folder
from kvscope.model.service.service import ModelService

NATIVE, NO_NATIVE = "native code for this processor", "no native code"
PREBUILT = "native code of the installation, for this kind of processor"

log = logging.getLogger(__name__)


def load_service(
    model: str | None,
    device: str,
    dtype: WeightDtype,
    progress: Callable[[Progress], None],
    compiled: bool = False,
    max_tokens: int = 0,
) -> ModelService:
    """Downloads a model if needed, loads it, and returns a service. `model` None is the default model.

    `device`: "auto", "auto:N", "cpu", "cuda" or "cuda:N". `dtype`: of matrices and the embedding. `compiled`: uses
    native code on a CPU if available, and CUDA graphs on a GPU. `max_tokens`: the most tokens of a run, prompt and
    answer together; 0 derives it (`longest_run`). Raises `Refused` with one readable sentence if the
    model is not available.
    """
    chosen = pick_device(device)
    native, line = _native(chosen, dtype, compiled)
    checkpoint = load(model, progress, getattr(torch, dtype), grouped=native is not None)
    return _ready(checkpoint, chosen, native, line, progress, compiled, max_tokens)


def load_passed(
    model: object, tokenizer: object, device: str, dtype: WeightDtype, progress: Callable[[Progress], None]
) -> ModelService:
    """Returns a service for a model of `transformers` in this process, whose weights it copies (`take_over`). The other
    arguments are as of `load_service`. Raises Refused.
    """
    chosen = pick_device(device)
    # First, because native code takes seconds to check, and the module may be one that is not taken over.
    checkpoint = take_over(model, tokenizer, progress, getattr(torch, dtype))
    native, line = _native(chosen, dtype, compiled=True)
    return _ready(checkpoint, chosen, native, line, progress, compiled=True)


def _ready(
    checkpoint: Checkpoint,
    chosen: str,
    native: Native | None,
    line: str,
    progress: Callable[[Progress], None],
    compiled: bool,
    max_tokens: int = 0,
) -> ModelService:
    service = ModelService(checkpoint, chosen, native, line, max_tokens)
    if compiled and chosen != "cpu":
        torch.cuda.set_device(torch.device(chosen).index or 0)  # graphs are recorded on the current device
        service.use_graphs()
    service.warm_up()
    progress(Progress("ready", 1, 1, f"{service.info['name']} is ready on {chosen}"))
    return service


def _native(device: str, dtype: WeightDtype, compiled: bool) -> tuple[Native | None, str]:
    """Returns native code if it is useful and available, and a line about it: "" if it was not requested."""
    try:
        if keeps_groups(device, dtype, compiled):
            native = Native.from_folder(cache_folder() / "native")
            return native, f"{PREBUILT}: {native.not_compiled}" if native.not_compiled else NATIVE
        return None, f"{NO_NATIVE}: the weights are in {dtype}" if compiled and device == "cpu" else ""
    except Unavailable as why:
        log.warning("%s: %s", NO_NATIVE, why)
        return None, f"{NO_NATIVE}: {why}"


def pick_device(device: str) -> str:
    """Returns torch's name of a device. `auto` is the GPU if torch finds one, else the CPU; `auto:N` is GPU N modulo
    their number. Raises Refused for a device that this machine lacks.
    """
    auto, _, number = device.partition(":")
    if auto == "auto" and (not number or number.isdecimal()):
        if not torch.cuda.is_available():
            return "cpu"
        return f"cuda:{int(number) % torch.cuda.device_count()}" if number else "cuda"
    if device == "cpu":
        return device
    kind, colon, index = device.partition(":")
    if kind != "cuda" or (colon and not index.isdecimal()):
        raise Refused("device", f"device is {device!r}; it must be auto, cpu, cuda or cuda:N.")
    if int(index or 0) >= torch.cuda.device_count():
        raise Refused("device", f"device is {device!r}, and torch finds {torch.cuda.device_count()} CUDA devices.")
    return device
