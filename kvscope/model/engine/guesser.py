"""Guesses what follows in runs that want it, before the pass that checks it (model.engine.draft)."""

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
    """Guesses for runs of `scheduler`; where the model's first layers guess, they are run by `runner`."""

    def __init__(self, runner: Runner, scheduler: Scheduler):
        self._runner, self._scheduler = runner, scheduler
        transformer = runner.transformer
        self._of_block = [weights_read(always_read(block)) for block in transformer.blocks]
        self._of_head = weights_read([transformer.lm_head])

    def guess(self, runs: Sequence[Run]) -> DraftRecord | None:
        """Set what the next pass checks of each run; what that took, None where no run had anything to guess.

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
        """One guess after the other, all runs in one pass; how many passes.

        The layers are the model's own, so they read the K and V that it has cached for them. The rows that this writes
        are given back: they are computed again, by all layers, when the guesses are checked.
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
                guessing[index].guessed.append(int(done.logits_of(place)[-1].argmax()))
        return passes

    def _weights_of(self, layers: int) -> ByFormat:
        """What a pass of the first layers reads, LM head included."""
        return added(*self._of_block[:layers], self._of_head)
