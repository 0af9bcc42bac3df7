"""Engines that are not there: only the worked examples are computed, which need no model's weights."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool


class NoEngines(Pool):
    """Answers `by_hand`, and refuses all else. It is never started."""

    def call(self, method: str, *arguments: Any, **how: Any) -> Any:
        """As Pool.call."""
        if method != "by_hand":
            raise EngineUnavailable("A static site has no model.")
        # By its name, as the engine's service is: what serves pages knows no tensors.
        derivation = import_module("kvscope.model.by_hand.derivation")
        return derivation.derive(*arguments).as_json()
