"""Steps alone and beside others: which bits differ, and one sum in several orders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from kvscope.model.activations.invariance import FORMS, StepTwice, steps_twice, sums
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.runner import Pass
from kvscope.model.native import Native
from kvscope.model.transformer import Transformer
from tests.support.grouped import grouped_weights
from tests.support.tiny import GREEDY, SAMPLED, answer, check_cache, forget_all, prompt, tiny_config

PROMPT, STEPS = 21, 4


def native_engine(arch: str, native: Native) -> Engine:
    config = tiny_config(arch, d_mlp=64, **({"d_expert": 32} if arch == "qwen3_moe" else {}))
    model = Transformer.from_weights(config, grouped_weights(config), products=native.products)
    engine = Engine(model, capacity=1024)
    engine.runner.steps = native.steps(model, engine.cache)
    return engine


def compared(engine: Engine, sampling: Any = GREEDY, first: int = 0) -> tuple[list[StepTwice], list[int]]:
    chosen = answer(engine, prompt(PROMPT), STEPS, sampling)
    ids = [*prompt(PROMPT), *chosen[:-1]]
    lengths = range(PROMPT + first, PROMPT + STEPS)
    return steps_twice(engine, ids, lengths, chosen[first:], 7, sampling, first), chosen[first:]


@pytest.mark.parametrize("arch", ["llama", "mistral", "gpt2", "gemma3_text", "qwen3_moe"])
def test_a_step_of_native_code_is_the_same_and_chooses_what_the_run_chose(arch: str, native: Native) -> None:
    engine = native_engine(arch, native)
    steps, chosen = compared(engine)
    assert [each.engine.differing for each in steps] == [0] * STEPS
    assert [each.engine.largest for each in steps] == [0.0] * STEPS
    assert [each.engine.alone for each in steps] == [each.engine.beside for each in steps] == chosen
    forget_all(engine)
    check_cache(engine)


@pytest.mark.parametrize("arch", ["llama", "mistral", "gpt2", "gemma3_text", "qwen3_moe"])
def test_torchs_products_compute_the_same_step_but_for_rounding(arch: str, native: Native) -> None:
    steps, chosen = compared(native_engine(arch, native))
    assert [each.torch["float32"].alone for each in steps] == chosen
    for each in steps:
        assert set(each.torch) == set(FORMS)
        assert each.torch["float32"].largest < 1e-4
        assert each.torch["bfloat16"].largest < 1


def test_a_later_step_draws_as_the_run_did(native: Native) -> None:
    steps, chosen = compared(native_engine("llama", native), SAMPLED, first=2)
    assert [each.engine.alone for each in steps] == chosen


def test_a_pass_that_computes_otherwise_beside_others_is_seen(native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = native_engine("llama", native)
    ordinary = engine.runner.run

    def run(entries: Any, *others: Any, **options: Any) -> Pass:
        done = ordinary(entries, *others, **options)
        return (
            done if len(entries) == 1 else replace(done, logits=done.logits - 20 * (done.logits == done.logits.max()))
        )

    chosen = answer(engine, prompt(PROMPT), 1)
    monkeypatch.setattr(engine.runner, "run", run)
    (step,) = steps_twice(engine, prompt(PROMPT), range(PROMPT, PROMPT + 1), chosen, 3, GREEDY, 0)
    assert step.engine.differing == 1
    assert step.engine.largest == pytest.approx(20)
    assert step.engine.alone == chosen[0] != step.engine.beside


def test_a_sum_has_the_order_that_its_name_says() -> None:
    row = torch.tensor([2.0**24, 1.0, 1.0])
    added = sums(row, torch.ones(3))
    assert (added.count, added.exact) == (3, 2.0**24 + 2)
    assert (added.one_by_one, added.backwards) == (2.0**24, 2.0**24 + 2)
    assert added.three is not None
    assert added.three.numbers == (2.0**24, 1.0, 1.0)
    assert (added.three.left, added.three.right, added.three.at) == (2.0**24, 2.0**24 + 2, 1)


def test_sums_side_by_side_are_added_at_the_end() -> None:
    numbers = torch.zeros(33)
    numbers[[0, 1, 17, 32]] = torch.tensor([2.0**24, 1.0, 1.0, 0.0])
    assert sums(numbers, torch.ones(33)).one_by_one == 2.0**24
    assert sums(numbers, torch.ones(33)).in_lanes == 2.0**24 + 2


def test_numbers_that_need_no_rounding_show_no_difference() -> None:
    assert sums(torch.arange(20.0), torch.ones(20)).three is None
