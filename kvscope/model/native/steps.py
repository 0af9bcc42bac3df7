"""Computes a whole forward pass by `step` of kernels.c, with what frames show of it, in one call.

The call writes all values of a layer to a buffer. If a hook point has observers, each layer is a call with its own
buffer, and its values pass the same hook points as torch's would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ctypes import CDLL, POINTER, Structure, byref, c_double, c_float, c_int32, c_int64, c_void_p
from functools import lru_cache, partial
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.config import ModelConfig
from kvscope.model.engine.candidates import TAIL_BINS, TOP, Candidates
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.changes import Changing, Edit
from kvscope.model.engine.distribution import Distribution, Summary
from kvscope.model.engine.experts import NO_EXPERT
from kvscope.model.engine.runner import Observers
from kvscope.model.hooks import hook_points
from kvscope.model.kv_cache import KVCache
from kvscope.model.native.model import Model, NativeModel
from kvscope.model.native.products import function, pointer
from kvscope.model.pieces import pause
from kvscope.model.transformer import AttentionGroup, Batch, Entering, Transformer

VALUES = (
    *("normed", "qkv", "qk", "rotated", "scores", "weights", "mixed", "attn_raw", "change", "middle"),
    *("mlp_normed", "gate_up", "hidden", "mlp_raw", "mlp_change", "ends", "probabilities", "expert", "scratch"),
)
"""The values that a call writes to the buffer, in the order of `struct pass`."""
POINTS = {
    name: number
    for number, name in enumerate(
        ("embedded", "attn.mixed", "attn.change", "mlp.change", "resid_out", "attn.k_rot", "attn.v")
    )
}
"""`enum point`: the hook points at which a pass can be changed."""
SOME_SCORES = 4096
"""The room for scores grows in steps of this, so that the same layout serves many passes."""
QUARTERS = 4
"""Parts of the logits that are counted separately."""
CAPTURED = {"attention": "attention", "q": "q_norm", "k": "k_norm", "v": "v_norm", "residual": "residual_norm"}
"""The field of `CapturedRows` that each field of `struct sequence` points to."""


class NativeSequence(Structure):
    """`struct sequence`."""

    _fields_ = (
        *((name, c_int64) for name in ("start", "queries", "keys")),
        ("slots", c_void_p * 2),
        *((name, c_int64) for name in ("scores", "padded")),
        *((name, c_void_p) for name in CAPTURED),
    )


class NativeEdit(Structure):
    """`struct edit`."""

    _fields_ = (
        *((name, c_int64) for name in ("point", "layer", "first", "end", "start", "width")),
        *(("add", c_void_p), ("each", c_int64), ("keep", c_float), ("based", c_int32)),
    )


class NativeSummary(Structure):
    """`struct summary`."""

    _fields_ = (
        *((name, c_double) for name in ("sum", "weighted")),
        *((name, c_float) for name in ("largest", "smallest")),
        ("best", c_int64),
        *((name, c_void_p) for name in ("ids", "counts", "top")),
        ("finite", c_int32),
    )


class NativePass(Structure):
    """`struct pass`."""

    _fields_ = (
        *(("ids", c_void_p), ("positions", c_void_p), ("own", c_void_p * 2), ("out_rows", c_void_p)),
        *(("sequences", POINTER(NativeSequence)), ("edits", POINTER(NativeEdit))),
        *((name, c_int64) for name in ("rows", "outs", "members", "edits_count", "first", "end", "with_head", "whole")),
        *((name, c_int64) for name in VALUES),
        *((name, c_void_p) for name in ("buffer", "input", "final", "logits", "chosen", "shares", "seconds")),
        ("summaries", POINTER(NativeSummary)),
    )


class NativeSteps:
    """Native passes of `transformer` over `cache`."""

    by: ComputedBy = "native"

    def __init__(self, library: CDLL, transformer: Transformer, cache: KVCache):
        self.step = function(library.step, POINTER(Model), POINTER(NativePass), c_int64)
        self.over = partial(NativeSteps, library, transformer)
        self.config, self.cache = transformer.config, cache
        self.model = NativeModel(transformer, cache)
        self.layout = lru_cache(64)(partial(pass_layout, transformer.config, self.model.most_groups))
        self.points = hook_points(transformer)
        self.parts = parts_of(transformer.config)
        names = {f"blocks.{layer}.{part}" for layer in range(self.config.layers) for part in self.parts}
        self.shown = names & self.points.keys() | {"embedded", "final"}
        windows = [self.config.has_window(layer) for layer in range(self.config.layers)]
        self.examples = [windows.index(window) if window in windows else 0 for window in (False, True)]
        """A layer without a window and one with: slots have the same places in the cache in all such layers."""

    def can_apply(self, edits: Iterable[Edit]) -> bool:
        """Returns whether the native code has the hook points of all these edits."""
        return all(_point(edit) in POINTS for edit in edits)

    def for_pass(
        self,
        batch: Batch,
        observers: Observers,
        changing: Changing | None,
        *,
        capture: bool = False,
        layers: int | None = None,
        entering: Entering | None = None,
    ) -> NativeStep | None:
        """Returns a native step for this pass with the first `layers` layers; None if the native code does not have the
        values of one of these hook points, or cannot change one. `capture`: also compute what frames show.
        """
        if not observers.keys() <= self.shown or (changing and not self.can_apply(edit for *_, edit in changing.edits)):
            return None
        return NativeStep(self, batch, observers, changing, capture, layers, entering)


class NativeStep:
    """Computes one pass in place of the transformer."""

    def __init__(
        self,
        steps: NativeSteps,
        batch: Batch,
        observers: Observers,
        changing: Changing | None,
        capture: bool,
        layers: int | None,
        entering: Entering | None,
    ):
        config, rows, outs = steps.config, batch.ids.numel(), batch.out_rows.numel()
        self._steps, self._batch, self._observers = steps, batch, observers
        self._layers = config.layers if layers is None else layers
        self._first, self._embedded = entering or (0, torch.empty(rows, config.d))
        steps.model.reach(int(batch.positions.max()) + 1)
        scores = sum(prod(_attention(config, group)) for group in batch.groups)
        self._layout = steps.layout(rows, outs, -(-scores // SOME_SCORES) * SOME_SCORES)
        self.captured = list(_captured(config, batch)) if capture else []
        """What frames show of each sequence, in batch order; empty unless `capture` was set."""
        self._logits = torch.empty(outs, config.vocab)
        self._final = torch.empty(outs, config.d)
        routed = config.layers, rows, config.experts_chosen if config.experts else 0
        self.chosen, self.shares = torch.full(routed, NO_EXPERT, dtype=torch.int32), torch.zeros(routed)
        """[layers, T, X]: the experts of each row, largest share first, and their shares."""
        self._clock = np.zeros(config.layers + 1)
        self._candidates = [_room(min(TOP, config.vocab)) for _ in range(outs if capture else 0)]
        self._summaries = (NativeSummary * outs)()
        for summary, room in zip(self._summaries, self._candidates, strict=False):
            summary.ids, summary.top, summary.counts = (each.ctypes.data for each in room)
        own = [steps.cache.places(layer, batch.slots) for layer in steps.examples]
        slots = [[steps.cache.places(layer, group.slots) for layer in steps.examples] for group in batch.groups]
        sequences = list(_sequences(config, batch, slots, self.captured))
        edits = [] if changing is None else [_edit(config, *each) for each in changing.edits]
        self._referenced = own, slots, changing  # `_pass` points to their tensors
        self._pass = NativePass(
            *(
                pointer(batch.ids),
                pointer(batch.positions),
                (c_void_p * 2)(*map(pointer, own)),
                pointer(batch.out_rows),
            ),
            *((NativeSequence * len(sequences))(*sequences), (NativeEdit * len(edits))(*edits)),
            *(rows, outs, len(sequences), len(edits), 0, 0, 0, bool(observers), *self._layout.starts.values()),
            *(None, *map(pointer, (self._embedded, self._final, self._logits, self.chosen, self.shares))),
            self._clock.ctypes.data,
            self._summaries,
        )

    def __call__(self, some: int | None = None, paused: Callable[[], None] = pause) -> Tensor:
        """Computes logits [N, V]. Calls `paused` after each `some` layers; None: never."""
        native, last = self._pass, self._layers
        each = 1 if self._observers else some or last
        buffer, rows = torch.empty(self._layout.size), self._embedded
        for first in range(self._first, last, each):
            later = first > self._first
            if later and some and first % some == 0:
                paused()
            if self._observers and later:
                buffer = torch.empty(self._layout.size)  # observers may keep the values of the layer before
            native.first, native.end, native.input, native.buffer = (
                *(first, min(first + each, last)),
                *(pointer(rows), pointer(buffer)),
            )
            native.with_head = native.end == last
            self._steps.step(byref(self._steps.model.structure), byref(native), torch.get_num_threads())
            if self._observers:
                self._show(first, rows, buffer)
            rows = self._view(buffer, "ends")[(native.end - 1) % 2]
        return self._logits

    @property
    def layer_ms(self) -> tuple[float, ...]:
        """Milliseconds of each layer."""
        return tuple(np.diff(self._clock * 1000).tolist())

    @property
    def distributions(self) -> list[Distribution]:
        """The distribution of each output row. If its logits are not finite, reading its summary raises NotFinite."""
        distributions = []
        for row, native in enumerate(self._summaries):
            summary = best = None
            if native.finite:
                summary = Summary(native.best, native.largest, native.sum, native.weighted)
                if self._candidates:
                    ids, top, counts = self._candidates[row]
                    high = float(top[-1]) if len(ids) < self._steps.config.vocab else 0.0
                    best = Candidates(ids, top, counts[:TAIL_BINS], native.smallest, high)
            distributions.append(Distribution(self._logits[row], summary, best))
        return distributions

    def _show(self, layer: int, rows: Tensor, buffer: Tensor) -> None:
        """Passes the values of a layer to the observers of its hook points, in the order of the modules."""
        if layer == 0:
            self._pass_on("embedded", rows)
        for part, (value, first, end) in self._steps.parts.items():
            name = f"blocks.{layer}.{part}"
            if name not in self._observers:
                continue
            if value in ("scores", "weights"):
                start = 0
                for shape in (_attention(self._steps.config, group) for group in self._batch.groups):
                    self._pass_on(name, self._view(buffer, value)[start : start + prod(shape)].view(shape))
                    start += prod(shape)
            elif value == "ends":
                self._pass_on(name, self._view(buffer, value)[layer % 2])
            elif value in ("chosen", "shares"):
                self._pass_on(name, self.chosen[layer].long() if value == "chosen" else self.shares[layer])
            else:
                self._pass_on(name, rows if value == "" else self._view(buffer, value)[:, first:end])
        if self._pass.with_head:
            self._pass_on("final", self._final)

    def _pass_on(self, name: str, value: Tensor) -> None:
        for observer in self._observers.get(name, ()):
            observer(value)

    def _view(self, buffer: Tensor, value: str) -> Tensor:
        shape, start = self._layout.shapes[value], self._layout.starts[value]
        return buffer[start : start + prod(shape)].view(shape)


class Layout(NamedTuple):
    """The shape and place in the buffer of each of `VALUES`, and the buffer's size, in floats."""

    shapes: dict[str, tuple[int, ...]]
    starts: dict[str, int]
    size: int


