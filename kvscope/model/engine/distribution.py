"""The distribution of a run's next token: what the choice and the frame of a step need of the logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, isfinite, log

import torch
from torch import Tensor

from kvscope.model.engine.candidates import Candidates, candidates


class NotFinite(ArithmeticError):
    """The model's logits contain NaN or infinity, so no token can be chosen."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The `best` token (the first of equals) with the `largest` logit, and sums in float64 over all tokens: `total` of
    e^(logit − largest), and `weighted` of that times (logit − largest).
    """

    best: int
    largest: float
    total: float
    weighted: float

    @property
    def log_z(self) -> float:
        """The logarithm of the sum of e^logit."""
        return self.largest + log(self.total)

    @property
    def entropy(self) -> float:
        """−Σ p · log₂ p of softmax of the logits, in bits."""
        return max(0.0, log(self.total) - self.weighted / self.total) / log(2)

    def probability(self, logit: float) -> float:
        """Returns the probability of a token with this logit."""
        return exp(logit - self.largest) / self.total


class Distribution:
    """The next token's distribution from `logits` [V].

    Native code computes `summary` and `best` with its pass; otherwise they are computed when they are read.
    """

    def __init__(self, logits: Tensor, summary: Summary | None = None, best: Candidates | None = None):
        self.logits = logits
        if summary is not None:
            self.summary = summary
        if best is not None:
            self.candidates = best

    @cached_property
    def summary(self) -> Summary:
        """Raises NotFinite."""
        return summarize(self.logits)

    @cached_property
    def candidates(self) -> Candidates:
        """The best tokens and a histogram of the others."""
        return candidates(self.logits)


def check_finite(logits: Tensor) -> None:
    """Raises NotFinite if a logit is NaN or infinite."""
    if not isfinite(float(logits.sum(dtype=torch.float64))):  # a float64 sum of finite float32 numbers is finite
        raise NotFinite("the model's logits contain NaN or infinity")


def summarize(logits: Tensor) -> Summary:
    """Returns the summary of logits [V]. Raises NotFinite."""
    check_finite(logits)
    largest = logits.max()
    best = int((logits == largest).nonzero()[0])  # `argmax` takes 5 times as long on a CPU
    below = logits.double() - largest.double()
    weights = below.exp()
    return Summary(best, float(largest), float(weights.sum()), float(weights @ below))
