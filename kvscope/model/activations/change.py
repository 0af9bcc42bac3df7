"""Edits of what a run shall compute otherwise: where a change takes hold, and the rows that it puts there.

A mean, a patch and a direction are rows that the model computes without any change, of the run's own prompt or of
another. Activation patching: arXiv:2309.16042; steering by a difference of two prompts' rows: arXiv:2308.10248, here of
their last rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import assert_never

from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.changes import Changes, Edit
from kvscope.model.engine.engine import Engine
from kvscope.model.settings import Change, Site


@dataclass(frozen=True, slots=True)
class Place:
    """The hook point of a site, and the one where its rows stood before the layer, for what the layer adds."""

    point: str
    base: str | None = None


PLACES: dict[Site, Place] = {
    "token": Place("embedded"),
    "head": Place("attn.mixed"),
    "attention": Place("attn.change"),
    "mlp": Place("mlp.change"),
    "layer": Place("resid_out", base="resid_in"),
    "residual": Place("resid_out"),
    "k": Place("attn.k_rot"),
    "v": Place("attn.v"),
}
"""The output of a head before W_O; what attention, the MLP or the whole layer adds to the residual stream; the residual
stream after a layer; K and V as they are cached; the embedding of a token, where it enters the first layer."""

Encode = Callable[[str], list[int]]


class UnequalLength(ValueError):
    """Change number `index` patches with a prompt of `source` tokens a run whose prompt has `prompt`."""

    def __init__(self, index: int, source: int, prompt: int):
        super().__init__(index, source, prompt)
        self.index, self.source, self.prompt = index, source, prompt


def prepare(engine: Engine, encode: Encode, prompt: Sequence[int], changes: Sequence[Change]) -> Changes:
    """The edits that `changes` are in a run over `prompt`. `encode` gives the ids of another prompt.

    Raises UnequalLength, CacheFull, ValueError for an empty source.
    """
    edits = tuple(starmap(_Preparing(engine, encode, list(prompt)).edit, enumerate(changes)))
    return Changes((tuple(prompt), tuple(changes)), edits)


def place_of(site: Site, layer: int | None) -> tuple[str, str | None]:
    """Names of the hook point that a change at a site writes at, and of the one it counts from."""
    place = PLACES[site]
    block = "" if layer is None else f"blocks.{layer}."
    return f"{block}{place.point}", None if place.base is None else f"{block}{place.base}"


@dataclass(frozen=True, slots=True)
class _Preparing:
    engine: Engine
    encode: Encode
    prompt: list[int]

    def edit(self, index: int, change: Change) -> Edit:
        point, base = place_of(change.site, change.layer)
        first = len(self.prompt) + change.from_step - 1 if change.from_step else 0
        last = None
        if change.position is not None:
            first, last = max(first, change.position), change.position + 1
        match change.op:
            case "zero":
                keep, add = 0.0, None
            case "mean":
                keep, add = 0.0, self._rows(change, self.prompt).mean(dim=0)
            case "scale":
                keep, add = change.factor, None
            case "patch":
                ids = self.encode(change.source or "")
                if len(ids) != len(self.prompt):
                    raise UnequalLength(index, len(ids), len(self.prompt))
                keep, add, last = 0.0, self._rows(change, ids), min(last or len(ids), len(ids))
            case "steer":
                towards, away = (self.encode(text or "") for text in (change.source, change.away))
                direction = self._rows(change, towards)[-1] - self._rows(change, away)[-1]
                keep, add = 1.0, change.factor * direction
            case unknown:
                assert_never(unknown)
        return Edit(point, first, last, keep, add, change.head, base)

    def _rows(self, change: Change, ids: list[int]) -> Tensor:
        """[len(ids), W]: what lies at the change's place for these tokens, without any change."""
        if not ids:
            raise ValueError("a prompt without a token has no rows")
        point, base = place_of(change.site, change.layer)
        names = [name for name in (point, base) if name is not None]
        seen = observe(self.engine.under(None), ids, 0, names).values
        rows = seen[point] if change.head is None else seen[point][:, change.head]
        return rows if base is None else rows - seen[base]
