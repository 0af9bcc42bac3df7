"""Compares one layer of a decode step in two passes, with the cache and without it, operation by operation."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Difference:
    """The same rows in two passes: the largest |difference|, and the largest |value|."""

    largest: float
    size: float


@dataclass(frozen=True, slots=True)
class OperationTwice:
    """The differences at one hook point, of older rows and the new one. `cached`: older rows are from the cache."""

    name: str
    cached: bool
    old: Difference
    new: Difference


def layer_twice(engine: Engine, ids: list[int], layer: int) -> list[OperationTwice]:
    """Compares every hook point of one layer in the step that reads the last of `ids`, in the order of the model.

    Without the cache, one pass computes all of `ids`; with it, the last only. The older rows of K and V are then from
    the cache; the other values of older rows are not stored, so a pass over the tokens before computes them again.
    `ids` has at least two tokens. Raises CacheFull.
    """
    prefix = f"blocks.{layer}."
    names = [name for name in engine.runner.points if name.startswith(prefix)]
    before = observe(engine, ids[:-1], 0, names).block(layer)
    cached = observe(engine, ids, len(ids) - 1, names, cache_of=[layer])
    again = {name: _by_row(value) for name, value in observe(engine, ids, 0, names).block(layer).items()}
    cached_rows = {
        f"attn.{name}": rows.transpose(0, 1) for name, rows in zip(("k_rot", "v"), cached.cache[layer], strict=True)
    }
    window = engine.transformer.config.window if engine.transformer.config.has_window(layer) else None
    # Rows of K and V that the layer may no longer have in the cache are not compared.
    dropped = 0 if window is None else max(0, len(ids) - window)
    operations = []
    for name, value in cached.block(layer).items():
        old = cached_rows[name][:-1] if name in cached_rows else _by_row(before[name])
        # An older row's scores and weights have only the keys of its own pass.
        same = again[name][:-1, ..., : old.shape[-1]]
        if name in cached_rows:
            old, same = old[dropped:], same[dropped:]
        new = _difference(_by_row(value)[-1], again[name][-1])
        operations.append(OperationTwice(name, name in cached_rows, _difference(old, same), new))
    return operations


def _by_row(value: Tensor) -> Tensor:
    """Returns a value with rows first: [T, …] unchanged, B Hkv G Q K of one sequence -> Q H K."""
    return value[0].flatten(0, 1).transpose(0, 1) if value.dim() == 5 else value


def _difference(one: Tensor, other: Tensor) -> Difference:
    if not one.numel():
        return Difference(0.0, 0.0)
    return Difference(float((one - other).abs().max()), float(one.abs().max()))
