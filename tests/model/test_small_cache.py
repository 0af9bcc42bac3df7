"""A cache in another form gives back what that form can hold, and takes what the formula says."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from kvscope.model.api import CacheDtype
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import Sequence
from kvscope.model.small_cache import Form, SmallCache
from tests.support.tiny import GREEDY, advance_all, answer, prompt, shared_model, tiny_config, tokens

DTYPES = get_args(CacheDtype)
STEPS = {"float32": 0.0, "bfloat16": 2**-8, "int8": 0.5 / 127, "int4": 0.5 / 7}
"""The largest error, as a share of the largest number of a vector."""


def rows(count: int, heads: int = 2, width: int = 8) -> torch.Tensor:
    return torch.randn(count, heads, width, generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [1, 2])
def test_what_is_written_comes_back_within_a_step(dtype: CacheDtype, heads: int) -> None:
    cache, sequence = SmallCache(tiny_config(), 3, Form(dtype, heads)), Sequence()
    k, v = rows(20), rows(21)[:20]
    k[3] = 0
    slots = cache.extend(sequence, 20)
    cache.write(1, slots, k, v)
    for stored, given in zip(cache.read(1, cache.slots(sequence)), (k, v), strict=True):
        wanted = given.transpose(0, 1)
        if heads == 1:
            wanted = wanted.mean(0, keepdim=True).expand(2, -1, -1)
        most = wanted.abs().amax(-1, keepdim=True)
        assert stored.dtype == torch.float32
        # The scale is rounded to 16 bits.
        assert ((stored - wanted).abs() <= most * (STEPS[dtype] + 1e-3) + 1e-7).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_takes_what_the_formula_says(dtype: CacheDtype) -> None:
    config = tiny_config(head_dim=16)
    expected = {"float32": 64, "bfloat16": 32, "int8": 18, "int4": 10}[dtype]
    for heads in (1, 2):
        form = Form(dtype, heads)
        assert form.position_bytes(config) == 2 * config.layers * heads * expected
        assert SmallCache(config, 2, form).position_bytes == form.position_bytes(config)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_runs_share_and_copy_its_blocks_as_those_of_any_other(dtype: CacheDtype) -> None:
    model = shared_model()
    ids = prompt(20)

    def text(*, forked: bool) -> list[int]:
        cache = SmallCache(model.config, 16, Form(dtype, 2))
        engine = Engine(model, capacity=256, cache=cache)
        if forked:
            answer(engine, ids, 3, key="other")
        found = answer(engine, ids, 6)
        engine.fork("fork", [*ids, *found[:3]], len(ids), GREEDY, 6)
        assert tokens(advance_all(engine), "fork") == found[3:]
        return found

    assert text(forked=True) == text(forked=False)
