"""The models with which recipes are recorded, as `--model` names them."""

from __future__ import annotations

from typing import Any

from kvscope.app.engine.process import resolve
from kvscope.app.settings import DEFAULT_SERVICE


class Services:
    """The services by model, each loaded at its first use."""

    def __init__(self) -> None:
        self._loaded: dict[str | None, Any] = {}

    def of(self, model: str | None) -> Any:
        """Returns the service of a model; None: of the default one. Raises Refused for a model whose terms nobody has
        accepted.
        """
        if model not in self._loaded:
            self._loaded[model] = _load(model)
        return self._loaded[model]


def _load(model: str | None) -> Any:
    return resolve(DEFAULT_SERVICE)(model, "cpu", "float32", lambda progress: None)
