"""What the web side may know of a model from the `open` frames of its logs."""

from __future__ import annotations

from typing import Any

import pytest

from kvscope.model.api import called, same_model, value_bytes
from tests.support.described import described

USUAL = described()
ROUNDED = {**USUAL, "weight_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (USUAL, dict(USUAL), True),
        (ROUNDED, dict(ROUNDED), True),
        (USUAL, {**USUAL, "name": "renamed"}, True),
        (ROUNDED, USUAL, False),
        (USUAL, {**USUAL, "sha256": "b"}, False),
    ],
)
def test_the_same_model_has_the_same_weights_in_the_same_type(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    assert same_model(one, other) == same


def test_the_name_of_a_model_includes_an_unusual_type_of_weights() -> None:
    assert [called(model) for model in (USUAL, ROUNDED)] == ["tiny", "tiny in bfloat16"]


def test_a_model_without_a_gate_has_fewer_exact_values() -> None:
    assert value_bytes({**USUAL, "gated": False}, 1, "block") < value_bytes(USUAL, 1, "block")
