"""Makes the edits of a changed run: the hook point where each change writes, and the rows that it writes.

The model computes the rows of a mean, a patch or a direction without any change, from the run's own prompt or another.
Activation patching: arXiv:2309.16042; steering by a difference of two prompts' rows, here the last: arXiv:2308.10248.
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
    """The hook point of a site. If the site is what a layer adds, `base` is the hook point before the layer."""

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
    "expert": Place("mlp.probabilities"),
}
"""A token's embedding before the first layer; a head's output before W_O; what attention, the MLP or the whole layer
adds to the residual stream; the residual stream after a layer; K and V as cached; the probability that the router gives
an expert, before it chooses."""

Encode = Callable[[str], list[int]]


class UnequalLength(ValueError):
    """Change number `index` patches a run whose prompt has `prompt` tokens with a prompt of `source` tokens."""

    def __init__(self, index: int, source: int, prompt: int):
        super().__init__(index, source, prompt)
        self.index, self.source, self.prompt = index, source, prompt


def prepare(engine: Engine, encode: Encode, prompt: Sequence[int], changes: Sequence[Change]) -> Changes:
    """Returns `changes` as edits of a run over the ids `prompt`. `encode` returns the ids of another prompt.

    Raises UnequalLength, CacheFull and, for an empty source, ValueError.
    """
    edits = tuple(starmap(_Preparing(engine, encode, list(prompt)).edit, enumerate(changes)))
    return Changes((tuple(prompt), tuple(changes)), edits)


def place_of(site: Site, layer: int | None) -> tuple[str, str | None]:
    """Returns the names of a site's hook point in a layer, where a change writes, and of its base, if it has one."""
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
        """Returns the rows at the change's site for these tokens, computed without any change: [len(ids), W]."""
        if not ids:
            raise ValueError("a prompt without a token has no rows")
        point, base = place_of(change.site, change.layer)
        names = [name for name in (point, base) if name is not None]
        values = observe(self.engine.under(None), ids, 0, names).values
        rows = values[point] if change.head is None else values[point][:, change.head]
        return rows if base is None else rows - values[base]
