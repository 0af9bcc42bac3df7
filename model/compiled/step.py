"""A step of one row on compiled code: in place of the transformer's blocks and head, with the same hook points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from kvscope.model.compiled.package import SEEN, Plan, head_of
from kvscope.model.config import ModelConfig
from kvscope.model.grouped import Groups
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear
from kvscope.model.transformer import Batch, Block, Transformer

BORDERS = ("resid_in", "resid_out")
"""Hook points of a block that its code lies between."""

Code = Callable[[list[Tensor]], list[Tensor]]
"""From all that it reads, one after another, to what a part gives and what its hook points show."""


def plans(transformer: Transformer, groups: Mapping[str, Groups]) -> list[Plan]:
    """What to compile for the transformer, whose weights are also there in `groups`, by name: each kind of block once,
    and the head. Nothing for parts that have a weight which is not in groups.
    """
    found = (plan_of(name, part, transformer.config, groups) for name, part in _parts(transformer))
    return list(dict.fromkeys(plan for plan in found if plan is not None))


def plan_of(name: str, part: nn.Module, config: ModelConfig, groups: Mapping[str, Groups]) -> Plan | None:
    """What to compile for one part, None where it has a weight that is not in groups."""
    linear = [inner for inner, module in part.named_modules() if isinstance(module, Linear)]
    if any(f"{name}{inner}.weight" not in groups for inner in linear):
        return None
    forms = tuple(sorted((inner, groups[f"{name}{inner}.weight"].form) for inner in linear))
    return Plan("block" if name else "head", config, forms)


class CompiledStep:
    """`files`: the code of each plan. Parts without any are the transformer's own.

    Raises what torch raises for a file that it cannot load.
    """

    def __init__(self, transformer: Transformer, groups: Mapping[str, Groups], files: Mapping[Plan, Path]):
        loaded = {plan: _load(path) for plan, path in files.items()}
        names = {plan: [name for name, _ in plan.module().named_parameters()] for plan in loaded}
        parts: dict[str, CompiledPart] = {}
        for name, part in _parts(transformer):
            plan = plan_of(name, part, transformer.config, groups)
            if plan in loaded:
                parts[name] = CompiledPart(
                    part, loaded[plan], _weights(name, part, names[plan], groups), SEEN[plan.part]
                )
        self.blocks: list[Callable[..., Tensor]] = [
            CompiledBlock(part, parts[name]) if name in parts else part
            for name, part in _parts(transformer)
            if isinstance(part, Block)
        ]
        """To be called as the transformer's are."""
        self.head: Callable[[Tensor], Tensor] | None = parts.get("")
        """A row of the residual stream [1, D] to logits [1, V]; None where it is the transformer's own."""
        self.weight_bytes = sum(
            groups[key].nbytes if (key := f"{name}{inner}.weight") in groups and name in parts else module.nbytes
            for name, part in _parts(transformer)
            for inner, module in part.named_modules()
            if isinstance(module, Linear)
        )
        """What the matrices of blocks and head take where a step reads them."""
        self._given = frozenset(
            f"{name}{point}" for name, part in parts.items() for point in (*part.points, *(BORDERS if name else ()))
        )

    def takes(self, batch: Batch, observed: Iterable[str]) -> bool:
        """Whether the pass is one for this code: one row that sees all keys, of which there are two or more, and
        nobody at a hook point within.
        """
        (group, *others) = batch.groups
        one = len(batch.ids) == 1 and not others and group.visible is None and group.keys > 1
        return one and all(name in self._given or name == "embedded" for name in observed)


class CompiledPart:
    """A part's code with its weights. `points`: hook points that its code gives the values of."""

    def __init__(self, part: nn.Module, code: Code, weights: list[Tensor], seen: tuple[str, ...]):
        self.points = {name: part.get_submodule(name) for name in seen}
        self._code, self._weights = code, weights

    def __call__(self, row: Tensor, *around: Tensor) -> Tensor:
        out, *seen = self._code([row, *around, *self._weights])
        for point, value in zip(self.points.values(), seen, strict=True):
            point(value)
        return out


class CompiledBlock:
    """Stands in for a block."""

    def __init__(self, block: Block, part: CompiledPart):
        self._block, self._part = block, part

    def __call__(
        self, rows: Tensor, batch: Batch, rope: tuple[Tensor, Tensor] | None, cache: KVCache, layer: int
    ) -> Tensor:
        keys, values = cache.pool[layer]
        around = (*(rope or ()), keys, values, batch.slots, batch.groups[0].slots)
        rows = self._part(self._block.resid_in(rows), *around)
        out: Tensor = self._block.resid_out(rows)
        return out


def _load(path: Path) -> Code:
    """What `torch._inductor.aoti_load_package` loads, without the second and a half of its imports, and without its
    taking arguments apart anew in each call.
    """
    run: Code = torch._C._aoti.AOTIModelPackageLoader(str(path), "model", False, 1, -1).run
    return run


def _parts(transformer: Transformer) -> Iterable[tuple[str, nn.Module]]:
    """Blocks and the head, each with what the names of its weights begin with."""
    for layer, block in enumerate(transformer.blocks):
        yield f"blocks.{layer}.", block
    yield "", head_of(transformer)


def _weights(name: str, part: nn.Module, parameters: Iterable[str], groups: Mapping[str, Groups]) -> list[Tensor]:
    """As the code wants them: in the order of the `parameters` of `Plan.module`."""
    found: list[Tensor] = []
    for inner in parameters:
        module, kind = inner.rsplit(".", 1)
        grouped = groups.get(f"{name}{module}.weight")
        found.append(getattr(grouped, kind) if grouped and kind != "bias" else part.get_parameter(inner))
    return found
