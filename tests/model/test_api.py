"""What the web side may know of models, by what the logs that they made say."""

from __future__ import annotations

from typing import Any

import pytest

from kvscope.model.api import called, completed, same_model, value_bytes
from kvscope.model.service.info import describe
from tests.support.described import SAID_LATER, described
from tests.support.tiny import ARCHS, shared_model, tiny_checkpoint

USUAL = described()
OLD = {name: value for name, value in USUAL.items() if name not in SAID_LATER}
"""As the first logs have it, of weights that could be kept in nothing but float32."""
ROUNDED = {**USUAL, "weight_dtype": "bfloat16"}


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
def test_the_same_model_has_the_same_weights_kept_alike(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert same_model(one, other) == same


def test_a_model_is_called_by_what_tells_it_from_others() -> None:
    assert [called(model) for model in (OLD, USUAL, ROUNDED)] == ["tiny", "tiny", "tiny in bfloat16"]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch != "gemma3_text"])  # younger than these fields
def test_an_old_log_means_what_its_model_is(arch: str, tied: bool) -> None:
    """All but the window, of which nothing in such a log tells."""
    model = describe(tiny_checkpoint(arch, tied=tied), shared_model(arch, tied=tied), "cpu")
    old = {name: value for name, value in model.items() if name not in SAID_LATER}
    assert completed(old) == {**model, "windows": None}
    assert value_bytes(old, 7, "block") == value_bytes(model, 7, "block")


def test_what_a_log_says_counts_whatever_its_architecture_is_called() -> None:
    said = {"norm": "layer", "gated": False, "activation": "gelu_tanh", "positions": "learned", "qk_norm": True}
    model = {**USUAL, **said, "windows": [4, 4], "tied": False, "weight_dtype": "bfloat16"}
    assert completed(model) == model
    assert value_bytes({**USUAL, "gated": False}, 1, "block") < value_bytes(USUAL, 1, "block")
