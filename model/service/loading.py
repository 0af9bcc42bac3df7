"""From a model's name to a service that is ready."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kvscope.model.api import Progress, Refused, WeightDtype
from kvscope.model.checkpoint import load
from kvscope.model.service.service import ModelService


def load_service(
    model: str | None, device: str, dtype: WeightDtype, progress: Callable[[Progress], None]
) -> ModelService:
    """Fetch if need be, load, and return a service. `model` None is the default model.

    `device`: "auto", "cpu", "cuda" or "cuda:N". `dtype`: of matrices and the embedding. Raises `Refused` with one
    readable sentence when the model cannot be had.
    """
    chosen = pick_device(device)
    if chosen != "cpu":
        torch.cuda.set_device(chosen)  # graphs are recorded on the current one
    service = ModelService(load(model, progress, getattr(torch, dtype)), chosen)
    service.warm_up()
    progress(Progress("ready", 1, 1, f"{service.info['name']} is ready on {chosen}"))
    return service


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
        raise Refused("device", f"device is {device!r}, and torch finds {torch.cuda.device_count()} CUDA devices.")
    return device
