"""The models that a server offers, and how much memory their engines take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kvscope.app.numbers import NARROW_SPACE, size
from kvscope.app.settings import Settings
from kvscope.model.api import Refused, same_model
from kvscope.model.packaged import check_terms
from kvscope.model.sources import Known, Source, find, known
from kvscope.model.stored import expected_bytes

ENGINE_BYTES = 400 * 10**6
"""What an engine takes beside the weights as they are stored: 310 MB with SmolLM2-135M, 410 MB with the vocabulary of
Gemma 3 270M (docs/measurements.md). Blocks of the KV cache take memory when a run first uses them.
"""
MEMORY_SHARE = 0.5
"""Of the machine's memory, for the engines of all models, where `--model-memory` does not say."""
NOT_HERE = 409
"""Status of a request for a model that cannot be loaded now."""


@dataclass(slots=True, eq=False)
class ServedModel:
    """One of the models.

    `source`: as `--model` names it. `estimated`: bytes of memory that its engine is expected to take. `info`: its
    `model` object, once it was loaded. `resident`: memory that its engine took when it was last seen, None before.
    `used`: when it was last used (time.monotonic).
    """

    name: str
    source: str | None
    estimated: Callable[[], int]
    info: dict[str, Any] | None = None
    resident: int | None = None
    used: float = field(default_factory=time.monotonic)

    def is_called(self, name: str) -> bool:
        """Whether this is its name."""
        return name == (self.info["name"] if self.info else self.name)

    @property
    def needs(self) -> int:
        """Bytes of memory that its engine takes: as measured when it was last loaded, else estimated."""
        return self.resident or self.estimated()

    @property
    def known(self) -> Known:
        """What is known of it without loading it."""
        try:
            return known(find(self.source))
        except Refused:
            return Known()

    @property
    def refusal(self) -> str | None:
        """Why it cannot be loaded, as far as that is known; None where nothing speaks against it."""
        try:
            self.check()
        except Refused as refused:
            return refused.message
        return None

    def check(self) -> None:
        """Raises Refused("model") where there is no such model, or its terms are not accepted."""
        find(self.source)
        check_terms(self.source)

    def touch(self) -> None:
        """It is used now."""
        self.used = time.monotonic()

    def may_be(self, described: Mapping[str, Any], dtype: str) -> bool:
        """Whether it computed what `described`, the `model` object of a log, says. Of a model that was not loaded yet
        only its name and type are compared, and its hash where that is known."""
        if self.info is not None:
            return same_model(described, self.info)
        sha256 = self.known.sha256
        names = described["name"], described["weight_dtype"]
        return names == (self.name, dtype) and sha256 in (None, described["sha256"])


class Models:
    """Those of `--model`, the first of which is the default."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.all = [_served(source, settings) for source in (settings.model, *settings.more_models)]
        self.budget = budget_of(settings)

    @property
    def first(self) -> ServedModel:
        """The default."""
        return self.all[0]

    @property
    def several(self) -> bool:
        """Whether there is a choice."""
        return len(self.all) > 1

    def named(self, name: str) -> ServedModel:
        """The model of that name; "" is the first. Raises Refused("model")."""
        found = next((model for model in self.all if model.is_called(name)), None) if name else self.first
        if found is None:
            names = [model.name for model in self.all]
            raise Refused("model", f"model is {name[:80]!r}; this server has {', '.join(names)}.", limit=names)
        return found

    def of(self, described: Mapping[str, Any]) -> ServedModel | None:
        """The model that computed what a log says, by the log's `model` object; None where it is not served."""
        return next((model for model in self.all if model.may_be(described, self._settings.dtype)), None)

    def check(self) -> None:
        """Raises Refused("model") where the default cannot be loaded, or two models have one name."""
        if not self.several:
            return
        names = [model.name for model in self.all]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Refused("model", f"Two models are called {twice}. Runs name their model, so each needs its own name.")
        self.refuse_too_large(self.first)

    def refuse_too_large(self, model: ServedModel) -> None:
        """Raises Refused("model") for a model that does not fit into the memory for models even alone."""
        if model.needs > self.budget:
            raise Refused(
                "model",
                f"{model.name} needs about {in_words(model.needs)} of memory; the models may take "
                f"{in_words(self.budget)} (--model-memory).",
                limit=self.budget,
                status=NOT_HERE,
            )

    def no_room(self, model: ServedModel, in_use: list[str]) -> Refused:
        """The refusal of a model that does not fit beside those in use."""
        return Refused(
            "model",
            f"{model.name} needs about {in_words(model.needs)} of memory, and {', '.join(in_use)} "
            f"{'is' if len(in_use) == 1 else 'are'} in use; together they may take {in_words(self.budget)} "
            "(--model-memory). Try again when their runs have ended.",
            limit=self.budget,
            status=NOT_HERE,
        )


def _served(source: str | None, settings: Settings) -> ServedModel:
    try:
        found = find(source)
    except Refused:
        return ServedModel(str(source), source, lambda: ENGINE_BYTES)
    return ServedModel(found.name, source, cache(lambda: ENGINE_BYTES + weights_of(found, settings)))


def weights_of(source: Source, settings: Settings) -> int:
    """Bytes that the weights are expected to take in memory; 0 where nothing is known."""
    return expected_bytes(source, settings.device, settings.dtype, compiled=settings.compile == "auto")


def budget_of(settings: Settings) -> int:
    """Bytes that the engines of all models may take."""
    if settings.model_memory_bytes:
        return settings.model_memory_bytes
    return int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def in_words(count: int) -> str:
    """As a person reads it."""
    return size(count).replace(NARROW_SPACE, " ")
