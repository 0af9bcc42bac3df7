"""Compares a step's logits alone and in a batch, computed by the engine and by torch's own products.

Addition in floating point is not associative: another order of the same numbers may round to another sum (Goldberg
1991, doi:10.1145/103162.103163). Native code has one order for each row. The products of torch, as of other libraries,
may choose their order by the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from math import fsum

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.sampling import choose
from kvscope.model.engine.threads import threads_for
from kvscope.model.linear import COMPUTED, GroupedWeight, Linear, Product
from kvscope.model.pieces import pause
from kvscope.model.settings import Sampling
from kvscope.model.transformer import Block, capped

STEPS = 2
"""Steps that are compared together: torch needs each weight as float32, which takes as long as some products."""
OUTPUTS = 16384
"""Rows of the LM head that are float32 at a time."""
LANES = 16
"""Sums in which native code and many libraries add side by side, before these are added."""
FORMS: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""The type to which the factors and results of torch's products are rounded. The sums are float32."""


@dataclass(frozen=True, slots=True)
class Twice:
    """The logits of one row in a pass alone and in a pass with other rows."""

    differing: int
    """How many logits have different bits."""
    largest: float
    """The largest |difference|."""
    alone: int
    """The token that the step chooses from the logits alone …"""
    beside: int
    """… and from those beside other rows."""


@dataclass(frozen=True, slots=True)
class Three:
    """Three numbers that occur one after another in a sum: the sum so far, and the next two products."""

    numbers: tuple[float, float, float]
    left: float
    """(a + b) + c in float32"""
    right: float
    """a + (b + c) in float32"""
    at: int
    """How many products the first number has."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The products of one logit, row · LM head, added in several orders in float32. `exact`: without rounding."""

    count: int
    one_by_one: float
    in_lanes: float
    backwards: float
    exact: float
    three: Three | None
    """None if no three numbers of this sum show a difference."""


@dataclass(frozen=True, slots=True)
class StepTwice:
    """A step's logits, twice each. `engine`: as runs are computed; `torch`: by form."""

    gap: float
    """The difference of the two largest logits of the run."""
    engine: Twice
    torch: dict[str, Twice]
    sums: Sums
    """Of the token that the step chose."""


def steps_twice(
    engine: Engine, ids: list[int], lengths: range, chosen: list[int], company: int, sampling: Sampling, first: int
) -> list[StepTwice]:
    """Compares the last row of each of `ids[:length]`, which steps from `first` on computed, alone and beside `company`
    sequences of one token. `chosen`: the token of each step.

    All passes read the K and V that the engine computed, so a difference arises in the pass itself. Raises CacheFull.
    """
    seen: dict[str, list[Tensor]] = {"embedded": [], "final": []}
    observers = {name: lambda value, name=name: seen[name].append(value.clone()) for name in seen}
    with ExitStack() as held, torch.inference_mode():
        others = [held.enter_context(_entry(engine, [ids[at % len(ids)]])) for at in range(company)]
        entries = [held.enter_context(_entry(engine, ids[:length])) for length in lengths]
        passes = [[entry, *beside] for beside in ([], others) for entry in entries]
        ours = [engine.runner.run(each, observers).logits[0] for each in passes]
        with threads_for(1):
            theirs = _by_torch(engine, passes, seen["embedded"])
            head = engine.transformer.lm_head.rows(torch.tensor(chosen)).float()
            return [
                _step_twice(
                    [(each[place], each[place + len(lengths)]) for each in (ours, *theirs.values())],
                    sums(seen["final"][place][0], head[place]),
                    sampling,
                    first + place,
                )
                for place in range(len(lengths))
            ]


def _step_twice(pairs: list[tuple[Tensor, Tensor]], added: Sums, sampling: Sampling, step: int) -> StepTwice:
    """`pairs`: the logits alone and beside others, of the engine and then of torch in each of `FORMS`."""
    engine, *by_torch = (_twice(*each, sampling, step) for each in pairs)
    best, second = pairs[0][0].topk(2).values.tolist()
    return StepTwice(best - second, engine, dict(zip(FORMS, by_torch, strict=True)), added)


@contextmanager
def _entry(engine: Engine, ids: list[int]) -> Iterator[Entry]:
    """The last of `ids` as the only new row of a pass. Raises CacheFull."""
    with engine.replay(ids[:-1], len(ids) - 1) as sequence:
        yield engine.scheduler.entry(sequence, ids[-1:])


