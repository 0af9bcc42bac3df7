"""Collects the experts that compute each row of one forward pass, in a model with experts."""

from __future__ import annotations

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig
from kvscope.model.hooks import Observer

NO_EXPERT = -1
"""Marks rows in a layer without experts."""


class ChosenExperts:
    """Collects experts and their shares. Attach `observers`, run the model, then read `used` or `rows`."""

    def __init__(self, config: ModelConfig):
        self._config = config
        self._chosen: dict[int, Tensor] = {}
        self._shares: dict[int, Tensor] = {}

    @property
    def observers(self) -> dict[str, Observer]:
        """Observers by hook point name."""
        observers: dict[str, Observer] = {}
        for layer in range(self._config.layers):
            if self._config.has_experts(layer):
                observers[f"blocks.{layer}.mlp.chosen"] = self._collector(self._chosen, layer)
                observers[f"blocks.{layer}.mlp.shares"] = self._collector(self._shares, layer)
        return observers

    def take(self, chosen: Tensor, shares: Tensor) -> None:
        """Takes the experts of a native pass and their shares, each [layers, T, X], in place of the observers."""
        for layer in filter(self._config.has_experts, range(self._config.layers)):
            self._chosen[layer], self._shares[layer] = chosen[layer].long(), shares[layer]

    @property
    def used(self) -> int:
        """How many experts the pass used, summed over layers; an expert that several rows chose counts once."""
        return sum(len(set(chosen.flatten().tolist())) for chosen in self._chosen.values())

    def rows(self) -> tuple[Tensor, Tensor]:
        """Returns the experts of every row and their shares, each [layers, T, X], largest share first."""
        config, (first, *_) = self._config, self._chosen.values()
        chosen = torch.full((config.layers, *first.shape), NO_EXPERT, device=first.device)
        shares = torch.zeros(chosen.shape, device=first.device)
        for layer, experts in self._chosen.items():
            chosen[layer], shares[layer] = experts, self._shares[layer]
        return chosen, shares

    @staticmethod
    def _collector(by_layer: dict[int, Tensor], layer: int) -> Observer:
        def store(value: Tensor) -> None:
            by_layer[layer] = value

        return store
