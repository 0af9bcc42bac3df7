"""Scores each head on random tokens that repeat: how much it attends to the token before, and how much it inducts.

In a random sequence that occurs twice, only the first occurrence shows which token comes next. An induction head
attends from a token of the second occurrence to the token after the same one in the first; a previous-token head
attends to the token before (Olsson et al. 2022, arXiv:2209.11895, "prefix matching score"; Elhage et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine

LENGTH, SEQUENCES, SEED = 25, 4, 1
"""Tokens of a random sequence before it repeats, sequences, and the seed that draws them."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The scores of all heads, layer by layer: mean attention weights, 0 to 1."""

    previous: list[float]
    """From each token but the first to the one before it."""
    induction: list[float]
    """From each token of the second occurrence to the one after the same token in the first."""
    length: int
    sequences: int
    seed: int


def head_patterns(engine: Engine, start: list[int], drawn_from: list[int]) -> Patterns:
    """Returns the scores over `SEQUENCES` random sequences of `LENGTH` different tokens of `drawn_from`, each read
    twice after the tokens `start`. Raises CacheFull.
    """
    generator = torch.Generator().manual_seed(SEED)
    config = engine.transformer.config
    names = [f"blocks.{layer}.attn.weights" for layer in range(config.layers)]
    sums = torch.zeros(2, config.layers, config.heads, dtype=torch.double)
    for _ in range(SEQUENCES):
        order = torch.randperm(len(drawn_from), generator=generator)[:LENGTH].tolist()
        tokens = [drawn_from[at] for at in order]
        length = len(tokens)

        def scores(_: str, weights: Tensor, length: int = length) -> Tensor:
            return _scores(weights, len(start), length)

        weights_of = observe(engine, [*start, *tokens, *tokens], 0, names, form=scores).values
        sums += torch.stack([weights_of[name] for name in names], dim=1).double().cpu()
    previous, induction = (sums / SEQUENCES).flatten(1).tolist()
    return Patterns(previous, induction, LENGTH, SEQUENCES, SEED)


def _scores(weights: Tensor, start: int, length: int) -> Tensor:
    """Returns the previous-token and the induction score of one sequence's weights, B Hkv G Q K -> 2 H."""
    by_head = weights[0].flatten(0, 1)  # H Q K
    rows = by_head[:, start:, start:]
    previous = rows.diagonal(-1, dim1=1, dim2=2).mean(dim=-1)
    induction = rows.diagonal(1 - length, dim1=1, dim2=2)[:, 1:].mean(dim=-1)
    return torch.stack((previous, induction))