def _by_torch(engine: Engine, passes: list[list[Entry]], embedded: list[Tensor]) -> dict[str, list[Tensor]]:
    """Returns by form the logits [V] of the first row of each pass, from its `embedded` rows, by torch's products.

    All passes go through a layer before the next one, so that only its weights are float32.
    """
    transformer, config = engine.transformer, engine.transformer.config
    batches = [make_batch(each, config.window)[0] for each in passes]
    ropes = [transformer.ropes(batch.positions) for batch in batches]
    rows = {name: list(embedded) for name in FORMS}
    for layer, block in enumerate(transformer.blocks):
        dense = {name: each.dense() for name, each in block.named_modules() if isinstance(each, Linear)}
        for name, dtype in FORMS.items():
            plain = _plain(block, config, layer, dense, dtype)
            for place, batch in enumerate(batches):
                rope = ropes[place][config.has_window(layer)]
                rows[name][place] = plain(rows[name][place], batch, rope, engine.cache, layer)
            pause()
    normed = {name: [transformer.norm(each) for each in of_form] for name, of_form in rows.items()}
    parts: dict[str, list[list[Tensor]]] = {name: [[] for _ in passes] for name in FORMS}
    for outputs in torch.arange(config.vocab).split(OUTPUTS):  # type: ignore[no-untyped-call]
        weights = transformer.lm_head.rows(outputs)
        for name, dtype in FORMS.items():
            product = _product(weights, None, dtype)
            for part, each in zip(parts[name], normed[name], strict=True):
                part.append(product(each)[0])
            pause()
    return {name: [capped(torch.cat(part), config.logit_cap) for part in of_form] for name, of_form in parts.items()}


def _plain(block: nn.Module, config: ModelConfig, layer: int, dense: dict[str, Tensor], dtype: torch.dtype) -> Block:
    """Returns a copy of a block that multiplies by torch's products with the `dense` weights of its linear layers."""
    with torch.device("meta"):
        plain = Block(config, layer)
    for name in dense:
        linear = plain.get_submodule(name)
        assert isinstance(linear, Linear)
        linear.hold(())
    names = plain.state_dict().keys()
    plain.load_state_dict({name: value for name, value in block.state_dict().items() if name in names}, assign=True)
    for name, weight in dense.items():
        linear = plain.get_submodule(name)
        assert isinstance(linear, Linear)
        linear.use(partial(_as_products, weight, dtype))
    return plain


def _as_products(weight: Tensor, dtype: torch.dtype, groups: GroupedWeight, bias: Tensor | None) -> Product:
    """`model.linear.Products` of a dense weight, which is not in groups."""
    return _product(weight, bias, dtype)


def _product(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Product:
    """Returns torch's float32 product, with factors and results rounded to `dtype`."""
    weight = weight.to(dtype).to(COMPUTED)

    def product(rows: Tensor) -> Tensor:
        result = F.linear(rows.to(dtype).to(COMPUTED), weight).to(dtype).to(COMPUTED)
        return result if bias is None else result + bias

    return product


def sums(row: Tensor, weights: Tensor) -> Sums:
    """Adds the products of two rows [D] in several orders."""
    products = (row.float() * weights).numpy()
    so_far = np.cumsum(products, dtype=np.float32)
    in_lanes = np.pad(products, (0, -len(products) % LANES)).reshape(-1, LANES)
    lanes = np.cumsum(in_lanes, axis=0, dtype=np.float32)[-1]
    return Sums(
        count=len(products),
        one_by_one=float(so_far[-1]),
        in_lanes=float(np.cumsum(lanes, dtype=np.float32)[-1]),
        backwards=float(np.cumsum(products[::-1], dtype=np.float32)[-1]),
        exact=fsum(products.tolist()),
        three=_three(so_far, products),
    )


def _three(so_far: np.ndarray, products: np.ndarray) -> Three | None:
    """Returns the numbers of the largest difference between both ways to add three of them."""
    a, b, c = so_far[:-2], products[1:-1], products[2:]
    left, right = (a + b) + c, a + (b + c)
    if not (left != right).any():
        return None
    at = int(np.abs(left - right).argmax())
    return Three((float(a[at]), float(b[at]), float(c[at])), float(left[at]), float(right[at]), at + 1)


def _twice(alone: Tensor, beside: Tensor, sampling: Sampling, step: int) -> Twice:
    return Twice(
        differing=int((alone.view(torch.int32) != beside.view(torch.int32)).sum()),
        largest=float((alone - beside).abs().max()),
        alone=choose(Distribution(alone), sampling, step).token,
        beside=choose(Distribution(beside), sampling, step).token,
    )
