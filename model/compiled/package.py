"""Native code for a step of one row: a block's, and the head's, traced from the transformer's own modules.

Weights are arguments of the code, so that the code of one block serves all that store theirs alike; what hook points
show is among what it gives. `python -m kvscope.model.compiled.package FILE < PLAN` makes one, in a process of its own:
tracing holds the interpreter and compiling a processor, for seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GROUP, GroupedLinear, Groups
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear
from kvscope.model.transformer import AttentionGroup, Batch, Block, Transformer

SEEN = {"block": ("attn.q_rot", "attn.weights"), "head": ("final",)}
"""Hook points of each part whose values its code gives, beside the row that goes in and what comes out."""
NICENESS = 19
NO_COMPILER = 3
"""Exit status."""
OPTIONS = {"cpp.dynamic_threads": True}
"""As many threads as torch has when the code is called, not when it was compiled."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What code depends on. `part`: block or head. `forms`: how each of its linear layers stores its weight."""

    part: str
    config: ModelConfig
    forms: tuple[tuple[str, str], ...]
    """Name in the part and `Groups.form`, sorted."""

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Plan:
        data = json.loads(text)
        return cls(data["part"], ModelConfig(**data["config"]), tuple((name, form) for name, form in data["forms"]))

    def module(self) -> nn.Module:
        """The part without weights, on the meta device; its linear layers as they are stored."""
        with torch.device("meta"):
            module = Block(self.config) if self.part == "block" else head_of(Transformer(self.config))
            for name, form in self.forms:
                linear = module.get_submodule(name)
                assert isinstance(linear, Linear)
                module.set_submodule(name, GroupedLinear(_empty(form, linear), linear.bias))
        return module


Around = tuple[tuple[Tensor, Tensor] | None, tuple[Tensor, Tensor], Tensor, Tensor]
"""What a block reads beside its row: the rotation of its position; K and V of the layer, each [Hkv, slots, Dh], which
are written to; the row's slot [1]; the slots [K] of all rows of its sequence.
"""


class OneLayer(KVCache):
    """The cache as the code of one block has it."""

    def __init__(self, stored: tuple[Tensor, Tensor]):
        self.pool = [stored]  # type: ignore[assignment]


class Code(nn.Module):
    """A part as a function of all that it reads. Gives what the part gives, and the values of `seen`."""

    def __init__(self, module: nn.Module, seen: tuple[str, ...]):
        super().__init__()
        self._module = (module,)  # in a tuple, for it is no part of this one: its weights are arguments
        self._seen = seen

    def forward(self, row: Tensor, around: Around | None, weights: list[Tensor]) -> tuple[Tensor, ...]:
        (module,) = self._module
        arguments: tuple[Any, ...] = (row,)
        if around is not None:
            rope, stored, slot, slots = around
            batch = Batch(slot, slot, slot, (AttentionGroup(0, 1, 1, slots, None),), slot)
            arguments = (row, batch, rope, OneLayer(stored), 0)
        named = {name: weight for (name, _), weight in zip(module.named_parameters(), weights, strict=True)}
        seen: list[Tensor] = []
        with observing(hook_points(module), dict.fromkeys(self._seen, seen.append)):
            out = torch.func.functional_call(module, named, arguments)
        return out, *seen


def head_of(transformer: Transformer) -> nn.Module:
    """What `Transformer.decode_rows` does, as a module."""
    parts = {"norm": transformer.norm, "final": transformer.final, "lm_head": transformer.lm_head}
    return nn.Sequential(OrderedDict(parts))


def build(plan: Plan, path: Path) -> None:
    """Trace and compile into the file `path`. Raises what torch does, above all where there is no compiler."""
    # Here and not above: who only loads code does not wait for the compiler's second and a half of imports.
    from torch._inductor import aoti_compile_and_package
    from torch.export import export

    module = plan.module()
    config = plan.config
    row = torch.zeros(1, config.d)
    weights = [torch.zeros(weight.shape, dtype=weight.dtype) for weight in module.parameters()]
    around, shapes = (None, None) if plan.part == "head" else _around(config)
    dynamic = {"row": None, "around": shapes, "weights": [None] * len(weights)}
    with torch.no_grad():
        code = export(Code(module, SEEN[plan.part]), (row, around, weights), dynamic_shapes=dynamic, strict=False)
        aoti_compile_and_package(code, package_path=str(path), inductor_configs=OPTIONS)


def _around(config: ModelConfig) -> tuple[Around, Any]:
    """Such arguments, and which of their sizes are free."""
    from torch.export import Dim

    turns, pools = torch.zeros(2, 1, 1, config.head_dim), torch.zeros(2, config.kv_heads, 64, config.head_dim)
    rope = (turns[0].clone(), turns[1].clone()) if config.positions == "rotary" else None
    around = (rope, (pools[0].clone(), pools[1].clone()), torch.tensor([7]), torch.arange(8))
    return around, (rope and (None, None), ({1: Dim.AUTO}, {1: Dim.AUTO}), None, {0: Dim.AUTO})


def _empty(form: str, linear: Linear) -> Groups:
    rows, groups = linear.out_features, linear.in_features // GROUP
    q = (rows, groups, GROUP // 2) if form[0] == "4" else (rows, groups, GROUP)
    scales = torch.empty(rows, groups, dtype=torch.float16)
    kind = torch.uint8 if form[0] == "4" else torch.int8
    return Groups(torch.empty(q, dtype=kind), scales, scales.clone() if form.endswith("m") else None)


def main() -> int:
    """The plan comes on standard input. `NO_COMPILER` where there is none."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    os.nice(NICENESS)
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return NO_COMPILER
    build(Plan.read(sys.stdin.read()), Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
