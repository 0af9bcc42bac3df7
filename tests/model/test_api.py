"""What the web side may know of two models."""

from __future__ import annotations

import pytest

from kvscope.model.api import called, same_model

OLD = {"name": "tiny", "sha256": "a"}
"""As logs have it that were written before weights could be kept in anything but float32."""
USUAL, ROUNDED = {**OLD, "weight_dtype": "float32"}, {**OLD, "weight_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (OLD, USUAL, True),
        (ROUNDED, dict(ROUNDED), True),
        (OLD, ROUNDED, False),
        (ROUNDED, USUAL, False),
        (USUAL, {**USUAL, "sha256": "b"}, False),
    ],
)
def test_the_same_model_has_the_same_weights_kept_alike(one: dict[str, str], other: dict[str, str], same: bool) -> None:
    assert same_model(one, other) == same


def test_a_model_is_called_by_what_tells_it_from_others() -> None:
    assert [called(model) for model in (OLD, USUAL, ROUNDED)] == ["tiny", "tiny", "tiny in bfloat16"]
