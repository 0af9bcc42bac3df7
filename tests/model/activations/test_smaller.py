"""What is lost with a smaller cache, beside the same in float32."""

from __future__ import annotations

import math

import pytest

from kvscope.model.activations.smaller import compared
from kvscope.model.engine.engine import Engine
from kvscope.model.small_cache import Form, SmallCache
from tests.support.loaded import logits_of_rows
from tests.support.tiny import answer, prompt, shared_model, tiny_engine, whole_logits

STEPS = 8


def run_of(arch: str = "llama") -> list[int]:
    """A prompt and the tokens that a greedy run chose after it, but the last."""
    return [*prompt(12), *answer(tiny_engine(arch), prompt(12), STEPS)][:-1]


def test_the_same_form_loses_nothing() -> None:
    ids = run_of()
    loss = compared(shared_model(), ids, STEPS, Form("float32", 2))
    assert loss.kl == [0.0] * STEPS
    assert loss.furthest.was == loss.furthest.became
    expected = whole_logits(shared_model(), ids)[-STEPS:].argmax(-1).tolist()
    assert loss.likeliest == [(token, token) for token in expected]


@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_fewer_bits_lose_more(arch: str) -> None:
    model = shared_model(arch)
    ids, heads = run_of(arch), model.config.kv_heads
    losses = [compared(model, ids, STEPS, Form(dtype, heads)) for dtype in ("bfloat16", "int8", "int4")]
    assert losses[0].bytes > losses[1].bytes > losses[2].bytes
    assert sum(losses[0].kl) < sum(losses[1].kl) < sum(losses[2].kl)
    changes = [abs(loss.furthest.was - loss.furthest.became) for loss in losses]
    assert changes == sorted(changes)


def test_a_greedy_text_parts_where_the_likeliest_token_is_another() -> None:
    model, ids, form = shared_model(), run_of(), Form("int4", 1)
    parts = next(step for step, (was, is_) in enumerate(compared(model, ids, STEPS, form).likeliest) if was != is_)
    cache = SmallCache(model.config, 16, form)
    engine = Engine(model, capacity=256, cache=cache)
    written = [*prompt(12), *answer(engine, prompt(12), STEPS)][: len(ids)]
    assert next(at for at, (one, other) in enumerate(zip(ids, written, strict=True)) if one != other) == 12 + parts


def test_kl_is_that_of_the_chances() -> None:
    model, ids = shared_model(), run_of()
    loss = compared(model, ids, 2, Form("int4", 2))
    cache = SmallCache(model.config, 8, Form("int4", 2))
    engine = Engine(model, capacity=128, cache=cache)
    logits = (whole_logits(model, ids), logits_of_rows(engine, ids))
    before, after = (each[-1].double().softmax(-1) for each in logits)
    expected = sum(p * math.log(p / q) for p, q in zip(before.tolist(), after.tolist(), strict=True))
    assert loss.kl[-1] == pytest.approx(expected, rel=1e-3)
