"""Measure this machine's limits for the engine's work: bytes read per second and floating-point operations per second.

A step of one run multiplies a row by every weight once, so the bandwidth is measured with the product of a vector and a
matrix that is larger than any cache of the machine. Prefill multiplies many rows at a time: the peak is measured with a
product of two matrices. Both use the dtype of weights that are not in groups, the engine's device and all threads.

A step reads weights in the engine's format. Groups need more computation per byte and may fit into a cache. So the
products of a step are measured too: one row times each matrix of the model, in its format. The result is the median of
several takes, with their spread and the conditions that may have disturbed them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import isqrt
from statistics import median
from typing import Any

import torch

from kvscope.model.engine.conditions import Watch, conditions_record
from kvscope.model.linear import COMPUTED, Linear, name_of
from kvscope.model.pieces import pause_alone
from kvscope.model.weights import weights_read

READ_BYTES = 2**29
"""Bytes of the matrix for the bandwidth: about twice the largest known cache (260 MiB)."""
PRODUCT_SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the product's matrices by kind of device: they stay in the caches of a CPU and fill a GPU."""
LEAST_TAKES, MOST_TAKES = 5, 15
ENOUGH_S = 1.0
"""Seconds after which no further take starts, once there are LEAST_TAKES."""


def measure(
    device: str,
    dtype: torch.dtype = torch.float32,
    weights: Sequence[Linear] = (),
    *,
    read_bytes: int = READ_BYTES,
    product_side: int | None = None,
) -> dict[str, Any]:
    """Measures bandwidth, peak and a step's products, as JSON-able data (docs/frames.md, Measured).

    Takes a few seconds and 512 MB. `weights`: the matrices that a step multiplies by.
    """
    return {
        "device": device,
        "threads": torch.get_num_threads() if device == "cpu" else None,
        "dtype": name_of(dtype),
        "bandwidth": _bandwidth(device, dtype, isqrt(read_bytes // dtype.itemsize)),
        "peak": _peak(device, dtype, product_side or PRODUCT_SIDE[device.partition(":")[0]]),
        "weights": _products(device, weights),
    }


def _bandwidth(device: str, dtype: torch.dtype, side: int) -> dict[str, Any]:
    # Filled, not empty: the system maps all unwritten pages to one page, which stays in the cache.
    matrix, row = (torch.full(size, 0.5, device=device, dtype=dtype) for size in ((side, side), (side,)))
    return {"bytes": matrix.nbytes, **_rate(matrix.nbytes, lambda: torch.mv(matrix, row), device)}


@torch.inference_mode()
def _products(device: str, weights: Sequence[Linear]) -> dict[str, Any]:
    rows = {
        width: torch.full((1, width), 0.5, device=device, dtype=COMPUTED) for width in {w.in_features for w in weights}
    }
    read = weights_read(weights)

    def work() -> None:
        for weight in weights:
            weight(rows[weight.in_features])

    return {"formats": read, "bytes": sum(read.values()), **_rate(sum(read.values()), work, device)}


def _peak(device: str, dtype: torch.dtype, side: int) -> dict[str, Any]:
    left, right = (torch.full((side, side), 0.5, device=device, dtype=dtype) for _ in range(2))
    flops = 2 * side**3
    return {"flops": flops, **_rate(flops, lambda: torch.mm(left, right), device)}


def _rate(amount: int, work: Callable[[], Any], device: str) -> dict[str, Any]:
    watch = Watch()
    takes = _takes(work, device)
    return {
        "per_second": amount / median(takes),
        "spread": [amount / max(takes), amount / min(takes)],
        "takes_ms": [1000 * take for take in takes],
        "conditions": conditions_record(watch.conditions()),
    }


def _takes(work: Callable[[], Any], device: str) -> list[float]:
    """Returns the seconds of each take. One take before them, for the setup, is not counted."""
    _timed(work, device)
    takes: list[float] = []
    while len(takes) < LEAST_TAKES or (len(takes) < MOST_TAKES and sum(takes) < ENOUGH_S):
        takes.append(_timed(work, device))
    return takes


def _timed(work: Callable[[], Any], device: str) -> float:
    pause_alone()
    started = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started
