"""Rotary positions (arXiv:2104.09864), and how they are scaled for longer texts than a model was first trained on.

A scaling divides each of the head_dim/2 frequencies by a number of its own, and may multiply cos and sin by one factor.
It is written as a table like `transformers`' `rope_parameters`, whose formulas these are:

    linear     {factor}
    llama3     {factor, low_freq_factor, high_freq_factor, original_max_position_embeddings}
    yarn       {factor, original_max_position_embeddings, beta_fast, beta_slow, truncate, attention_factor}
               (arXiv:2309.00071, §3.2 to 3.4)
    divisors   {divisors, attention_factor}: as a file states them (LongRoPE, arXiv:2402.13753; GGUF's rope_freqs)
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

Scaling = dict[str, Any]


def frequencies(theta: float, head_dim: int, scaling: Scaling | None) -> Tensor:
    """[Dh/2] radians per position."""
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
            kept = _kept_by_yarn(theta, head_dim, scaling)
            return inv_freq * (kept + (1 - kept) / scaling["factor"])
        case "divisors":
            return inv_freq / torch.tensor(scaling["divisors"], dtype=torch.float32)
        case unknown:
            raise ValueError(f"unknown scaling {unknown!r}")


def attention_factor(scaling: Scaling | None) -> float:
    """What cos and sin are multiplied by, so that each score is multiplied by its square."""
    return 1.0 if scaling is None else float(scaling.get("attention_factor", 1.0))


def _kept_by_yarn(theta: float, head_dim: int, scaling: Scaling) -> Tensor:
    """[Dh/2] how much of each frequency stays as it is: 1 for those that turn often in the first context, 0 for those
    that turn seldom, and a ramp between (§3.2, `NTK-by-parts`).
    """

    def place(turns: float) -> float:
        """Which frequency turns so often in the first context."""
        wavelengths = scaling["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return head_dim * math.log(wavelengths) / (2 * math.log(theta))

    low, high = place(scaling["beta_fast"]), place(scaling["beta_slow"])
    if scaling["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    ramp = (torch.arange(head_dim // 2, dtype=torch.float32) - low) / (high - low or 0.001)
    return 1 - ramp.clamp(0, 1)


def rotations(inv_freq: Tensor, positions: Tensor, factor: float = 1.0) -> tuple[Tensor, Tensor]:
    """cos and signed sin, each [T, 1, Dh], both times `factor`.

    The first half's sine is negated so that `rotate` needs one roll.
    """
    angles = positions[:, None].float() * inv_freq  # T Dh/2
    cos, sin = angles.cos() * factor, angles.sin() * factor
    return torch.cat((cos, cos), dim=-1)[:, None], torch.cat((-sin, sin), dim=-1)[:, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions on x [T, heads, Dh]; dimension i pairs with i + Dh/2."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)
