"""Decode steps on a GPU as CUDA graphs: all kernels of a step are launched at once, with those for what frames show.

A graph (https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs) uses the same memory and shapes each time.
So a step is recorded for each number of sequences and each number of keys, rounded up. A pass copies its input to the
memory that the graph reads, and masks the keys beyond its own. The graph joins what is shown of the pass, and one copy
brings it to the host, the only time that the host waits. Outputs stay until the next pass.

A graph that misses some of the work would show old values as new ones. So each new graph is compared, on other tokens,
with the modules that it was recorded from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.engine.batch import hidden_keys
from kvscope.model.engine.capture import Capture, CapturedRows, captured_rows
from kvscope.model.engine.changes import Changing, Edit
from kvscope.model.engine.distribution import Distribution, described, distributions, sums
from kvscope.model.engine.packing import Like, pack, unpack
from kvscope.model.engine.runner import Observers
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import KVCache
from kvscope.model.transformer import AttentionGroup, Batch, Entering, Transformer

KEYS = 128
"""The number of keys in a graph is a multiple of this."""
MAX_SIZES = 32
"""Number of sizes whose graphs stay in memory; the least recently used is dropped first."""
CLOSE = 1e-3
"""Largest difference between a graph's numbers and the modules' numbers, as a share of the largest one …"""
ALIKE = 0.9
"""… and the least share of integers that are equal: a rounded weight may differ by 1, two tokens may change places."""
GRAPHED, NOT_GRAPHED = "decode steps as CUDA graphs", "no CUDA graphs"
POINTS, BLOCK_POINTS = ("embedded", "final"), ("resid_in", "attn.q_rot", "attn.weights", "resid_out")
"""Hook points whose values a graph outputs."""

Values = list[Tensor]
Record = Callable[[Callable[[], Values]], tuple[Callable[[], None], Values]]
"""Takes a computation; returns a function that repeats it, and the tensors that hold the results."""

log = logging.getLogger(__name__)


class CudaGraphs:
    """A `Record` for the current GPU. It first computes once without recording, so that libraries allocate memory.

    Only one graph runs at a time, so all graphs share the memory of intermediate values.
    """

    @cached_property
    def _pool(self) -> Any:
        return torch.cuda.graph_pool_handle()

    @cached_property
    def _side(self) -> torch.cuda.Stream:
        return torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def __call__(self, compute: Callable[[], Values]) -> tuple[Callable[[], None], Values]:
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            compute()
        torch.cuda.current_stream().wait_stream(self._side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, self._pool, self._side, capture_error_mode="thread_local"):
            values = compute()
        return graph.replay, values


class GraphedSteps:
    """Passes of `transformer` over `cache` as graphs that `record` makes; None: `CudaGraphs`.

    If a graph cannot be made, `say` is called once with the reason, and no more graphs are used.
    """

    by: ComputedBy = "graph"

    def __init__(
        self, transformer: Transformer, cache: KVCache, say: Callable[[str], None], record: Record | None = None
    ):
        self._points = {
            *POINTS,
            *(f"blocks.{n}.{point}" for n in range(len(transformer.blocks)) for point in BLOCK_POINTS),
        }
        self._say, self._given_up = say, bool(transformer.config.experts)  # the host reads which experts are chosen
        self._of_size = lru_cache(MAX_SIZES)(
            partial(GraphedStep, transformer, cache, record or CudaGraphs(), self._points)
        )

    def can_apply(self, edits: Iterable[Edit]) -> bool:
        return False

    def over(self, cache: KVCache) -> None:
        """Returns None: to record a graph takes longer than a few passes."""

    @torch.inference_mode()
    def for_pass(
        self,
        batch: Batch,
        observers: Observers,
        changing: Changing | None,
        *,
        capture: bool,
        layers: int | None,
        entering: Entering | None,
    ) -> GraphedStep | None:
        """Returns the graph for this pass; None for several new rows in a sequence, changes, other hook points, a model
        with experts, rows that enter a later layer, or failure.
        """
        group = batch.one_row_each
        if self._given_up or group is None or changing or entering or not self._points.issuperset(observers):
            return None
        try:
            step = self._of_size(group.sequences, -(-group.keys // KEYS) * KEYS, layers, capture)
            step.take(batch, observers)
        except RuntimeError as error:
            log.exception("recording a CUDA graph failed")
            self._given_up = True
            self._say(str(error).partition("\n")[0])
            return None
        return step


class GraphedStep:
    """Computes passes of one new row for each of `sequences` sequences, with at most `keys` keys, in the first `layers`
    layers. `shown`: hook points whose values it outputs. `capture`: also compute what frames show.
    """

    chosen = shares = torch.empty(0)
    layer_ms = None

    def __init__(
        self,
        transformer: Transformer,
        cache: KVCache,
        record: Record,
        shown: Iterable[str],
        sequences: int,
        keys: int,
        layers: int | None,
        capture: bool,
    ):
        self._transformer, self._cache, self._record = transformer, cache, record
        self._sequences, self._keys, self._layers, self._capture = sequences, keys, layers, capture
        points = hook_points(transformer)
        self._points = {name: points[name] for name in shown}
        self._input = torch.zeros(sequences * (4 + keys), dtype=torch.long, device=cache.pool.device)
        self._replay: Callable[[], None] | None = None
        self._packed, self._like = torch.empty(0), Like()

    def take(self, batch: Batch, observers: Observers) -> None:
        """Copies a pass's input to the memory that the graph reads. Raises RuntimeError if it cannot be made."""
        self._batch, self._observers = batch, observers
        (group,) = batch.groups
        slots = group.slots.view(group.sequences, group.keys)
        padded = torch.cat((slots, slots[:, :1].expand(-1, self._keys - group.keys)), dim=1)
        newest = torch.tensor(group.lengths) - 1
        numbers = torch.cat((batch.ids, batch.positions, batch.slots, newest, padded.flatten()))
        self._input.copy_(numbers, non_blocking=True)
        if self._replay is None:
            self._make()
            self._input.copy_(numbers, non_blocking=True)

    def _compute(self) -> Values:
        """Computes the pass by the modules: what is shown of it, packed, the logits, and the values of hook points."""
        B, K, window = self._sequences, self._keys, self._transformer.config.window
        ids, positions, slots, newest, keys = self._input.split_with_sizes([B, B, B, B, B * K])
        hidden = hidden_keys(newest, 1, K)
        far = hidden if window is None else hidden_keys(newest, 1, K, window)
        group = AttentionGroup(0, B, 1, (K,) * B, keys, hidden, far)
        batch = Batch(ids, positions, slots, (group,), torch.arange(B, device=ids.device))
        recording, seen = Capture(self._transformer.config), dict[str, Tensor]()
        observers = {name: partial(seen.__setitem__, name) for name in self._points}
        with observing(self._points, observers), observing(self._points, recording.observers):
            logits = self._transformer(batch, self._cache, self._layers)
        shown = [*described(logits), *recording.values(batch, self._cache)] if self._capture else [sums(logits)]
        packed, self._like = pack(shown)
        self._seen = list(seen)
        return [packed, logits, *seen.values()]

    def _make(self) -> None:
        """Records the pass with random tokens. The pass itself then overwrites the K and V that recording writes."""
        ids = self._input[: self._sequences]
        ids.random_(self._transformer.config.vocab)
        replay, values = self._record(self._compute)
        ids.random_(self._transformer.config.vocab)  # others than when it was recorded
        packed, *expected = [value.clone() for value in self._compute()]
        replay()
        pairs = [*zip(unpack(values[0], self._like), unpack(packed, self._like), strict=True)]
        pairs += [(value.cpu().numpy(), other.cpu().numpy()) for value, other in zip(values[1:], expected, strict=True)]
        if not all(_is_close(value, other) for value, other in pairs):
            raise RuntimeError("a CUDA graph gives other values than what it was recorded from")
        self._replay, (self._packed, self._logits, *self._values) = replay, values

    def __call__(self, some: int | None, paused: Callable[[], None]) -> Tensor:
        """Computes logits [sequences, V], and shows the values of hook points to their observers."""
        assert self._replay is not None
        self._replay()
        self._host = unpack(self._packed, self._like)
        for name, value in zip(self._seen, self._values, strict=True):
            for observer in self._observers.get(name, ()):
                observer(value)
        return self._logits

    @property
    def distributions(self) -> list[Distribution]:
        return distributions(self._logits, *self._host[:5])

    @property
    def captured(self) -> list[CapturedRows]:
        return captured_rows(self._batch, *self._host[5:]) if self._capture else []


def _is_close(value: np.ndarray, reference: np.ndarray) -> bool:
    if value.dtype.kind == "f":
        return bool(np.abs(value - reference).max() <= CLOSE * np.abs(reference).max())
    return bool((value == reference).mean() >= ALIKE)
