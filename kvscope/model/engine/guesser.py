"""Guesses the next tokens of runs with `draft`, before the pass that checks them (model.engine.draft)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kvscope.model.engine.draft import look_up
from kvscope.model.engine.records import DraftRecord
from kvscope.model.engine.run import Run
from kvscope.model.engine.runner import Runner
from kvscope.model.engine.scheduler import Scheduler
from kvscope.model.weights import ByFormat, added, always_read, weights_read


class Guesser:
    """Guesses for runs of `scheduler`; `runner` runs the model's first layers if they guess."""

    def __init__(self, runner: Runner, scheduler: Scheduler):
        self._runner, self._scheduler = runner, scheduler
        transformer = runner.transformer
        self._of_block = [weights_read(always_read(block)) for block in transformer.blocks]
        self._of_head = weights_read([transformer.lm_head])

    def guess(self, runs: Sequence[Run]) -> DraftRecord | None:
        """Sets each run's guesses for the next pass; returns what guessing took, None if no run needed guesses.

        Raises CacheFull, and what the transformer raises.
        """
        started = time.perf_counter()
        by_layers: dict[int, list[Run]] = {}
        for run in runs:
            run.guessed = []
            if run.draft is not None and run.most_guesses:
                by_layers.setdefault(run.draft.layers, []).append(run)
        if not by_layers:
            return None
        passes, weights = 0, ByFormat()
        for layers, some in by_layers.items():
            if layers == 0:
                for run in some:
                    run.guessed = look_up(run.ids, run.most_guesses)
            else:
                count = self._by_first_layers(some, layers)
                passes += count
                weights = added(weights, *[self._weights_of(layers)] * count)
        return DraftRecord((time.perf_counter() - started) * 1000, passes, weights)

    def _by_first_layers(self, runs: list[Run], layers: int) -> int:
        """Guesses one token after the other, for all runs in one pass each; returns how many passes.

        The layers are the model's own, so they read its cached K and V. The rows that they write are dropped: all
        layers compute them again when the guesses are checked.
        """
        before = [(run, run.sequence.length, run.most_guesses) for run in runs]
        for run, _, _ in before:
            run.sequence.keeps_window = True
        try:
            return self._guess_in_turn(before, layers)
        finally:
            for run, length, _ in before:
                run.sequence.keeps_window = False
                self._scheduler.cache.truncate(run.sequence, length)

    def _guess_in_turn(self, before: list[tuple[Run, int, int]], layers: int) -> int:
        passes = 0
        while guessing := [run for run, _, most in before if len(run.guessed) < most]:
            entries = [
                self._scheduler.entry(run.sequence, [(run.guessed or run.ids)[-1]], run.forgotten) for run in guessing
            ]
            done = self._runner.run(entries, layers=layers)
            passes += 1
            for place, index in enumerate(done.order):
                guessing[index].guessed.append(int(done.distributions_of(place)[-1].logits.argmax()))
        return passes

    def _weights_of(self, layers: int) -> ByFormat:
        """Returns the weights that a pass of the first layers reads, LM head included."""
        return added(*self._of_block[:layers], self._of_head)
