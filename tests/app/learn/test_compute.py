"""Expressions are computed from the run's own frames; what cannot be computed says why and does no harm."""

from __future__ import annotations

import numpy as np
import pytest

from kvscope.app.learn.compute import Computer, NotComputed
from kvscope.app.learn.facts import Facts
from kvscope.app.learn.nodes import inline
from tests.support.lessons import animal


def test_values_are_those_of_the_frames(facts: Facts) -> None:
    computer, run = Computer(facts), animal()
    for expression, value in {
        "token(8)": "it",
        "len(tokens)": len(run.tokens),
        "prompt.tokens": run.prompt_length,
        "steps[3].token.prob": run.steps[3]["token"]["prob"],
        "kv.bytes_per_token": 2 * 30 * 3 * 64 * 4,
        "kv.bytes_per_token == kv.formula": True,
        "steps[3].kv.bytes_used - steps[2].kv.bytes_used": 46080,
        "weight(13, 8, 8, 1)": float(run.attention(0, 13, 8)[8, 1]),
        "weight(13, 8, 13, 2)": float(run.attention(3, 13, 8)[0, 2]),
        "strongest(13, 8, 8)": int(np.argmax(run.attention(0, 13, 8)[8])),
        "candidate(0, 0)": "far",
    }.items():
        assert computer.value(expression) == pytest.approx(value, abs=1e-12) if isinstance(value, float) else value


def test_worked_examples_have_their_published_values(facts: Facts) -> None:
    value = Computer(facts).value
    assert value('by_hand("a", "prefill.weights", 0, 2, 2)') == pytest.approx(0.503, abs=5e-4)
    assert value('by_hand("a", "decode.mixed", 0, 0, 0)') == pytest.approx(1.322, abs=5e-4)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("steps[99].token.text", "cannot be computed"),
        ("token(99)", "this run has no position 99; it has 0 to 26"),
        ("weight(13, 8, 1, 2)", "no step of this run computed"),
        ("weight(13, 99, 1, 1)", "cannot be computed"),
        ("banana", "banana is unknown here; known are"),
        ("banana(1)", "banana is unknown here"),
        ("1 / 0", "cannot be computed"),
        ("2 +", "cannot be computed"),
        ("9 ** 9 ** 9", "cannot be computed"),
        ("'a' * 999999999", "cannot be computed"),
        ("().__class__", "cannot be computed"),
        ("tokens.append", "cannot be computed"),
        ("[x for x in tokens]" * 20, "at most 200 are read"),
        ('by_hand("c", "x")', "there is no worked example c"),
        ('by_hand("a", "y")', "has no y"),
    ],
)
def test_what_cannot_be_computed_says_why(facts: Facts, expression: str, said: str) -> None:
    with pytest.raises(NotComputed, match=said.replace("(", r"\(")):
        Computer(facts).value(expression)


def test_prose_has_its_values_and_keeps_what_has_none(facts: Facts) -> None:
    nodes = Computer(facts).prose(
        inline("{kv.bytes_per_token} B, {steps[99].position}, [x](show:key={strongest(13,8,8)})")
    )
    assert nodes[0]["text"] == "46,080"
    assert "problem" in nodes[2]
    assert nodes[4]["place"] == {"key": 1}
