"""The shapes that the page computes without a model are those that the lines of the source had when they ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvscope.model.service.info import describe
from kvscope.model.source.listing import listing
from kvscope.model.source.step import step_lines
from tests.support.node import answer_of
from tests.support.tiny import GREEDY, prompt, tiny_checkpoint, tiny_engine

ANSWER = Path(__file__).parent / "shapes-answer.js"
LAYER = 1


def key(tensor: dict[str, Any]) -> tuple[str, bool]:
    return tensor["of"], tensor["hook"]


@pytest.mark.parametrize("arch", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize(("first", "count"), [(0, 11), (11, 12)], ids=["prefill", "decode"])
def test_they_are_those_of_the_lines_that_ran(arch: str, first: int, count: int) -> None:
    engine = tiny_engine(arch)
    ran = step_lines(engine, prompt(count), first, LAYER, GREEDY).as_json()
    asked = {
        "source": listing(),
        "model": describe(tiny_checkpoint(arch), engine.transformer, "cpu"),
        "pass": {"rows": count - first, "keys": count},
    }
    shapes = answer_of(ANSWER, asked)
    assert shapes["rows"] == ran["rows"]
    found = [(path, line, each) for path, lines in shapes["lines"].items() for line in lines for each in lines[line]]
    for path, line, tensor in found:
        recorded = {key(each): each for each in ran["lines"][path][line]}
        assert tensor == {**recorded[key(tensor)], "shape": list(recorded[key(tensor)]["shape"])}
    hooks = {tensor["of"] for _, _, tensor in found if tensor["hook"]}
    assert hooks == {
        each["of"] for lines in ran["lines"].values() for facts in lines.values() for each in facts if each["hook"]
    }
    assert {tensor["of"] for _, _, tensor in found} >= {"qkv", "k", "v", "scores"}
