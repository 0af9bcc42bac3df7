"""Which experts the rows of one forward pass went through, of a model that has some."""

from __future__ import annotations

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig
from kvscope.model.hooks import Observer

NO_EXPERT = -1
"""Of rows in a layer without experts."""


class ChosenExperts:
    """Collects them. Attach `observers`, run the model, then ask."""

    def __init__(self, config: ModelConfig):
        self._config = config
        self._chosen: dict[int, Tensor] = {}
        self._shares: dict[int, Tensor] = {}

    @property
    def observers(self) -> dict[str, Observer]:
        """Observer by hook point name."""
        found: dict[str, Observer] = {}
        for layer in range(self._config.layers):
            if self._config.has_experts(layer):
                found[f"blocks.{layer}.mlp.chosen"] = self._taking(self._chosen, layer)
                found[f"blocks.{layer}.mlp.shares"] = self._taking(self._shares, layer)
        return found

    @property
    def used(self) -> int:
        """How many experts the pass multiplied by, over all layers: one that several rows chose counts once."""
        return sum(len(set(chosen.flatten().tolist())) for chosen in self._chosen.values())

    def rows(self) -> tuple[Tensor, Tensor]:
        """The experts of every row and their shares, each [layers, T, X], largest share first."""
        config, (some, *_) = self._config, self._chosen.values()
        chosen = torch.full((config.layers, *some.shape), NO_EXPERT, device=some.device)
        shares = torch.zeros(chosen.shape, device=some.device)
        for layer, experts in self._chosen.items():
            chosen[layer], shares[layer] = experts, self._shares[layer]
        return chosen, shares

    @staticmethod
    def _taking(kept: dict[int, Tensor], layer: int) -> Observer:
        def take(value: Tensor) -> None:
            kept[layer] = value

        return take
