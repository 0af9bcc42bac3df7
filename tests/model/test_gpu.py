"""On a GPU, the default model chooses and attends as on a CPU, with CUDA graphs and without. Skipped where none is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from kvscope.model.api import RunRequest, WeightDtype
from kvscope.model.cuda_graphs import GRAPHED
from kvscope.model.log.frames import header, tensors
from kvscope.model.service import ModelService, load_service

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]
PROMPTS = ("The sky is", "The animal didn't cross the street because it was too", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
TOKENS = 48
MOST_CODES = 2
"""Of 255: how far attention may be off, square roots of weights that are."""


@dataclass
class Answer:
    """`attention`: that of each decode step, U8 [layers, H, 1, K], in order."""

    tokens: list[int] = field(default_factory=list)
    attention: list[np.ndarray] = field(default_factory=list)


def service(device: str, dtype: WeightDtype = "float32", *, compiled: bool = False) -> ModelService:
    made = load_service(None, device, dtype, lambda progress: None, compiled)
    made.engine.eos = frozenset()
    return made


def answers(made: ModelService) -> list[Answer]:
    """To all prompts, computed together."""
    found = {str(number): Answer() for number in range(len(PROMPTS))}
    for number, prompt in enumerate(PROMPTS):
        made.start(RunRequest(str(number), prompt, max_new_tokens=TOKENS))
    while made.busy:
        for frame in made.advance():
            if frame.kind == "step":
                found[frame.run].tokens.append(header(frame.payload).data["token"]["id"])
            if frame.kind == "layer" and frame.step:
                found[frame.run].attention.append(tensors(frame.payload)["attention"])
            if frame.kind == "close":
                assert header(frame.payload).data["reason"] == "length"
    return list(found.values())


def furthest(one: Answer, other: Answer) -> int:
    pairs = zip(one.attention, other.attention, strict=True)
    return max(int(np.abs(mine.astype(int) - theirs).max()) for mine, theirs in pairs)


@pytest.fixture(scope="module")
def on_cpu() -> list[Answer]:
    return answers(service("cpu"))


@pytest.mark.parametrize("graphs", [False, True])
def test_float32_chooses_and_attends_as_on_a_cpu(on_cpu: list[Answer], graphs: bool) -> None:
    made = service("cuda", compiled=graphs)
    for expected, found in zip(on_cpu, answers(made), strict=True):
        assert found.tokens == expected.tokens
        off = furthest(found, expected)
        print(f"graphs {graphs}: attention differs by {off} of 255 at most")
        assert off <= MOST_CODES
    assert made.compiled == (GRAPHED if graphs else "")


def test_bfloat16_weights_choose_alike_with_graphs_and_without() -> None:
    plain, graphed = (answers(service("cuda", "bfloat16", compiled=graphs)) for graphs in (False, True))
    for expected, found in zip(plain, graphed, strict=True):
        assert found.tokens == expected.tokens
        print(f"bfloat16, graphs: attention differs by {furthest(found, expected)} of 255 at most")
        assert furthest(found, expected) <= MOST_CODES
