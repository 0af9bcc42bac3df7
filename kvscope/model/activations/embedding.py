"""Learned rows of tokens: those of the whole vocabulary that point the same way as one, and words beside each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.pieces import pause

Embedding = Callable[[Tensor], Tensor]
"""Rows of the table, [n, D] of ids [n]."""
NEAREST = 12
PART_NUMBERS = 8 * 2**20
"""Of the table, looked through between two pauses."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A row of the embedding table among those nearest to it."""

    row: list[float]
    length: float
    nearest: list[tuple[int, float]]
    """The other tokens with the largest cosine, that first; none of a row of length 0, which has no direction."""
    points: list[tuple[float, float]]
    """Where the row itself, and then each of `nearest`, lies in the plane that keeps most of their variance."""
    kept: float
    """The share of the variance that the plane keeps, 0 to 1."""


def neighbourhood(embed: Embedding, vocab: int, token: int, device: str = "cpu") -> Neighbourhood:
    """Row `token` of an embedding table of `vocab` rows, against every other."""
    row = embed(torch.tensor([token], device=device))[0].float()
    length = float(row.norm())
    nearest = _nearest(embed, torch.arange(vocab, device=device), row, token) if length else []
    points, kept = plane(embed(torch.tensor([token, *(other for other, _ in nearest)], device=device)))
    return Neighbourhood(row.tolist(), length, nearest, points, kept)


@dataclass(frozen=True, slots=True)
class Beside:
    """Some rows beside each other."""

    lengths: list[float]
    cosines: list[list[float | None]]
    """Of each row with each; None where one of them has the length 0."""
    points: list[tuple[float, float]]
    kept: float
    """As in a neighbourhood."""


def beside(rows: Tensor) -> Beside:
    """Rows [n, D] against each other."""
    wide = rows.double()
    lengths = wide.norm(dim=1)
    cosines = (wide @ wide.T) / (lengths[:, None] * lengths)
    known = [[value if value == value else None for value in line] for line in cosines.tolist()]
    points, kept = plane(rows)
    return Beside(lengths.tolist(), known, points, kept)


def plane(rows: Tensor) -> tuple[list[tuple[float, float]], float]:
    """Coordinates of rows [n, D] along their first two principal axes, and the share of their variance that these keep.

    An axis may point either way: here the row furthest along it lies on its positive side.
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
    """Of the row of each of `ids` [n] with a row [D]; −1 of one that has the length 0, and so no direction."""
    pause()
    wide = embed(ids).float()
    lengths = wide.norm(dim=1)
    cosines = (wide @ row) / (lengths * row.norm())
    cosines[lengths == 0] = -1
    return cosines
