"""What a run computes otherwise than the model would: values at hook points that are replaced with others.

Each change is affine: of a row it keeps a share and adds another row, `keep · row + add`. Switching off keeps nothing,
scaling keeps a factor, a patch keeps nothing and adds the row of another prompt, steering keeps all and adds a
direction. `model.activations.change` makes edits of what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kvscope.model.hooks import Observer, Writer


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """`keep · row + add` of the rows at positions `first` … `last` − 1 of a text (to its end, where `last` is None).

    `head`: of that one alone. `base`: a hook point of the same pass; what a row has more than there is what is kept, so
    that keeping nothing gives the row as it was there. `add`: one row [W], or one for each position [positions, W].
    """

    point: str
    first: int
    last: int | None
    keep: float
    add: Tensor | None = None
    head: int | None = None
    base: str | None = None

    def applied(self, rows: Tensor, positions: range, base: Tensor | None) -> Tensor:
        """These rows [n, W], which stand at `positions`, with the edit; `base`: the same rows at that hook point."""
        before = rows if base is None else rows - base
        after = torch.zeros_like(rows) if self.keep == 0 else before * self.keep
        if base is not None:
            after = after + base
        if self.add is not None:
            after = after + (self.add if self.add.dim() == 1 else self.add[positions.start : positions.stop])
        return after


@dataclass(frozen=True, slots=True)
class Changes:
    """All edits of a run, in the order they are made. Equal where `key` is: runs share K and V only with their like."""

    key: Hashable
    edits: tuple[Edit, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Changes) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Changing:
    """The edits of one forward pass: `observers` and `writers` for the hook points that they name."""

    def __init__(self, sequences: Iterable[tuple[range, Changes | None]]):
        """`sequences`: those of the batch in its order, each with the positions of its new rows, and its changes."""
        self._edits: dict[str, list[tuple[int, range, Edit]]] = {}
        self._bases: dict[str, Tensor] = {}
        start = 0
        for positions, changes in sequences:
            for edit in changes.edits if changes else ():
                self._edits.setdefault(edit.point, []).append((start, positions, edit))
            start += len(positions)

    @property
    def observers(self) -> dict[str, Observer]:
        """What sees the rows that some changes are counted from."""
        edits = (edit for those in self._edits.values() for _, _, edit in those)
        return {edit.base: self._seeing(edit.base) for edit in edits if edit.base is not None}

    @property
    def writers(self) -> dict[str, Writer]:
        return {point: partial(self._write, point) for point in self._edits}

    def _seeing(self, base: str) -> Callable[[Tensor], None]:
        def see(rows: Tensor) -> None:
            self._bases[base] = rows

        return see

    def _write(self, point: str, value: Tensor) -> Tensor:
        value = value.clone()
        for start, positions, edit in self._edits[point]:
            first = max(edit.first, positions.start)
            last = positions.stop if edit.last is None else min(edit.last, positions.stop)
            if first >= last:
                continue
            rows = slice(start + first - positions.start, start + last - positions.start)
            of = value[rows] if edit.head is None else value[rows, edit.head]
            base = None if edit.base is None else self._bases[edit.base][rows]
            of.copy_(edit.applied(of, range(first, last), base))
        return value
