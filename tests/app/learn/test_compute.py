"""Expressions are computed from the run's own frames; what cannot be computed says why and does no harm."""

import time

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


MANY_SECONDS = 3.0
"""Of a processor's time, which does not pass while others compute; an expression has half a second of it."""


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
        ('by_hand("z", "x")', "there is no worked example z"),
        ('by_hand("a", "y")', "has no y"),
    ],
)
def test_what_cannot_be_computed_says_why(facts: Facts, expression: str, said: str) -> None:
    with pytest.raises(NotComputed, match=said.replace("(", r"\(")):
        Computer(facts).value(expression)


UNBOUNDED = [
    "3999999**3999999",
    "9**9**9",
    "2**2**2**2**2**2",
    "(2**127)**(2**127)",
    "2**-(10**18)",
    "'%1500000000d' % 1",
    "'%s' % tokens",
    "'ab' * 10**9",
    "tokens * 10**9",
    "10**9 * [0]",
    "1 << 10**9",
    "f'x'",
    "'x'.ljust(10**9)",
    "max([10**9], key='x'.ljust)",
    "max(['9' * 9], key='x'.join)",
    "max(tokens, key=tokens.append)",
    "max([1500000000], key=(1).to_bytes)",
    "[x for x in tokens for y in tokens for z in tokens for w in tokens]",
    "[[[[[1 for a in tokens] for b in tokens] for c in tokens] for d in tokens] for e in tokens]",
    "[steps for a in tokens for b in tokens for c in tokens]",
    "round(1, -10**30) % 10**40",
    "fixed(10**38, 10**9) + 1",
    "(" * 99 + "1" + ")" * 99 + "**9**9",
    "int('9' * 99)",
    "int(1e300) * int(1e300)",
    "sum([x * 10**38 for x in [1, 2, 3]]) * 10**2",
    "(-1) ** 0.5",
]
"""Expressions of at most 200 characters whose result, or way to it, has no bound that anybody could wait for."""


@pytest.mark.parametrize("expression", UNBOUNDED)
def test_what_has_no_bound_is_refused_soon(facts: Facts, expression: str) -> None:
    began = time.thread_time()
    with pytest.raises(NotComputed):
        Computer(facts).value(expression)
    assert time.thread_time() - began < MANY_SECONDS


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("10 ** 38", 10**38),
        ("2 ** 0.5", 2**0.5),
        ("-7 // 2", -4),
        ("7 % 4", 3),
        ("'a' + 'b'", "ab"),
        ("tokens[:1] + ['x']", ["The", "x"]),
        ("round(1234, -2)", 1200),
        ("round(12, -10**9)", 0),
        ("round(1.25, 10**9)", 1.25),
        ("[x for x in [1, 2, 3] if x > 1]", [2, 3]),
        ("max([1, -3], key=abs)", -3),
        ("'yes' if 'a' in 'cat' else 'no'", "yes"),
        ("True + True", 2),
    ],
)
def test_what_is_bounded_is_computed_as_python_does(facts: Facts, expression: str, value: object) -> None:
    assert Computer(facts).value(expression) == value


def test_prose_has_its_values_and_keeps_what_has_none(facts: Facts) -> None:
    nodes = Computer(facts).prose(
        inline("{kv.bytes_per_token} B, {steps[99].position}, [x](show:key={strongest(13,8,8)})")
    )
    assert nodes[0]["text"] == "46,080"
    assert "problem" in nodes[2]
    assert nodes[4]["place"] == {"key": 1}
