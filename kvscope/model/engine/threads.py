"""Sets how many of torch's threads compute a pass, and the choice of a token after it.

A pass of one row, such as a decode step of one run, multiplies it by every weight matrix once: hundreds of products of
less than 1 ms each. In each product, all threads wait for the slowest. A thread that shares its processor costs more
time than it saves, so one processor stays free for others (measured in docs/measurements.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads_for(rows: int, spare: int = 1) -> Iterator[None]:
    """Inside, work on one row leaves `spare` processors free; work on more rows uses all threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, max(1, _processors() - spare)) if rows == 1 else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _processors() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
