"""Guesses what follows in runs that want it, before the pass that checks it (model.engine.draft)."""

from __future__ import annotations

from collections.abc import Sequence

from kvscope.model.engine.draft import look_up
from kvscope.model.engine.run import Run
from kvscope.model.engine.runner import Runner
from kvscope.model.engine.scheduler import Scheduler


class Guesser:
    """Guesses for runs of `scheduler`; where the model's first layers guess, they are run by `runner`."""

    def __init__(self, runner: Runner, scheduler: Scheduler):
        self._runner, self._scheduler = runner, scheduler

    def guess(self, runs: Sequence[Run]) -> None:
        """Set what the next pass checks of each run. Raises CacheFull, and what the transformer raises."""
        by_layers: dict[int, list[Run]] = {}
        for run in runs:
            run.guessed = []
            if run.draft is None:
                continue
            if run.draft.layers:
                by_layers.setdefault(run.draft.layers, []).append(run)
            else:
                run.guessed = look_up(run.ids, run.most_guesses)
        for layers, some in by_layers.items():
            self._by_first_layers(some, layers)

    def _by_first_layers(self, runs: list[Run], layers: int) -> None:
        """One guess after the other, all runs in one pass. The rows that this writes are given back: they are computed
        again, by all layers, when the guesses are checked.
        """
        before = [(run, run.sequence.length, run.most_guesses) for run in runs]
        while guessing := [run for run, _, most in before if len(run.guessed) < most]:
            entries = [
                self._scheduler.entry(run.sequence, [(run.guessed or run.ids)[-1]], run.forgotten) for run in guessing
            ]
            done = self._runner.run(entries, layers=layers)
            for place, index in enumerate(done.order):
                guessing[index].guessed.append(int(done.logits_of(place)[-1].argmax()))
        for run, length, _ in before:
            self._scheduler.cache.truncate(run.sequence, length)
