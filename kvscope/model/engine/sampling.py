"""Logits → temperature → top-k → top-p → choice, over the whole vocabulary.

Pure functions. Temperature: Ackley, Hinton, Sejnowski 1985; top-k: arXiv:1805.04833; top-p (nucleus):
arXiv:1904.09751. The order is the one of the transformers library: temperature comes first, so top-p filters the
distribution from which the token is drawn. static/engine/sampling/ computes the same in a browser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import torch
from torch import Tensor

from kvscope.model.engine.distribution import Distribution
from kvscope.model.settings import Sampling


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen token, and how many tokens and how much probability remain after each filter."""

    token: int
    prob: float
    raw_prob: float
    entropy: float
    """Bits, of softmax of the raw logits."""
    log_z: float
    kept_top_k: int
    kept_top_p: int
    mass_top_k: float
    mass_top_p: float


def with_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Returns the probabilities [V] of logits / temperature, for any temperature above 0."""
    # After the shift, dividing by a tiny temperature can only overflow to −∞, which gives a probability of 0.
    return torch.softmax((logits - logits.max()) / temperature, dim=-1)


def top_k(sorted_probs: Tensor, k: int) -> int:
    """Returns how many of the probabilities (descending) top-k keeps; with k = 0 it keeps all."""
    return min(k, len(sorted_probs)) if k else len(sorted_probs)


def top_p(cumulative: Tensor, p: float) -> int:
    """Returns how many tokens top-p keeps, by the cumulative sum of their probabilities, likeliest first: the fewest
    whose sum reaches the share p of all.
    """
    if p >= 1:
        return len(cumulative)
    return int((cumulative < p * cumulative[-1]).sum()) + 1


def uniform(seed: int, step: int) -> float:
    """Returns the random number of a step, in [0, 1) with 53 bits: number `step` of SplitMix64 (Steele, Lea, Flood
    2014, doi:10.1145/2660193.2660195) with this seed. It depends on no number before it, so a branch draws as its
    parent would have.
    """
    z = (seed + (step + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return ((z ^ z >> 31) >> 11) / 2**53


def pick(cumulative: Tensor, u: float) -> int:
    """Returns the index that u in [0, 1) draws: the first whose cumulative sum of probabilities [n] is above u times
    their sum. The product is below the sum, rounded too.
    """
    return int((cumulative <= u * cumulative[-1]).sum())


def divergence(before: Tensor, after: Tensor) -> Tensor:
    """Returns KL(p‖q) = Σ p · ln(p ÷ q), in nats; p and q are the softmax of logits [..., V] `before` and `after`."""
    p, q = before.double().log_softmax(-1), after.double().log_softmax(-1)
    return (p.exp() * (p - q)).sum(-1).clamp_min(0)


def choose(distribution: Distribution, sampling: Sampling, step: int) -> Choice:
    """Chooses the next token of a run in this step. Raises NotFinite.

    Greedy takes the largest logit (the first of equals), without filters and without a random number.
    """
    logits, summary = distribution.logits, distribution.summary
    entropy, log_z = summary.entropy, summary.log_z
    match sampling.strategy:
        case "greedy":
            prob = 1 / summary.total
            return Choice(summary.best, prob, prob, entropy, log_z, len(logits), len(logits), 1.0, 1.0)
        case "sample":
            pass
        case unknown:
            assert_never(unknown)
    wide = logits.double()
    # Sort logits, not probabilities: different logits may round to the same probability.
    order = wide.argsort(descending=True, stable=True)
    probs = with_temperature(wide, sampling.temperature)[order]
    cumulative = probs.cumsum(0)
    kept_k = top_k(probs, sampling.top_k)
    mass_k = float(cumulative[kept_k - 1])
    kept_p = top_p(cumulative[:kept_k], sampling.top_p)
    mass_p = float(cumulative[kept_p - 1])
    index = pick(cumulative[:kept_p], uniform(sampling.seed, step))
    token = int(order[index])
    prob = float(probs[index]) / mass_p
    raw_prob = summary.probability(float(logits[token]))
    return Choice(token, prob, raw_prob, entropy, log_z, kept_k, kept_p, mass_k, mass_p)


def put(choice: Choice, distribution: Distribution, token: int) -> Choice:
    """Returns the choice with a forced `token`, whose probability is its raw one."""
    prob = distribution.summary.probability(float(distribution.logits[token]))
    return replace(choice, token=token, prob=prob, raw_prob=prob)
