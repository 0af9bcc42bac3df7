"""Steps on compiled code: in place of the transformer's blocks and head, with the same hook points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from kvscope.model.compiled.package import PACKED, SEEN, Plan, head_of
from kvscope.model.config import ModelConfig
from kvscope.model.grouped import Groups
from kvscope.model.hooks import hook_points
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear
from kvscope.model.transformer import AttentionGroup, Batch, Block, Transformer
from kvscope.model.weights import ByFormat, weights_read

BORDERS = ("resid_in", "resid_out")
"""Hook points of a block that its code lies between."""

Code = Callable[[list[Tensor]], list[Tensor]]
"""From all that it reads, one after another, to what a part gives and what its hook points show."""


def plans(transformer: Transformer, groups: Mapping[str, Groups]) -> list[Plan]:
    """What to compile for the transformer, whose weights are also there in `groups`, by name: each kind of block once,
    and the head. Nothing for parts that have a weight which is not in groups.
    """
    parts = list(_parts(transformer))
    found = [plan_of(name, part, transformer.config, groups) for name, part in parts]
    if any(found):
        found += [plan_of_rows(part, transformer.config) for _, part in parts]
    return list(dict.fromkeys(plan for plan in found if plan is not None))


def plan_of(name: str, part: nn.Module, config: ModelConfig, groups: Mapping[str, Groups]) -> Plan | None:
    """What to compile of one part for one row, None where it has a weight that is not in groups."""
    linear = [inner for inner, _ in _linears(part)]
    if any(f"{name}{inner}.weight" not in groups for inner in linear):
        return None
    forms = tuple(sorted((inner, groups[f"{name}{inner}.weight"].form) for inner in linear))
    return Plan("block" if name else "head", config, forms)


def plan_of_rows(part: nn.Module, config: ModelConfig) -> Plan | None:
    """What to compile of one part for several rows: of a block whose weights are packed."""
    linears = dict(_linears(part))
    if not isinstance(part, Block) or any(linear.packed is None for linear in linears.values()):
        return None
    return Plan("rows", config, tuple((inner, PACKED) for inner in sorted(linears)))


class CompiledSteps:
    """`files`: the code of each plan. Parts without any are the transformer's own.

    Raises what torch raises for a file that it cannot load.
    """

    def __init__(self, transformer: Transformer, groups: Mapping[str, Groups], files: Mapping[Plan, Path]):
        codes, config = {plan: _load(path) for plan, path in files.items()}, transformer.config
        parameters = {plan: [name for name, _ in plan.module().named_parameters()] for plan in files}

        def compiled(
            plan_for: Callable[[str, nn.Module], Plan | None], groups: Mapping[str, Groups]
        ) -> dict[str, CompiledPart]:
            planned = ((name, part, plan_for(name, part)) for name, part in _parts(transformer))
            return {
                name: CompiledPart(plan, part, codes[plan], _weights(name, part, parameters[plan], groups))
                for name, part, plan in planned
                if plan in codes
            }

        one = compiled(lambda name, part: plan_of(name, part, config, groups), groups)
        several = compiled(lambda _, part: plan_of_rows(part, config), {})
        read = [
            groups[key] if (key := f"{name}{inner}.weight") in groups and name in one else linear
            for name, part in _parts(transformer)
            for inner, linear in _linears(part)
        ]
        self.groups = tuple(each for each in read if isinstance(each, Groups))
        """The weights that are held in groups for it."""
        self._one = CompiledStep(transformer, one, weights_read(read))
        self._several = CompiledStep(transformer, several, None)

    def for_pass(self, batch: Batch, observed: Iterable[str]) -> CompiledStep | None:
        """What takes this pass: one new row of each of its sequences, which have two keys or more, with nobody at a
        hook point within compiled code. A single one sees all its keys.
        """
        group = batch.one_row_each
        if group is None or group.keys < 2:
            return None
        if group.sequences == 1 and group.visible is not None:
            return None
        step = self._one if group.sequences == 1 else self._several
        return step if step.shows(observed) else None


class CompiledStep:
    """Stands in for the transformer in one kind of pass, with code for some of its `parts`, by name."""

    def __init__(self, transformer: Transformer, parts: Mapping[str, CompiledPart], weights: ByFormat | None):
        self.blocks: list[Callable[..., Tensor]] = [
            CompiledBlock(part, parts[name]) if name in parts else part
            for name, part in _parts(transformer)
            if isinstance(part, Block)
        ]
        """To be called as the transformer's are."""
        self.head: Callable[[Tensor], Tensor] | None = parts.get("")
        """Rows of the residual stream [T, D] to logits [T, V]; None where it is the transformer's own."""
        self.weights = weights
        """The matrices of blocks and head, as it reads them; None: as the transformer's own modules do."""
        self._shown = {"embedded"}
        for name, part in _parts(transformer):
            points = (*parts[name].points, *(BORDERS if name else ())) if name in parts else hook_points(part)
            self._shown |= {f"{name}{point}" for point in points}

    def shows(self, observed: Iterable[str]) -> bool:
        """Whether all hook points of these names are passed."""
        return self._shown.issuperset(observed)


class CompiledPart:
    """A part's code with its weights. `points`: hook points that its code gives the values of."""

    def __init__(self, plan: Plan, part: nn.Module, code: Code, weights: list[Tensor]):
        self.points = {name: part.get_submodule(name) for name in SEEN[plan.part]}
        self._code, self._weights = code, weights

    def __call__(self, rows: Tensor, *around: Tensor) -> Tensor:
        out, *seen = self._code([rows, *around, *self._weights])
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
        (group,) = batch.groups
        around = (*(rope or ()), keys, values, batch.slots, group.slots.view(group.sequences, group.keys))
        if group.sequences > 1:
            around += (group.visible if group.visible is not None else _everything(group),)
        rows = self._part(self._block.resid_in(rows), *around)
        out: Tensor = self._block.resid_out(rows)
        return out


def _everything(group: AttentionGroup) -> Tensor:
    return torch.ones(group.sequences, 1, 1, 1, group.keys, dtype=torch.bool)


def _load(path: Path) -> Code:
    """What `torch._inductor.aoti_load_package` loads, without the second and a half of its imports, and without its
    taking arguments apart anew in each call.
    """
    run: Code = torch._C._aoti.AOTIModelPackageLoader(str(path), "model", False, 1, -1).run
    return run


def _parts(transformer: Transformer) -> Iterator[tuple[str, nn.Module]]:
    """Blocks and the head, each with what the names of its weights begin with."""
    for layer, block in enumerate(transformer.blocks):
        yield f"blocks.{layer}.", block
    yield "", head_of(transformer)


def _linears(part: nn.Module) -> Iterator[tuple[str, Linear]]:
    return ((name, module) for name, module in part.named_modules() if isinstance(module, Linear))


def _weights(name: str, part: nn.Module, parameters: Iterable[str], groups: Mapping[str, Groups]) -> list[Tensor]:
    """As the code wants them: in the order of the `parameters` of `Plan.module`."""
    found: list[Tensor] = []
    for inner in parameters:
        module, kind = inner.rsplit(".", 1)
        grouped, linear = groups.get(f"{name}{module}.weight"), part.get_submodule(module)
        if grouped and kind != "bias":
            found.append(getattr(grouped, kind))
        elif kind == "weight" and isinstance(linear, Linear) and linear.packed is not None:
            found.append(linear.packed)
        else:
            found.append(part.get_parameter(inner))
    return found
