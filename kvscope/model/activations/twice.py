"""One layer of a decode step from two real passes, with the cache and without it: how far each operation differs."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Difference:
    """Between the same rows in two passes: the largest |difference|, and the largest |value|."""

    largest: float
    size: float


@dataclass(frozen=True, slots=True)
class OperationTwice:
    """What one hook point of the layer gave. `cached`: the older rows were read from the cache."""

    name: str
    cached: bool
    old: Difference
    new: Difference


def layer_twice(engine: Engine, ids: list[int], layer: int) -> list[OperationTwice]:
    """Every hook point of one layer in the pass that feeds the last of `ids`, in the order of the model.

    Without the cache all of `ids` go through the model at once. With it the last one goes alone; the older rows are
    then what the cache holds of K and V, and of all else what a pass over the tokens before it gives: nothing keeps
    that, so it is computed once more. `ids` has at least two. Raises CacheFull.
    """
    prefix = f"blocks.{layer}."
    names = [name for name in engine.runner.points if name.startswith(prefix)]
    before = observe(engine, ids[:-1], 0, names).block(layer)
    cached = observe(engine, ids, len(ids) - 1, names, cache_of=[layer])
    again = {name: _by_row(value) for name, value in observe(engine, ids, 0, names).block(layer).items()}
    kept = {
        f"attn.{name}": rows.transpose(0, 1) for name, rows in zip(("k_rot", "v"), cached.cache[layer], strict=True)
    }
    window = engine.transformer.config.window if engine.transformer.config.has_window(layer) else None
    dropped = 0 if window is None else max(0, len(ids) - window)
    """Rows of K and V that the layer no longer needs to hold: there is nothing to compare."""
    operations = []
    for name, value in cached.block(layer).items():
        old = kept[name][:-1] if name in kept else _by_row(before[name])
        # Of scores and weights an older row has as many keys as there were in its own pass.
        same = again[name][:-1, ..., : old.shape[-1]]
        if name in kept:
            old, same = old[dropped:], same[dropped:]
        new = _difference(_by_row(value)[-1], again[name][-1])
        operations.append(OperationTwice(name, name in kept, _difference(old, same), new))
    return operations


def _by_row(value: Tensor) -> Tensor:
    """Rows first: [T, …] as it is, B Hkv G Q K of one sequence -> Q H K."""
    return value[0].flatten(0, 1).transpose(0, 1) if value.dim() == 5 else value


def _difference(one: Tensor, other: Tensor) -> Difference:
    if not one.numel():
        return Difference(0.0, 0.0)
    return Difference(float((one - other).abs().max()), float(one.abs().max()))
