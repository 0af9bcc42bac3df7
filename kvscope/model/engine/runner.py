"""The forward pass: it computes all rows of runs, searches and replays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.capture import Capture, CapturedRows, captured_rows, with_experts
from kvscope.model.engine.changes import Changes, Changing, Edit
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.eviction import LookedAt
from kvscope.model.engine.experts import ChosenExperts
from kvscope.model.engine.packing import on_host
from kvscope.model.engine.threads import threads_for
from kvscope.model.hooks import HookPoint, Observer, hook_points, observing, writing
from kvscope.model.kv_cache import KVCache
from kvscope.model.pieces import PIECE_ROWS, in_pieces, pause
from kvscope.model.transformer import Batch, Entering, Transformer
from kvscope.model.weights import ByFormat, added, always_read, expert_read, weights_read

Observers = Mapping[str, Sequence[Observer]]
"""Observers by the name of their hook point."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The results of one forward pass, in batch order. Times are wall times in milliseconds."""

    order: list[int]
    """For each sequence of the batch, the index of its entry."""
    logits: Tensor
    """[rows, V]: the last `outputs` rows of each sequence"""
    outputs: list[int]
    """How many rows of the logits each sequence has."""
    captured: list[CapturedRows]
    """Empty if nothing was captured."""
    looked_at: list[Tensor]
    """[layers, Hkv, keys] of each sequence: the attention that its rows got; empty unless `attention` was set."""
    forward_ms: float
    capture_ms: float
    weights: ByFormat
    """Bytes of the matrices of blocks and head that the pass read, by format."""
    by: ComputedBy
    layer_ms: tuple[float, ...] | None
    """Each layer's part of `forward_ms`, None if not measured."""
    distributions: list[Distribution]
    """Of each row of the logits."""

    def distributions_of(self, place: int) -> list[Distribution]:
        """Returns the distributions of the output rows of the sequence at index `place` of the batch."""
        start = sum(self.outputs[:place])
        return self.distributions[start : start + self.outputs[place]]


class WholeStep(Protocol):
    """Computes one pass in place of the transformer, with what frames show of it."""

    chosen: Tensor
    shares: Tensor

    @property
    def captured(self) -> list[CapturedRows]: ...

    def __call__(self, some: int | None, paused: Callable[[], None]) -> Tensor:
        """Computes logits [N, V]. Calls `paused` after each `some` layers, if it can."""
        ...

    @property
    def layer_ms(self) -> tuple[float, ...] | None: ...

    @property
    def distributions(self) -> list[Distribution]: ...


class WholeSteps(Protocol):
    by: ComputedBy

    def can_apply(self, edits: Iterable[Edit]) -> bool: ...

    def for_pass(
        self,
        batch: Batch,
        observers: Observers,
        changing: Changing | None,
        *,
        capture: bool,
        layers: int | None,
        entering: Entering | None,
    ) -> WholeStep | None:
        """Returns what computes this pass, with the first `layers` layers, and shows its values to `observers`. None if
        it does not have one of these hook points, cannot apply the changes, or does not compute such a pass.
        """
        ...

    def over(self, cache: KVCache) -> WholeSteps | None:
        """Returns the same over another cache; None if it would not be faster for a few passes."""
        ...


