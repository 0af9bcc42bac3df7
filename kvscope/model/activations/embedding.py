"""Compares rows of the embedding table: one token with the whole vocabulary, or some tokens with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.pieces import pause

Embedding = Callable[[Tensor], Tensor]
"""Returns the rows [n, D] of ids [n]."""
NEAREST = 12
PART_NUMBERS = 8 * 2**20
"""How many numbers of the table are read between two pauses."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A row of the embedding table and the rows nearest to it."""

    row: list[float]
    length: float
    nearest: list[tuple[int, float]]
    """The other tokens with the largest cosines, largest first; empty if the row has length 0 and so no direction."""
    points: list[tuple[float, float]]
    """Coordinates of the row, then of each of `nearest`, in the plane that has the most of their variance."""
    kept: float
    """The share of the variance in the plane, 0 to 1."""


def neighbourhood(embed: Embedding, vocab: int, token: int, device: str = "cpu") -> Neighbourhood:
    """Compares row `token` of an embedding table of `vocab` rows with every other row."""
    row = embed(torch.tensor([token], device=device))[0].float()
    length = float(row.norm())
    nearest = _nearest(embed, torch.arange(vocab, device=device), row, token) if length else []
    points, share = plane(embed(torch.tensor([token, *(other for other, _ in nearest)], device=device)))
    return Neighbourhood(row.tolist(), length, nearest, points, share)


@dataclass(frozen=True, slots=True)
class Beside:
    """Some rows compared with each other."""

    lengths: list[float]
    cosines: list[list[float | None]]
    """Cosine of each row with each; None if one of them has length 0."""
    points: list[tuple[float, float]]
    kept: float
    """As in `Neighbourhood`."""


def beside(rows: Tensor) -> Beside:
    """Compares rows [n, D] with each other."""
    wide = rows.double()
    lengths = wide.norm(dim=1)
    cosines = (wide @ wide.T) / (lengths[:, None] * lengths)
    known = [[value if value == value else None for value in line] for line in cosines.tolist()]
    points, share = plane(rows)
    return Beside(lengths.tolist(), known, points, share)


def plane(rows: Tensor) -> tuple[list[tuple[float, float]], float]:
    """Returns coordinates of rows [n, D] along their first two principal axes, and the axes' share of the variance.

    The direction of an axis is arbitrary: here the row furthest from 0 along it has a positive coordinate.
    """
    centred = (rows.double() - rows.double().mean(dim=0)).cpu()
    axes, sizes, _ = torch.linalg.svd(centred, full_matrices=False)
    variance = float((sizes**2).sum())
    if not variance:
        return [(0.0, 0.0)] * len(rows), 1.0
    along = axes[:, :2] * sizes[:2]  # n 2
    furthest = along.gather(0, along.abs().argmax(dim=0, keepdim=True))
    x, y = (along * furthest.sign()).T.tolist()
    return list(zip(x, y, strict=True)), float((sizes[:2] ** 2).sum()) / variance


def _nearest(embed: Embedding, ids: Tensor, row: Tensor, token: int) -> list[tuple[int, float]]:
    most = max(1, PART_NUMBERS // len(row))
    parts = (ids[first : first + most] for first in range(0, len(ids), most))
    cosines = torch.cat([_cosines(embed, part, row) for part in parts])
    cosines[token] = -torch.inf
    best = cosines.topk(min(NEAREST, len(ids) - 1))
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))


def _cosines(embed: Embedding, ids: Tensor, row: Tensor) -> Tensor:
    """Returns the cosines of the rows of `ids` [n] with `row` [D]; −1 for a row of length 0, which has no direction."""
    pause()
    wide = embed(ids).float()
    lengths = wide.norm(dim=1)
    cosines = (wide @ row) / (lengths * row.norm())
    cosines[lengths == 0] = -1
    return cosines
