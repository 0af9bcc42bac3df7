"""How many of torch's threads a pass runs on, and the choice of a token after it.

A pass of one row, such as a decode step of one run, multiplies it by every weight matrix once: hundreds of products
that last less than a millisecond each, at each of which all threads wait for the last. One that has to share its
processor costs more than it brings, so one processor is left to others. docs/measurements.md has what was measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads_for(rows: int, spare: int = 1) -> Iterator[None]:
    """Inside, what is done to one row leaves `spare` processors to others; more rows take all threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, max(1, _processors() - spare)) if rows == 1 else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
