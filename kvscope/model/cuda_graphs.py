"""Decode steps on a GPU as CUDA graphs: the fifty kernels of a block are launched at once, and so are the head's.

A graph (https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs) uses the same memory and shapes each time.
So the blocks and the head are recorded for each number of sequences and each number of keys, rounded up. A pass copies
its input to the memory that the graphs read, and masks the keys beyond its own. Outputs stay until the next pass.

A graph that misses some of the work would show old values as new ones. So each new graph is compared, on other rows,
with the modules that it was recorded from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.hooks import HookPoint, hook_points, observing
from kvscope.model.kv_cache import KVCache
from kvscope.model.transformer import AttentionGroup, Batch, Rope, Transformer

KEYS = 128
"""The number of keys in a graph is a multiple of this."""
MAX_SIZES = 32
"""Number of sizes whose graphs stay in memory; the least recently used is dropped first."""
CLOSE = 1e-3
"""Largest difference between a graph's values and the modules' values, as a share of the largest value."""
GRAPHED, NOT_GRAPHED = "decode steps as CUDA graphs", "no CUDA graphs"
BLOCK_POINTS = ("resid_in", "attn.q_rot", "attn.weights", "resid_out")
"""Hook points of a block whose values its graph outputs."""
HEAD_POINTS = ("final",)

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
        self._shown = {"embedded", *HEAD_POINTS}
        self._shown |= {f"blocks.{layer}.{point}" for layer in range(len(transformer.blocks)) for point in BLOCK_POINTS}
        self._say, self._given_up = say, False
        self._of_size = lru_cache(MAX_SIZES)(partial(GraphedStep, transformer, cache, record or CudaGraphs()))

    @torch.inference_mode()
    def for_pass(self, batch: Batch, observed: Iterable[str], written: Iterable[str]) -> GraphedStep | None:
        """Returns the graphs for this pass; None for several new rows in a sequence, other hook points, or failure."""
        group = batch.one_row_each
        if self._given_up or group is None or any(written) or not self._shown.issuperset(observed):
            return None
        try:
            step = self._of_size(group.sequences, -(-group.keys // KEYS) * KEYS)
            step.take(batch)
        except RuntimeError as error:
            log.exception("recording a CUDA graph failed")
            self._given_up = True
            self._say(str(error).partition("\n")[0])
            return None
        return step


class GraphedStep:
    """Replaces the transformer in passes of one new row for each of `sequences` sequences, with at most `keys` keys."""

    def __init__(self, transformer: Transformer, cache: KVCache, record: Record, sequences: int, keys: int):
        self._transformer, self._cache, self._record = transformer, cache, record
        new = partial(torch.zeros, device=cache.pool.device)
        self._rows, self._last = new(sequences, transformer.config.d), new(sequences, transformer.config.d)
        self._slots, self._keys = new(sequences, dtype=torch.long), new(sequences, keys, dtype=torch.long)
        self._visible, self._near = (new(sequences, 1, 1, 1, keys, dtype=torch.bool) for _ in range(2))
        self._ropes: tuple[Rope, Rope] = (None, None)
        self.blocks: list[Callable[..., Tensor]] = []
        """Called in place of the transformer's blocks; empty before the first `take`."""

    def take(self, batch: Batch) -> None:
        """Copies a pass's input to the memory that the graphs read. Raises RuntimeError if they cannot be made."""
        (group,) = batch.groups
        self._slots.copy_(batch.slots)
        slots = group.slots.view(group.sequences, group.keys)
        self._keys[:, : group.keys] = slots
        self._keys[:, group.keys :] = slots[:, :1]
        for mask, visible in ((self._visible, group.visible), (self._near, group.near)):
            mask.zero_()
            mask[..., : group.keys] = True if visible is None else visible
        if not self.blocks:
            self._make(batch)
            return
        for rope, now in zip(self._ropes, self._transformer.ropes(batch.positions), strict=True):
            for target, angles in zip(rope or (), now or (), strict=True):
                target.copy_(angles)

    def _make(self, batch: Batch) -> None:
        """Records the parts on random rows. The pass itself then overwrites the K and V that recording writes."""
        transformer = self._transformer
        self._ropes = transformer.ropes(batch.positions)
        lengths = (self._keys.shape[1],) * len(self._slots)
        group = AttentionGroup(0, len(self._slots), 1, lengths, self._keys.flatten(), self._visible, self._near)
        static = Batch(batch.ids, batch.positions, self._slots, (group,), batch.out_rows)
        rows = self._rows.normal_()
        blocks = []
        for layer, block in enumerate(transformer.blocks):
            points = {name: point for name, point in hook_points(block).items() if name in BLOCK_POINTS}
            around = (static, self._ropes[transformer.config.has_window(layer)], self._cache, layer)
            blocks.append(GraphedPart(block, rows, around, points, self._record))
            rows = blocks[-1].out
        points = {name: getattr(transformer, name) for name in HEAD_POINTS}
        self._logits = GraphedPart(transformer.decode_rows, self._last, (), points, self._record)
        self._first, self.blocks = blocks[0], [self._enter, *blocks[1:]]

    def _enter(self, rows: Tensor, *around: object) -> Tensor:
        self._rows.copy_(rows)
        return self._first()

    def head(self, rows: Tensor) -> Tensor:
        """Computes logits [sequences, V] from rows of the residual stream [sequences, D]."""
        self._last.copy_(rows)
        return self._logits()


class GraphedPart:
    """The graph of a part of the transformer. Its arguments, `rows` and `around`, stay in the same memory.

    `points`: the part's hook points. Raises RuntimeError if the graph's values differ from the part's.
    """

    def __init__(
        self,
        part: Callable[..., Tensor],
        rows: Tensor,
        around: tuple[object, ...],
        points: Mapping[str, HookPoint],
        record: Record,
    ):
        self._points = list(points.values())

        def compute() -> Values:
            observed: dict[str, Tensor] = {}
            with observing(points, {name: partial(observed.__setitem__, name) for name in points}):
                out = part(rows, *around)
            return [out, *(observed[name] for name in points)]

        self._replay, (self.out, *self._observed) = record(compute)
        rows.normal_()  # other values than when it was recorded
        expected = [value.clone() for value in compute()]
        self._replay()
        for value, reference in zip((self.out, *self._observed), expected, strict=True):
            if not (value - reference).abs().amax() <= CLOSE * reference.abs().amax():
                raise RuntimeError("a CUDA graph gives other values than what it was recorded from")

    def __call__(self, *_: object) -> Tensor:
        """Runs the graph. It reads its input from the recorded memory, not from the arguments."""
        self._replay()
        for point, value in zip(self._points, self._observed, strict=True):
            point(value)
        return self.out