class Pauses:
    """Pauses, and adds up how long."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> None:
        began = time.perf_counter()
        pause()
        self.seconds += time.perf_counter() - began


def layers_per_piece(transformer: Transformer, rows: int) -> int:
    """Returns how many layers of a pass of `rows` rows are one piece."""
    return max(1, PIECE_ROWS * len(transformer.blocks) // rows)


def together(watched: Iterable[Mapping[str, Observer]], points: Mapping[str, HookPoint]) -> Observers:
    """Returns all observers by hook point. Raises KeyError for an unknown one."""
    merged: dict[str, list[Observer]] = {}
    for by_point in watched:
        for name, observer in by_point.items():
            if name not in points:
                raise KeyError(name)
            merged.setdefault(name, []).append(observer)
    return merged


class InPieces:
    """The blocks for a pass of `rows` rows, with a pause after every few of them.

    `paused`: called for each pause; it may detach observers, which must not see the passes of other runs.
    """

    def __init__(self, transformer: Transformer, rows: int, paused: Callable[[], None] = pause):
        blocks = list(transformer.blocks)
        self._layers = layers_per_piece(transformer, rows)
        self._paused = paused
        self.blocks: Sequence[Callable[..., Tensor]] = [partial(self._block, block) for block in blocks]

    def _block(self, block: Callable[..., Tensor], rows: Tensor, *others: Any) -> Tensor:
        layer = others[-1]
        if layer and layer % self._layers == 0:
            self._paused()
        return block(rows, *others)


class Runner:
    """Runs `transformer` over `cache`, both on `device`."""

    def __init__(self, transformer: Transformer, cache: KVCache, device: str):
        self.transformer = transformer
        self.cache = cache
        self.device = device
        self.points = hook_points(transformer)
        self._weights = weights_read(always_read(transformer))
        self._of_expert = expert_read(transformer)
        self.spare = 1
        """How many processors a pass of one row leaves free for others, such as the browser."""
        self.steps: WholeSteps | None = None
        """What computes whole passes faster than the transformer's lines: native code or CUDA graphs; None if nothing
        does.
        """

    def beside(self, blocks: int) -> Runner:
        """Returns a runner of the same transformer over an empty cache of `blocks` blocks."""
        runner = Runner(self.transformer, type(self.cache)(self.transformer.config, blocks, self.device), self.device)
        runner.steps = self.steps and self.steps.over(runner.cache)
        return runner

    def can_apply(self, changes: Changes | None) -> bool:
        """Returns whether a pass with these changes is computed as fast as one without."""
        return changes is None or self.steps is None or self.steps.can_apply(changes.edits)

    def run(
        self,
        entries: list[Entry],
        observers: Mapping[str, Observer] | None = None,
        *,
        capture: bool = False,
        attention: bool = False,
        layers: int | None = None,
        entering: tuple[int, list[Tensor]] | None = None,
        alike: bool = False,
    ) -> Pass:
        """Computes the new rows of `entries` in one ragged batch, with `observers` by hook point name.

        `capture`: also returns the rows that frames show. `attention`: also returns how much attention each row got.
        `layers`: runs only the first ones. `entering`: begins at this layer, with these rows of each entry, [count, D].
        `alike`: does not use `steps`. Raises what the transformer or an observer raises, and KeyError for an unknown
        hook point.

        In a computation in pieces, each pass ends a piece, and a pass of many rows also pauses between layers. Its
        observers do not see passes during a pause.
        """
        with threads_for(sum(entry.count for entry in entries), self.spare):
            batch, order = make_batch(entries, self.transformer.config.window)
            experts = ChosenExperts(self.transformer.config) if self.transformer.config.experts else None
            attended = LookedAt(self.transformer.config) if attention else None
            sequences = [(entries[index].positions, entries[index].changes) for index in order]
            changing = Changing(sequences) if any(changes for _, changes in sequences) else None
            watched = [attended.observers if attended else {}, observers or {}]
            began = entering and Entering(entering[0], torch.cat([entering[1][index] for index in order]))
            whole = None
            if self.steps and not alike:
                observed = together(watched, self.points)
                whole = self.steps.for_pass(batch, observed, changing, capture=capture, layers=layers, entering=began)
            if whole:
                computed = self._compute(whole, len(batch.ids), experts)
            else:
                batch = batch.to(self.device)
                computed = self._compute_lines(batch, watched, changing, experts, layers, began, capture=capture)
            if experts and computed["captured"]:
                computed["captured"] = with_experts(computed["captured"], batch, experts)
            used = {name: size * experts.used for name, size in self._of_expert.items()} if experts else {}
            done = Pass(
                order=order,
                outputs=[entries[index].outputs for index in order],
                looked_at=attended.rows(batch) if attended else [],
                weights=added(self._weights, used),
                **computed,
            )
        pause()
        return done

    def _compute(self, whole: WholeStep, rows: int, experts: ChosenExperts | None) -> dict[str, Any]:
        """Returns the fields of `Pass` that a step of `steps` computes."""
        assert self.steps is not None
        pauses, started = Pauses(), time.perf_counter()
        logits = whole(layers_per_piece(self.transformer, rows) if in_pieces() else None, pauses)
        forward_s = time.perf_counter() - started - pauses.seconds
        if experts:
            experts.take(whole.chosen, whole.shares)
        return {
            "logits": logits,
            "distributions": whole.distributions,
            "captured": (captured := whole.captured),
            "forward_ms": forward_s * 1000,
            "capture_ms": 0.0,
            "by": self.steps.by,
            "layer_ms": whole.layer_ms if captured else None,
        }

    def _compute_lines(
        self,
        batch: Batch,
        watched: list[Mapping[str, Observer]],
        changing: Changing | None,
        experts: ChosenExperts | None,
        layers: int | None,
        entering: Entering | None,
        *,
        capture: bool,
    ) -> dict[str, Any]:
        """Returns the fields of `Pass` that the transformer computes."""
        recording = Capture(self.transformer.config) if capture else None
        watched = [each.observers for each in (recording, changing, experts) if each] + watched
        written = changing.writers if changing else {}
        blocks, pauses = None, Pauses()
        with ExitStack() as attached:

            def attach() -> None:
                for by_point in watched:
                    attached.enter_context(observing(self.points, by_point))
                attached.enter_context(writing(self.points, written))

            def detached_pause() -> None:
                attached.close()
                pauses()
                attach()

            if in_pieces():
                blocks = InPieces(self.transformer, len(batch.ids), detached_pause).blocks
            attach()
            started = time.perf_counter()
            logits: Tensor = self.transformer(batch, self.cache, layers, blocks, entering)
        self._synchronize()
        computed = time.perf_counter()
        return {
            "logits": logits,
            "distributions": list(map(Distribution, logits)),
            "captured": captured_rows(batch, *on_host(recording.values(batch, self.cache))) if recording else [],
            "forward_ms": (computed - started - pauses.seconds) * 1000,
            "capture_ms": (time.perf_counter() - computed) * 1000,
            "by": "lines",
            # On a GPU the host runs ahead: its clock measures when a layer was launched, not when it was computed.
            "layer_ms": recording.layer_ms if recording and self.device == "cpu" else None,
        }

    def _synchronize(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()
