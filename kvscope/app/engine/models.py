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
"""Memory of an engine without the stored weights: 310 MB with SmolLM2-135M, 410 MB with the vocabulary of Gemma 3 270M
(docs/measurements.md). Blocks of the KV cache take memory when a run first uses them."""
MEMORY_SHARE = 0.5
"""Share of the machine's memory for the engines of all models, unless `--model-memory` is given."""
NOT_HERE = 409
"""Status of a request for a model that cannot be loaded now."""


@dataclass(slots=True, eq=False)
class ServedModel:
    """A model that the server offers.

    `source`: as `--model` names it. `estimated`: bytes of memory that its engine is expected to take. `info`: its
    `model` object, None until it was loaded. `resident`: bytes of memory that its engine took when last measured, None
    before. `used`: when it was last used (time.monotonic).
    """

    name: str
    source: str | None
    estimated: Callable[[], int]
    info: dict[str, Any] | None = None
    resident: int | None = None
    used: float = field(default_factory=time.monotonic)

    def is_called(self, name: str) -> bool:
        """Returns whether the model has this name."""
        return name == (self.info["name"] if self.info else self.name)

    @property
    def needs(self) -> int:
        """Bytes of memory that its engine takes: as measured when it was last loaded, else estimated."""
        return self.resident or self.estimated()

    @property
    def known(self) -> Known:
        """The facts about the model that are known without loading it."""
        try:
            return known(find(self.source))
        except Refused:
            return Known()

    @property
    def refusal(self) -> str | None:
        """Why the model cannot be loaded; None if no reason is known."""
        try:
            self.check()
        except Refused as refused:
            return refused.message
        return None

    def check(self) -> None:
        """Raises Refused("model") if there is no such model, or its terms are not accepted."""
        find(self.source)
        check_terms(self.source)

    def touch(self) -> None:
        """Notes that the model is used now."""
        self.used = time.monotonic()

    def may_be(self, described: Mapping[str, Any], dtype: str) -> bool:
        """Returns whether this model computed the log with the `model` object `described`. If it was not loaded yet,
        only its name and type are compared, and its hash if that is known."""
        if self.info is not None:
            return same_model(described, self.info)
        sha256 = self.known.sha256
        names = described["name"], described["weight_dtype"]
        return names == (self.name, dtype) and sha256 in (None, described["sha256"])


class Models:
    """The models of `--model`; the first is the default."""

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
        """Whether the server has more than one model."""
        return len(self.all) > 1

    def named(self, name: str) -> ServedModel:
        """Returns the model of that name; "" is the first. Raises Refused("model")."""
        match = next((model for model in self.all if model.is_called(name)), None) if name else self.first
        if match is None:
            names = [model.name for model in self.all]
            raise Refused("model", f"model is {name[:80]!r}; this server has {', '.join(names)}.", limit=names)
        return match

    def of(self, described: Mapping[str, Any]) -> ServedModel | None:
        """Returns the model that computed a log with this `model` object; None if the server does not have it."""
        return next((model for model in self.all if model.may_be(described, self._settings.dtype)), None)

    def check(self) -> None:
        """Raises Refused("model") if the default does not fit into the memory, or two models have one name."""
        if not self.several:
            return
        names = [model.name for model in self.all]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Refused("model", f"Two models are called {twice}. Runs name their model, so each needs its own name.")
        self.refuse_too_large(self.first)

    def refuse_too_large(self, model: ServedModel) -> None:
        """Raises Refused("model") if a model alone does not fit into the memory for models."""
        if model.needs > self.budget:
            raise Refused(
                "model",
                f"{model.name} needs about {in_words(model.needs)} of memory; the models may take "
                f"{in_words(self.budget)} (--model-memory).",
                limit=self.budget,
                status=NOT_HERE,
            )

    def no_room(self, model: ServedModel, in_use: list[str]) -> Refused:
        """Returns the refusal of a model that does not fit together with the models in use."""
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
        origin = find(source)
    except Refused:
        return ServedModel(str(source), source, lambda: ENGINE_BYTES)
    return ServedModel(origin.name, source, cache(lambda: ENGINE_BYTES + weights_of(origin, settings)))


def weights_of(source: Source, settings: Settings) -> int:
    """Returns the bytes that the weights are expected to take in memory; 0 if nothing is known."""
    return expected_bytes(source, settings.device, settings.dtype, compiled=settings.compile == "auto")


def budget_of(settings: Settings) -> int:
    """Returns the bytes of memory that the engines of all models may take together."""
    if settings.model_memory_bytes:
        return settings.model_memory_bytes
    return int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def in_words(count: int) -> str:
    """Returns a number of bytes as text for people."""
    return size(count).replace(NARROW_SPACE, " ")
