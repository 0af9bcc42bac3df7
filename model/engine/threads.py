"""How many of torch's threads a pass runs on, and the choice of a token after it.

A pass of one row, such as a decode step of one run, multiplies it by every weight matrix once: hundreds of products
that last less than a millisecond each. Threads that sleep in between (`OMP_WAIT_POLICY=passive`, OpenMP 5.2, section
21.7) take longer to wake than such a product gains by them. docs/measurements.md has what was measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads_for(rows: int) -> Iterator[None]:
    """Inside, what is done to one row leaves a processor to others if threads sleep; more rows take all threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, max(1, _processors() - 1)) if rows == 1 and _threads_sleep() else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _threads_sleep() -> bool:
    return os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
