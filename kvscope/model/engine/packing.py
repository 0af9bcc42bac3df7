"""Brings tensors of any types from a device to the host in one copy, since the host waits for each copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

Like = list[tuple[torch.Size, torch.dtype, int]]
"""The shape, type and bytes of each tensor that was packed."""


def pack(tensors: Sequence[Tensor]) -> tuple[Tensor, Like]:
    """Returns the bytes of all tensors, U8 [bytes], and what `unpack` needs. A tensor of a larger type comes first."""
    like = [(tensor.shape, tensor.dtype, tensor.nbytes) for tensor in tensors]
    return torch.cat([tensor.flatten().view(torch.uint8) for tensor in tensors]), like


def unpack(packed: Tensor, like: Like) -> list[np.ndarray]:
    """Waits until the bytes are computed and copied to the host, and returns the values of each tensor."""
    parts = packed.to("cpu", copy=True).split_with_sizes([size for _, _, size in like])
    return [part.view(dtype).view(shape).numpy() for part, (shape, dtype, _) in zip(parts, like, strict=True)]


def on_host(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Returns the values of all tensors on the host. A tensor of a larger type comes first."""
    return unpack(*pack(tensors))
