"""Changes of a run: values at hook points that are replaced during its passes.

Each change is affine: `keep · row + add`. Switching off has `keep` 0; scaling has a factor; a patch has `keep` 0 and
adds another prompt's row; steering has `keep` 1 and adds a direction. `model.activations.change` makes the edits from a
request.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kvscope.model.hooks import Observer, Writer


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """Replaces rows at positions `first` to `last` − 1 with `keep · row + add`; `last` None means the end of the text.

    `head`: changes only this head. `base`: a hook point of the same pass; then the result is
    `base + keep · (row − base) + add`. `add`: one row [W], or one per position [positions, W].
    """

    point: str
    first: int
    last: int | None
    keep: float
    add: Tensor | None = None
    head: int | None = None
    base: str | None = None

    def __post_init__(self) -> None:
        if self.add is not None:  # native code reads its numbers one after another
            object.__setattr__(self, "add", self.add.contiguous())

    def applied(self, rows: Tensor, positions: range, base: Tensor | None) -> Tensor:
        """Returns rows [n, W] at `positions` with the edit applied; `base`: the same rows at the base hook point."""
        before = rows if base is None else rows - base
        after = torch.zeros_like(rows) if self.keep == 0 else before * self.keep
        if base is not None:
            after = after + base
        if self.add is not None:
            after = after + (self.add if self.add.dim() == 1 else self.add[positions.start : positions.stop])
        return after


@dataclass(frozen=True, slots=True)
class Changes:
    """All edits of a run, in order. Equal if `key` is equal: only runs with equal changes share K and V."""

    key: Hashable
    edits: tuple[Edit, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Changes) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Changing:
    """The edits of one forward pass: `observers` and `writers` for the hook points that they name."""

    def __init__(self, sequences: Iterable[tuple[range, Changes | None]]):
        """`sequences`: the positions of the new rows and the changes of each sequence, in batch order."""
        self._edits: dict[str, list[tuple[int, range, Edit]]] = {}
        self._bases: dict[str, Tensor] = {}
        start = 0
        for positions, changes in sequences:
            for edit in changes.edits if changes else ():
                self._edits.setdefault(edit.point, []).append((start, positions, edit))
            start += len(positions)

    @property
    def edits(self) -> Iterator[tuple[slice, range, Edit]]:
        """Yields the rows of the pass that each edit changes, their positions, and the edit."""
        return (each for point in self._edits for each in self._edits_at(point))

    def _edits_at(self, point: str) -> Iterator[tuple[slice, range, Edit]]:
        for start, positions, edit in self._edits[point]:
            first = max(edit.first, positions.start)
            last = positions.stop if edit.last is None else min(edit.last, positions.stop)
            if first < last:
                rows = slice(start + first - positions.start, start + last - positions.start)
                yield rows, range(first, last), edit

    @property
    def observers(self) -> dict[str, Observer]:
        """Observers that store the rows at the base hook points."""
        edits = (edit for placed in self._edits.values() for _, _, edit in placed)
        return {edit.base: self._base_observer(edit.base) for edit in edits if edit.base is not None}

    @property
    def writers(self) -> dict[str, Writer]:
        return {point: partial(self._write, point) for point in self._edits}

    def _base_observer(self, base: str) -> Callable[[Tensor], None]:
        def store(rows: Tensor) -> None:
            self._bases[base] = rows

        return store

    def _write(self, point: str, value: Tensor) -> Tensor:
        value = value.clone()
        for rows, positions, edit in self._edits_at(point):
            target = value[rows] if edit.head is None else value[rows, edit.head]
            base = None if edit.base is None else self._bases[edit.base][rows]
            target.copy_(edit.applied(target, positions, base))
        return value
