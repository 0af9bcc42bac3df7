"""The forward pass: every row that is ever computed, of a run, a search or a second look, goes through here."""

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
    """What one forward pass gave of each sequence. Times are wall times in milliseconds."""

    order: list[int]
    """Place among the entries of each sequence of the batch, in whose order the rest of this stands."""
    logits: Tensor
    """[rows, V], of the last rows of each: as many as its entry has `outputs`"""
    outputs: list[int]
    """How many rows of the logits each has."""
    captured: list[CapturedRows]
    """Empty where nothing was captured."""
    looked_at: list[Tensor]
    """[keys] of each, the attention that its rows got; empty where nobody wanted it."""
    forward_ms: float
    capture_ms: float
    weights: ByFormat
    """The matrices of blocks and head, as this pass read them."""
    by: ComputedBy
    layer_ms: tuple[float, ...] | None
    """Each layer's part of `forward_ms`, None where it was not measured."""

    def logits_of(self, place: int) -> Tensor:
        """Those of the sequence at that place of the order, [outputs, V]."""
        start = sum(self.outputs[:place])
        return self.logits[start : start + self.outputs[place]]


class Steps(Protocol):
    by: ComputedBy

    def for_pass(self, batch: Batch, observed: Iterable[str], written: Iterable[str]) -> StandIn | None:
        """What takes this pass while these hook points are `observed` and `written`; None where the transformer itself
        does.
        """
        ...


class InPieces:
    """Stands in for the blocks of a pass of `rows` rows, and pauses each time that some of them are computed.

    `paused`: what a pause is inside of, where other passes must not be seen by whoever sees this one.
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
        """How many processors a pass of one row leaves to others, such as the browser."""
        self.steps: Steps | None = None
        """What takes passes of one row of each sequence faster, where there is something."""

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
        """Compute the new rows of `entries` in one ragged batch, seen by `observers` at the hook points they name.

        `capture`: also give what frames show of each sequence; `attention`: how much each row got. `layers`: run the
        first ones alone. `alike`: take every kind of pass in the same way, not those of one row faster. Raises what
        the transformer or an observer raises, and KeyError for a hook point that is not there.

        Where a computation goes in pieces, each pass ends one, and a pass of many rows pauses between layers, too. Its
        observers see nothing of the passes in between.
        """
        with threads_for(sum(entry.count for entry in entries), self.spare):
            batch, order, lengths = make_batch(entries, self.device, self.transformer.config.window)
            experts = ChosenExperts(self.transformer.config) if self.transformer.config.experts else None
            recording = Capture(self.transformer.config) if capture else None
            looks = LookedAt(self.transformer.config) if attention else None
            changed = any(entry.changes for entry in entries)
            sequences = ((entries[index].positions, entries[index].changes) for index in order)
            changing = Changing(sequences) if changed else None
            watched = [seen.observers for seen in (recording, looks, experts, changing) if seen] + [observers or {}]
            written = changing.writers if changing else {}
            steps = None if alike else self.steps
            step = steps.for_pass(batch, chain.from_iterable(watched), written) if steps else None
            by: ComputedBy = steps.by if steps and step else "lines"
            paused_s = 0.0
            with ExitStack() as attached:

                def attach() -> None:
                    for those in watched:
                        attached.enter_context(observing(self.points, those))
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
                looked_at=looks.rows(batch, lengths) if looks else [],
                forward_ms=(computed - started - paused_s) * 1000,
                weights=added(self._weights, used),
                by=by,
                capture_ms=(time.perf_counter() - computed) * 1000,
                # On a GPU the host runs ahead: its clock says when a layer was asked for, not when it was computed.
                layer_ms=recording.layer_ms if recording and self.device == "cpu" else None,
            )
        pause()
        return done

    def _synchronize(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()
