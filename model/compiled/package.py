"""Native code for a step: a block's and the head's, traced from the transformer's own modules.

A block has code twice: for one row, over weights in their groups, and for one row each of several sequences, around
products with packed weights, which are faster from four rows on (docs/measurements.md). Weights are arguments of the
code, so that the code of one block serves all that store theirs alike; what hook points show is among what it gives.
`python -m kvscope.model.compiled.package FILE` makes one, in a process of its own: tracing holds the interpreter and
compiling a processor, for seconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import torch
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GROUP, GroupedLinear, Groups
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear, times_packed
from kvscope.model.niceness import lower_priority
from kvscope.model.transformer import AttentionGroup, Batch, Block, Transformer

SEEN = {**dict.fromkeys(("block", "rows"), ("attn.q_rot", "attn.weights")), "head": ("final",)}
"""Hook points of each part whose values its code gives, beside the row that goes in and what comes out."""
PACKED = "packed"
SEVERAL, KEYS = 3, 8
"""Of the example that is traced: no size of it is kept."""
NICENESS = 19
NO_COMPILER = 3
"""Exit status."""
OPTIONS = {"cpp.dynamic_threads": True, "aot_inductor.precompile_headers": False}
"""As many threads as torch has when the code is called, not when it was compiled. Compiling the headers before saves no
more than it takes.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What code depends on. `part`: block, or rows, a block for several sequences, or head. `forms`: how each of its
    linear layers stores its weight.
    """

    part: str
    config: ModelConfig
    forms: tuple[tuple[str, str], ...]
    """Name in the part and `Groups.form`, or PACKED; sorted."""

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Plan:
        data = json.loads(text)
        return cls(data["part"], ModelConfig(**data["config"]), tuple((name, form) for name, form in data["forms"]))

    def module(self) -> nn.Module:
        """The part without weights, on the meta device; its linear layers as they are stored."""
        with torch.device("meta"):
            module = head_of(Transformer(self.config)) if self.part == "head" else Block(self.config)
            for name, form in self.forms:
                linear = module.get_submodule(name)
                assert isinstance(linear, Linear)
                stored = PackedLinear(linear) if form == PACKED else GroupedLinear(_empty(form, linear), linear.bias)
                module.set_submodule(name, stored)
        return module


class PackedLinear(nn.Module):
    """A linear layer whose weight comes packed."""

    def __init__(self, linear: Linear):
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, rows: Tensor) -> Tensor:
        return times_packed(rows, self.weight, self.bias)


Around = tuple[tuple[Tensor, Tensor] | None, tuple[Tensor, Tensor], Tensor, Tensor, Tensor | None]
"""What a block reads beside its rows [T, D]: the rotation of their positions; K and V of the layer, each
[Hkv, slots, Dh], which are written to; each row's slot [T]; the slots [T, K] of all rows of each one's sequence; of
several, which of them each sees, [T, 1, 1, 1, K].
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

    def forward(self, rows: Tensor, around: Around | None, weights: list[Tensor]) -> tuple[Tensor, ...]:
        (module,) = self._module
        arguments: tuple[Any, ...] = (rows,)
        if around is not None:
            rope, stored, slot, slots, visible = around
            batch = Batch(slot, slot, slot, (AttentionGroup(0, slot.shape[0], 1, slots.flatten(), visible),), slot)
            arguments = (rows, batch, rope, OneLayer(stored), 0)
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
    from torch.export import Dim, export

    module, config = plan.module(), plan.config
    several = plan.part == "rows"
    if several:
        _let_packed_weights_be_arguments()
    rows = torch.zeros(SEVERAL if several else 1, config.d)
    weights = [torch.zeros(weight.shape, dtype=weight.dtype) for weight in module.parameters()]
    around, shapes = (None, None) if plan.part == "head" else _around(config, len(rows))
    dynamic = {"rows": {0: Dim.AUTO} if several else None, "around": shapes, "weights": [None] * len(weights)}
    with torch.no_grad():
        code = export(Code(module, SEEN[plan.part]), (rows, around, weights), dynamic_shapes=dynamic, strict=False)
        aoti_compile_and_package(code, package_path=str(path), inductor_configs=OPTIONS)


def _around(config: ModelConfig, rows: int) -> tuple[Around, Any]:
    """Such arguments, and which of their sizes are free."""
    from torch.export import Dim

    turns, pools = torch.zeros(2, rows, 1, config.head_dim), torch.zeros(2, config.kv_heads, 64, config.head_dim)
    rope = (turns[0].clone(), turns[1].clone()) if config.positions == "rotary" else None
    slots = torch.arange(rows * KEYS).view(rows, KEYS)
    visible = torch.ones(rows, 1, 1, 1, KEYS, dtype=torch.bool) if rows > 1 else None
    each = {0: Dim.AUTO} if rows > 1 else {}
    shapes = (
        rope and (each, each),
        ({1: Dim.AUTO}, {1: Dim.AUTO}),
        each,
        {**each, 1: Dim.AUTO},
        None if visible is None else {**each, 4: Dim.AUTO},
    )
    return (rope, (pools[0].clone(), pools[1].clone()), slots[:, -1].clone(), slots, visible), shapes


def _let_packed_weights_be_arguments() -> None:
    """Inductor refuses packed weights that are not constants of the code; calling their kernel does not ask for it."""
    from torch._inductor.ir import TensorBox
    from torch._inductor.lowering import register_lowering
    from torch._inductor.mkldnn_ir import LinearBinary, LinearUnary

    for operator, kernel in (("default", LinearUnary), ("binary", LinearBinary)):

        def lowered(*arguments: Any, kernel: Any = kernel) -> TensorBox:
            return TensorBox.create(kernel.create(*arguments))

        register_lowering(getattr(torch.ops.mkldnn._linear_pointwise, operator), type_promotion_kind=None)(lowered)


def _empty(form: str, linear: Linear) -> Groups:
    rows, groups = linear.out_features, linear.in_features // GROUP
    q = (rows, groups, GROUP // 2) if form[0] == "4" else (rows, groups, GROUP)
    scales = torch.empty(rows, groups, dtype=torch.float16)
    kind = torch.uint8 if form[0] == "4" else torch.int8
    return Groups(torch.empty(q, dtype=kind), scales, scales.clone() if form.endswith("m") else None)


def main() -> int:
    """The plan comes as a line on standard input. When that ends, so does this process, with the compilers it started:
    who wanted the code is gone. `NO_COMPILER` where there is none.
    """
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    lower_priority(NICENESS)
    plan = Plan.read(sys.stdin.readline())
    Thread(target=_end_with_input, daemon=True).start()
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return NO_COMPILER
    build(plan, Path(sys.argv[1]))
    return 0


def _end_with_input() -> None:
    while os.read(0, 1):  # not sys.stdin's, which this process could not leave to itself at its end
        pass
    os.killpg(os.getpid(), signal.SIGKILL)  # a group of its own, or nothing


if __name__ == "__main__":
    sys.exit(main())
