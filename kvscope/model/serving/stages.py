"""A pass in two stages, as on two engines that each have half of the layers (pipeline parallelism: GPipe,
arXiv:1811.06965; of serving: Orca, OSDI '22). The first computes its layers, its rows move, the second computes the
others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kvscope.model.engine.batch import Entry
from kvscope.model.engine.runner import Pass, Runner
from kvscope.model.hooks import Observer


@dataclass(frozen=True, slots=True)
class Split:
    """A pass in two stages: ms of the first; bytes of its rows, and ms in which they were copied."""

    first_ms: float
    bytes: int
    copy_ms: float


class StagedRunner(Runner):
    """Computes each whole pass of `runner` in two stages, the first with the layers before `at`; keeps its times."""

    def __init__(self, runner: Runner, at: int):
        super().__init__(runner.transformer, runner.cache, runner.device)
        self.steps, self.at = runner.steps, at
        self.last: Split | None = None
        """The stages of the last whole pass."""

    def run(
        self,
        entries: list[Entry],
        observers: Mapping[str, Observer] | None = None,
        **options: Any,
    ) -> Pass:
        """As `Runner.run`. A pass with observers or options, such as one of some layers only, is not split."""
        if observers or any(option is not None and option is not False for option in options.values()):
            return super().run(entries, observers, **options)
        left: list[Tensor] = []
        # Nothing of the first stage is decoded to logits.
        begun = [replace(entry, outputs=0) for entry in entries]
        first = super().run(begun, {f"blocks.{self.at - 1}.resid_out": left.append}, layers=self.at)
        started = time.perf_counter()
        # In batch order: the pieces of a pass in pieces follow each other in it.
        rows = left[0].clone()
        copy_ms = (time.perf_counter() - started) * 1000
        counts = [entries[index].count for index in first.order]
        by_entry = dict(zip(first.order, torch.split(rows, counts), strict=True))
        entered = [by_entry[index] for index in range(len(entries))]
        second = super().run(entries, entering=(self.at, entered))
        self.last = Split(first.forward_ms, rows.nbytes, copy_ms)
        return second
