"""Rotary positions (arXiv:2104.09864), and their scaling for longer texts than a model was first trained on.

A scaling divides each of the head_dim/2 frequencies by its own number, and may multiply cos and sin by one factor. It
is a table like `rope_parameters` in `transformers`, with the same formulas:

    linear     {factor}
    llama3     {factor, low_freq_factor, high_freq_factor, original_max_position_embeddings}
    yarn       {factor, original_max_position_embeddings, beta_fast, beta_slow, truncate, attention_factor}
               (arXiv:2309.00071, §3.2 to 3.4)
    divisors   {divisors, attention_factor}: from the model's file (LongRoPE, arXiv:2402.13753; GGUF's rope_freqs)
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

Scaling = dict[str, Any]


def frequencies(theta: float, head_dim: int, scaling: Scaling | None) -> Tensor:
    """Returns the rotary frequencies [Dh/2] in radians per position. Raises ValueError for an unknown scaling."""
    inv_freq = 1.0 / theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if scaling is None:
        return inv_freq
    match scaling["rope_type"]:
        case "linear":
            return inv_freq / scaling["factor"]
        case "llama3":
            low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
            turns = scaling["original_max_position_embeddings"] * inv_freq / (2 * math.pi)
            blend = ((turns - low) / (high - low)).clamp(0, 1)
            return inv_freq * (blend + (1 - blend) / factor)
        case "yarn":
            unscaled = _unscaled_by_yarn(theta, head_dim, scaling)
            return inv_freq * (unscaled + (1 - unscaled) / scaling["factor"])
        case "divisors":
            return inv_freq / torch.tensor(scaling["divisors"], dtype=torch.float32)
        case unknown:
            raise ValueError(f"unknown scaling {unknown!r}")


def attention_factor(scaling: Scaling | None) -> float:
    """Returns the factor of cos and sin. It multiplies the part of a score that rotated numbers give by its square."""
    return 1.0 if scaling is None else float(scaling.get("attention_factor", 1.0))


def _unscaled_by_yarn(theta: float, head_dim: int, scaling: Scaling) -> Tensor:
    """Returns the share of each frequency that is not scaled [Dh/2]: 1 for frequencies that turn often in the first
    context, 0 for those that turn seldom, and a ramp between (§3.2, `NTK-by-parts`).
    """

    def index(turns: float) -> float:
        """Returns the index of the frequency with so many turns in the first context, as a fraction."""
        wavelengths = scaling["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return head_dim * math.log(wavelengths) / (2 * math.log(theta))

    low, high = index(scaling["beta_fast"]), index(scaling["beta_slow"])
    if scaling["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    ramp = (torch.arange(head_dim // 2, dtype=torch.float32) - low) / (high - low or 0.001)
    return 1 - ramp.clamp(0, 1)


def rotations(inv_freq: Tensor, positions: Tensor, factor: float = 1.0) -> tuple[Tensor, Tensor]:
    """Returns cos and sin, each [T, 1, Dh], times `factor`; sin is negated in the first half: `rotate` rolls once.

    Pairs whose frequency is 0 are not rotated, and so not multiplied by `factor` either.
    """
    angles = positions[:, None].float() * inv_freq  # T Dh/2
    cos, sin = torch.where(inv_freq == 0, 1.0, angles.cos() * factor), angles.sin() * factor
    return torch.cat((cos, cos), dim=-1)[:, None], torch.cat((-sin, sin), dim=-1)[:, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates x [T, heads, Dh] by its positions; dimension i pairs with i + Dh/2."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)