def pass_layout(config: ModelConfig, groups: int, rows: int, outs: int, scores: int) -> Layout:
    """Returns the layout for passes of `rows` rows, of which `outs` have logits, with up to `scores` scores in a layer.
    `groups`: the most groups of a weight along its inputs.
    """
    T, H, Hkv, Dh, D, F = rows, config.heads, config.kv_heads, config.head_dim, config.d, config.d_mlp
    row, post = (T, D), (T, D) if config.post_norms else (0,)
    E, expert = config.experts, (3 * config.d_expert + D if config.experts else 0,)
    shapes: tuple[tuple[int, ...], ...] = (
        *(row, (T, H + 2 * Hkv, Dh), (T, H + Hkv, Dh) if config.qk_norm else (0,), (T, H + Hkv, Dh)),
        *((scores,), (scores,), (T, H, Dh), post, row, row, row, (T, (1 + config.gated) * F), (T, F), post, row),
        *((2, *row), (T, E), expert, (max(T, outs), groups)),
    )
    starts = [0, *accumulate(map(prod, shapes))]
    size = starts.pop()
    return Layout(dict(zip(VALUES, shapes, strict=True)), dict(zip(VALUES, starts, strict=True)), size)


def _attention(config: ModelConfig, group: AttentionGroup) -> tuple[int, ...]:
    """Returns the shape of a group's scores and weights."""
    return group.sequences, config.kv_heads, config.group, group.queries, group.keys


