"""Decode steps on a GPU as CUDA graphs: the fifty kernels of a block are launched at once, and so are the head's.

A graph (https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs) works on the same memory in the same shapes
each time. So blocks and head are recorded for each number of sequences, and of keys rounded up; a pass copies what it
brings to where the graphs read it, and keys that no sequence has are masked. What they give stays until the next pass.

A graph that misses some of the work would show old values as new ones. So each is compared, when it is recorded, with
what it was recorded from, on other rows.
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
"""Graphs are of a multiple of so many keys."""
KEPT = 32
"""Sizes whose graphs are kept, the least recently used going first."""
CLOSE = 1e-3
"""How far a graph's values may be from those of the modules it was recorded from, in parts of the largest."""
GRAPHED, NOT_GRAPHED = "decode steps as CUDA graphs", "no CUDA graphs"
BLOCK_POINTS = ("resid_in", "attn.q_rot", "attn.weights", "resid_out")
"""Hook points of a block whose values its graph gives."""
HEAD_POINTS = ("final",)

Values = list[Tensor]
Record = Callable[[Callable[[], Values]], tuple[Callable[[], None], Values]]
"""From a computation to what does it again, and the tensors that hold what it then gives."""

log = logging.getLogger(__name__)


class CudaGraphs:
    """A `Record` for work on the current GPU, which it does once before: libraries make room for themselves then.

    One graph is replayed at a time, so they share the memory of what nobody sees.
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
    """`transformer` over `cache` in graphs made by `record`, of the GPU where it is None.

    Where one cannot be made, `say` hears why, once.
    """

    by: ComputedBy = "graph"

    def __init__(
        self, transformer: Transformer, cache: KVCache, say: Callable[[str], None], record: Record | None = None
    ):
        self._shown = {"embedded", *HEAD_POINTS}
        self._shown |= {f"blocks.{layer}.{point}" for layer in range(len(transformer.blocks)) for point in BLOCK_POINTS}
        self._say, self._given_up = say, False
        self._of_size = lru_cache(KEPT)(partial(GraphedStep, transformer, cache, record or CudaGraphs()))

    @torch.inference_mode()
    def for_pass(self, batch: Batch, observed: Iterable[str], written: Iterable[str]) -> GraphedStep | None:
        """What takes this pass: one new row of each of its sequences, with nobody at a hook point within a graph."""
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
    """Stands in for the transformer in passes of one new row of each of `sequences` that have `keys` keys at most."""

    def __init__(self, transformer: Transformer, cache: KVCache, record: Record, sequences: int, keys: int):
        self._transformer, self._cache, self._record = transformer, cache, record
        new = partial(torch.zeros, device=cache.pool.device)
        self._rows, self._last = new(sequences, transformer.config.d), new(sequences, transformer.config.d)
        self._slots, self._keys = new(sequences, dtype=torch.long), new(sequences, keys, dtype=torch.long)
        self._visible, self._near = (new(sequences, 1, 1, 1, keys, dtype=torch.bool) for _ in range(2))
        self._ropes: tuple[Rope, Rope] = (None, None)
        self.blocks: list[Callable[..., Tensor]] = []
        """To be called as the transformer's are; none before the first `take`."""

    def take(self, batch: Batch) -> None:
        """Put what a pass brings where the graphs read it. Raises RuntimeError where they cannot be made."""
        (group,) = batch.groups
        self._slots.copy_(batch.slots)
        slots = group.slots.view(group.sequences, group.keys)
        self._keys[:, : group.keys] = slots
        self._keys[:, group.keys :] = slots[:, :1]
        for mask, seen in ((self._visible, group.visible), (self._near, group.near)):
            mask.zero_()
            mask[..., : group.keys] = True if seen is None else seen
        if not self.blocks:
            self._make(batch)
            return
        for rope, now in zip(self._ropes, self._transformer.ropes(batch.positions), strict=True):
            for place, turn in zip(rope or (), now or (), strict=True):
                place.copy_(turn)

    def _make(self, batch: Batch) -> None:
        """Record the parts, over any rows: the K and V that this writes are those that the pass writes anew."""
        transformer = self._transformer
        self._ropes = transformer.ropes(batch.positions)
        group = AttentionGroup(0, len(self._slots), 1, self._keys.flatten(), self._visible, self._near)
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
        """Rows of the residual stream [sequences, D] to logits [sequences, V]."""
        self._last.copy_(rows)
        return self._logits()


class GraphedPart:
    """A part of the transformer over `rows` and what is `around` them, which stay where they are.

    `points`: hook points that it passes. Raises RuntimeError where the graph does not give what the part gives.
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
            seen: dict[str, Tensor] = {}
            with observing(points, {name: partial(seen.__setitem__, name) for name in points}):
                out = part(rows, *around)
            return [out, *(seen[name] for name in points)]

        self._replay, (self.out, *self._seen) = record(compute)
        rows.normal_()  # others than were recorded
        expected = [value.clone() for value in compute()]
        self._replay()
        for value, wanted in zip((self.out, *self._seen), expected, strict=True):
            if not (value - wanted).abs().amax() <= CLOSE * wanted.abs().amax():
                raise RuntimeError("a CUDA graph gives other values than what it was recorded from")

    def __call__(self, *given: object) -> Tensor:
        """What is given stands where the graph reads it."""
        self._replay()
        for point, value in zip(self._points, self._seen, strict=True):
            point(value)
        return self.out
