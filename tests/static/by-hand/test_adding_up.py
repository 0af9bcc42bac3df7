"""The page calculates each number from the same operands as the engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.model.by_hand.derivation import derive
from kvscope.model.by_hand.examples import NORM_EPS, A, B, C, Example
from tests.support.node import answer_of

FOLDER = Path(__file__).parent
DRAWN = 30


def other_numbers(example: Example, seed: int) -> Example:
    """The example with numbers of two decimals in place of all its own."""
    drawn = random.Random(seed)
    return example.with_parts(
        {
            name: tuple(tuple(round(drawn.uniform(-3, 3), 2) for _ in row) for row in matrix)
            for name, matrix in example.parts.items()
        }
    )


def answer(example: Example) -> dict[str, Any]:
    """The answer of the server."""
    inputs = {"words": example.words, "prompt": example.prompt, "given": example.given, "parts": example.parts}
    eps = None if example.mlp is None else NORM_EPS
    return {"example": {**inputs, "temperature": example.temperature, "norm_eps": eps}, **derive(example).as_json()}


def test_the_terms_of_every_cell_add_up_to_what_the_engine_gave() -> None:
    examples = [A, B, C, *(other_numbers(example, seed) for example in (A, B, C) for seed in range(DRAWN))]
    found = answer_of(FOLDER / "adding-up.js", [answer(example) for example in examples])
    assert [each["cells"] for each in found[:3]] == [100, 230, 333]
    assert max(each["most"] for each in found) < 1e-5
    assert [each["unnamed"] for each in found[:3]] == [[], [], []]


def edited(example: Example, part: str, row: int, column: int, value: float) -> Example:
    lines = [list(line) for line in example.parts[part]]
    lines[row][column] = value
    return example.with_parts({part: tuple(tuple(line) for line in lines)})


@pytest.mark.parametrize("example", [A, B, C], ids="ABC")
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_an_edit_changes_only_what_depends_on_it(example: Example, data: st.DataObject) -> None:
    example = other_numbers(example, data.draw(st.integers(0, 1000)))
    before, edits = answer(example), []
    for part, matrix in example.parts.items():
        row, column = data.draw(st.integers(0, len(matrix) - 1)), data.draw(st.integers(0, len(matrix[0]) - 1))
        value = data.draw(st.floats(-1000, 1000).map(lambda number: round(number, 3)))
        after = answer(edited(example, part, row, column, value))
        # Another token chosen is another step.
        if after["token"] == before["token"]:
            edits.append({"before": before, "after": after, "part": part, "row": row, "column": column})
    assert answer_of(FOLDER / "changes.js", edits) == [[]] * len(edits)
