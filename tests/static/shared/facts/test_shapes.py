"""The page's table of shapes is that of the engine's hook points and of the checkpoint's layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvscope.model.checkpoint.layout import slots
from kvscope.model.hooks import hook_points
from kvscope.model.service.info import describe
from tests.support.node import answer_of
from tests.support.tiny import ARCHS, shared_model, tiny_checkpoint, tiny_config

SCRIPT = Path(__file__).parent / "shapes-answer.js"
LAYER = re.compile(r"^blocks\.\d+\.")


@pytest.mark.parametrize("arch", [*ARCHS, "qwen3_moe"])
def test_the_axes_at_every_hook_point_are_the_engines(arch: str) -> None:
    transformer = shared_model(arch)
    axes = {LAYER.sub("", name): point.shape.split() for name, point in hook_points(transformer).items()}
    model = describe(tiny_checkpoint(arch), transformer, "cpu")
    answer = answer_of(SCRIPT, {"model": model, "points": list(axes), "matrices": []})
    assert answer["points"] == axes


@pytest.mark.parametrize("arch", ARCHS)
def test_every_matrix_has_the_shape_that_the_checkpoint_has(arch: str) -> None:
    """The checkpoint has numbers out before numbers in, except in its tables of rows."""
    matrices: dict[str, list[int]] = {}
    for slot in slots(tiny_config(arch)):
        for part, rows in slot.parts:
            name = LAYER.sub("", part).removesuffix(".weight")
            if name in ("embed", "positions"):
                matrices[name] = list(slot.shape)
            elif slot.matrix and name != "attn.qkv":  # GPT-2 has W_Q, W_K and W_V in one
                matrices[name] = [slot.shape[1], rows]
    model = describe(tiny_checkpoint(arch), shared_model(arch), "cpu")
    answer = answer_of(SCRIPT, {"model": model, "points": [], "matrices": list(matrices)})
    assert answer["matrices"] == matrices