def _captured(config: ModelConfig, batch: Batch) -> Iterator[CapturedRows]:
    """Yields memory for what frames show of each sequence."""
    L, H, Hkv = config.layers, config.heads, config.kv_heads
    for group in batch.groups:
        Q = group.queries
        for length in group.lengths:
            lengths = ((L, H, Q), (L, Hkv, Q), (L, Hkv, Q), (L, Q))
            norms = (np.empty(shape, np.float16) for shape in lengths)
            yield CapturedRows(length - Q, np.empty((L, H, Q, length), np.uint8), *norms)


def _room(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns memory for the ids and logits of the best tokens and for the histograms of the others."""
    return np.empty(count, np.int32), np.empty(count, np.float32), np.empty(QUARTERS * TAIL_BINS, np.int32)


def _sequences(
    config: ModelConfig, batch: Batch, slots: list[list[Tensor]], captured: list[CapturedRows]
) -> Iterator[NativeSequence]:
    """Yields each sequence of the batch. `slots`: of each group, in layers without and with a window."""
    number = scores = 0
    for group, both in zip(batch.groups, slots, strict=True):
        for place, length in enumerate(group.lengths):
            sequence = NativeSequence(
                *(group.start + place * group.queries, group.queries, length),
                (c_void_p * 2)(*(each.data_ptr() + place * group.keys * each.itemsize for each in both)),
                *(scores, group.keys),
            )
            if captured:
                for name, field in CAPTURED.items():
                    setattr(sequence, name, getattr(captured[number], field).ctypes.data)
            yield sequence
            number += 1
            scores += config.heads * group.queries * group.keys


def _point(edit: Edit) -> str:
    """Returns the name of the edit's hook point in its layer."""
    return edit.point.split(".", 2)[-1]


def _edit(config: ModelConfig, rows: slice, positions: range, edit: Edit) -> NativeEdit:
    """Returns a `struct edit` of the rows `rows` of the pass, which are at these positions."""
    point = _point(edit)
    layer = int(edit.point.split(".")[1]) if point != edit.point else 0
    heads = {"attn.mixed": config.heads, "attn.k_rot": config.kv_heads, "attn.v": config.kv_heads}
    width = config.head_dim if point in heads else config.d
    start, count = (0, heads.get(point, 1)) if edit.head is None else (edit.head * width, 1)
    add, each = edit.add, edit.add is not None and edit.add.dim() > 1
    return NativeEdit(
        *(POINTS[point], layer, rows.start, rows.stop, start, width * count),
        *(None if add is None else add.data_ptr() + each * positions.start * add.stride(0) * add.itemsize, each),
        *(edit.keep, edit.base is not None),
    )


def parts_of(config: ModelConfig) -> dict[str, tuple[str, int, int | None]]:
    """Returns by hook point, in the order of the modules, the name of its value in `VALUES`, the first of its columns
    or heads, and the one after the last; None for all the rest. "": the input of the layer.
    """
    H, both, F = config.heads, config.heads + config.kv_heads, config.d_mlp
    qk = "qk" if config.qk_norm else "qkv"
    return {
        "resid_in": ("", 0, None),
        "attn.normed": ("normed", 0, None),
        "attn.q_raw": ("qkv", 0, H),
        "attn.k_raw": ("qkv", H, both),
        "attn.q": (qk, 0, H),
        "attn.k": (qk, H, both),
        "attn.v": ("qkv", both, None),
        "attn.q_rot": ("rotated", 0, H),
        "attn.k_rot": ("rotated", H, both),
        "attn.scores": ("scores", 0, None),
        "attn.weights": ("weights", 0, None),
        "attn.mixed": ("mixed", 0, None),
        "attn.raw_change": ("attn_raw", 0, None),
        "attn.change": ("change", 0, None),
        "resid_mid": ("middle", 0, None),
        "mlp.normed": ("mlp_normed", 0, None),
        "mlp.gate": ("gate_up", 0, F),
        "mlp.raised": ("gate_up", F if config.gated else 0, None),
        "mlp.hidden": ("hidden", 0, None),
        "mlp.raw_change": ("mlp_raw", 0, None),
        "mlp.probabilities": ("probabilities", 0, None),
        "mlp.chosen": ("chosen", 0, None),
        "mlp.shares": ("shares", 0, None),
        "mlp.change": ("mlp_change", 0, None),
        "resid_out": ("ends", 0, None),
    }
