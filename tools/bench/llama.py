"""llama.cpp as a contender, in its own process, so that it shares no threads with another contender.

It keeps the file's 4-bit groups, rounds activations to int8 for the products, and captures nothing.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

INSTALL = "pip install -e '.[bench]'"


def installed() -> bool:
    return find_spec("llama_cpp") is not None


class LlamaCpp:
    """A GGUF file loaded by llama.cpp. `positions`: the most tokens of a run, its prompt among them."""

    def __init__(self, path: Path, threads: int, positions: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        context.Process(target=_serve, args=(theirs, str(path), threads, positions), daemon=True).start()
        theirs.close()

    def answer(self, ids: list[int], tokens: int) -> tuple[float, float]:
        """Chooses greedy tokens after the prompt `ids`. Returns the seconds to the first, and from it to the last.

        Raises EOFError if the process has ended; the reason is on standard error.
        """
        self._connection.send((ids, tokens))
        first, rest = self._connection.recv()
        return first, rest


def _serve(connection: Connection, path: str, threads: int, positions: int) -> None:
    """Answers until the other end is closed."""
    from llama_cpp import Llama

    model = Llama(path, n_ctx=positions, n_threads=threads, n_threads_batch=threads, n_gpu_layers=0, verbose=False)
    with suppress(EOFError):
        while True:
            ids, tokens = connection.recv()
            model.reset()  # or the prompt would be read from the cache of the previous call
            began = time.perf_counter()
            times = [time.perf_counter() for _ in islice(model.generate(ids, temp=0.0), tokens)]
            connection.send((times[0] - began, times[-1] - times[0]))
