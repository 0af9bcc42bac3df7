"""The forward pass: it computes all rows of runs, searches and replays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

import torch
from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.capture import Capture, CapturedRows
from kvscope.model.engine.changes import Changing
from kvscope.model.engine.eviction import LookedAt
from kvscope.model.engine.experts import ChosenExperts
from kvscope.model.engine.threads import threads_for
from kvscope.model.hooks import Observer, hook_points, observing, writing
from kvscope.model.kv_cache import KVCache
from kvscope.model.pieces import PIECE_ROWS, in_pieces, pause
from kvscope.model.transformer import Batch, StandIn, Transformer
from kvscope.model.weights import ByFormat, added, always_read, expert_read, weights_read


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

    def logits_of(self, place: int) -> Tensor:
        """Returns the logits [outputs, V] of the sequence at index `place` of the batch."""
        start = sum(self.outputs[:place])
        return self.logits[start : start + self.outputs[place]]


class Steps(Protocol):
    by: ComputedBy

    def for_pass(self, batch: Batch, observed: Iterable[str], written: Iterable[str]) -> StandIn | None:
        """Returns what computes this pass in place of the transformer's blocks, given that these hook points are
        `observed` and `written`. None if the transformer computes it.
        """
        ...


class InPieces:
    """Computes the blocks of a pass of `rows` rows, and pauses after every few of them.

    `paused`: called for each pause; it may detach observers, which must not see the passes of other runs.
    """

    def __init__(self, transformer: Transformer, rows: int, paused: Callable[[], None] = pause):
        blocks = list(transformer.blocks)
        self._layers = max(1, PIECE_ROWS * len(blocks) // rows)
        self._paused = paused
        self.blocks: Sequence[Callable[..., Tensor]] = [partial(self._block, block) for block in blocks]
        self.head = transformer.decode_rows

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
        self.steps: Steps | None = None
        """What computes passes of one row per sequence faster; None if nothing does."""

    def run(
        self,
        entries: list[Entry],
        observers: Mapping[str, Observer] | None = None,
        *,
        capture: bool = False,
        attention: bool = False,
        layers: int | None = None,
        alike: bool = False,
    ) -> Pass:
        """Computes the new rows of `entries` in one ragged batch, with `observers` by hook point name.

        `capture`: also returns the rows that frames show. `attention`: also returns how much attention each row got.
        `layers`: runs only the first ones. `alike`: does not use `steps` for passes of one row. Raises what the
        transformer or an observer raises, and KeyError for an unknown hook point.

        In a computation in pieces, each pass ends a piece, and a pass of many rows also pauses between layers. Its
        observers do not see passes during a pause.
        """
        with threads_for(sum(entry.count for entry in entries), self.spare):
            batch, order, lengths = make_batch(entries, self.device, self.transformer.config.window)
            experts = ChosenExperts(self.transformer.config) if self.transformer.config.experts else None
            recording = Capture(self.transformer.config) if capture else None
            attended = LookedAt(self.transformer.config) if attention else None
            changed = any(entry.changes for entry in entries)
            sequences = ((entries[index].positions, entries[index].changes) for index in order)
            changing = Changing(sequences) if changed else None
            sources = [each for each in (recording, attended, experts, changing) if each]
            watched = [each.observers for each in sources] + [observers or {}]
            written = changing.writers if changing else {}
            steps = None if alike else self.steps
            step = steps.for_pass(batch, chain.from_iterable(watched), written) if steps else None
            by: ComputedBy = steps.by if steps and step else "lines"
            paused_s = 0.0
            with ExitStack() as attached:

                def attach() -> None:
                    for by_point in watched:
                        attached.enter_context(observing(self.points, by_point))
                    attached.enter_context(writing(self.points, written))

                def detached_pause() -> None:
                    nonlocal paused_s
                    attached.close()
                    began = time.perf_counter()
                    pause()
                    paused_s += time.perf_counter() - began
                    attach()

                if in_pieces() and step is None:
                    step = InPieces(self.transformer, len(batch.ids), detached_pause)
                attach()
                started = time.perf_counter()
                logits: Tensor = self.transformer(batch, self.cache, layers, step)
            self._synchronize()
            computed = time.perf_counter()
            captured = recording.rows(batch, lengths, self.cache, experts) if recording else []
            used = {name: size * experts.used for name, size in self._of_expert.items()} if experts else {}
            done = Pass(
                order=order,
                logits=logits,
                outputs=[entries[index].outputs for index in order],
                captured=captured,
                looked_at=attended.rows(batch, lengths) if attended else [],
                forward_ms=(computed - started - paused_s) * 1000,
                weights=added(self._weights, used),
                by=by,
                capture_ms=(time.perf_counter() - computed) * 1000,
                # On a GPU the host runs ahead: its clock measures when a layer was launched, not when it was computed.
                layer_ms=recording.layer_ms if recording and self.device == "cpu" else None,
            )
        pause()
        return done

    def _synchronize(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()
