"""Checks a run's changes against its model and prepares them, once for all questions about the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kvscope.model.activations.change import UnequalLength, place_of, prepare
from kvscope.model.api import ChangedRun, Refused
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.engine import Engine
from kvscope.model.service.limits import among, refusing_when_full, within
from kvscope.model.settings import MAX_CHANGES, Change

PREPARED = 16
"""How many changed runs' prepared changes stay cached."""


class Changing:
    """`encode(text, chat)` returns the ids of a prompt. `info` describes the model as an `open` frame does.
    `max_positions`: the most of a run.
    """

    def __init__(
        self, engine: Engine, encode: Callable[[str, bool], list[int]], info: dict[str, Any], max_positions: int
    ):
        self._engine, self._encode, self._info, self._max_positions = engine, encode, info, max_positions
        self._prepared = lru_cache(PREPARED)(self._prepare)

    def of(self, run: ChangedRun | None) -> Changes | None:
        """Returns the changes of a run, None for a run without changes. Raises Refused."""
        return None if run is None else self._prepared(run)

    def _prepare(self, run: ChangedRun) -> Changes:
        within("changes", len(run.changes), 1, MAX_CHANGES)
        for index, change in enumerate(run.changes):
            self._check(f"changes[{index}]", change, len(run.tokens))

        def encode(text: str) -> list[int]:
            ids = self._encode(text, run.chat)
            within("changes.source", len(ids), 1, self._max_positions - 1, "its number of tokens ")
            return ids

        try:
            with refusing_when_full():
                return prepare(self._engine, encode, run.tokens, run.changes)
        except UnequalLength as unequal:
            message = f"The second prompt has {unequal.source:,} tokens and the run's prompt has {unequal.prompt:,}; "
            message += "patch needs two of equal length, so that each row has its counterpart."
            raise Refused(f"changes[{unequal.index}].source", message, limit=unequal.prompt) from None

    def _check(self, where: str, change: Change, prompt: int) -> None:
        """Raises Refused if the model or the run lacks a layer, head or position that the change names."""
        if change.site == "expert" and place_of("expert", change.layer)[0] not in self._engine.runner.points:
            raise Refused(f"{where}.site", "The MLP of this layer has no experts.")
        longest = prompt if change.op == "patch" else self._max_positions
        for name, count in {**change.counts(self._info), "position": longest}.items():
            if (value := getattr(change, name)) is not None:
                among(f"{where}.{name}", value, count)
        if change.op == "patch" and change.from_step:
            message = "Patch takes rows of a second prompt, and only step 0 computes rows of the prompt."
            raise Refused(f"{where}.from_step", message, limit=0)
