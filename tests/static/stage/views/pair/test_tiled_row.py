"""A row that the page reads in tiles has the weights and the output of the whole row, in float64 and in the engine."""

from __future__ import annotations

import math
from base64 import b64encode
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from kvscope.model.activations.answers import head_values
from tests.support.node import answer_of
from tests.support.tiny import prompt, tiny_engine

SCRIPT = Path(__file__).parent / "tiled-answers.js"
ROWS, SIZES = 21, [2, 4, 8, 16]


@pytest.mark.parametrize("arch", ["llama", "mistral", "qwen3", "gpt2"])
def test_every_row_in_tiles_of_every_size_is_the_whole_rows(arch: str) -> None:
    engine = tiny_engine(arch)
    window = engine.transformer.config.window or ROWS
    saved = head_values(engine, prompt(ROWS), 0, 1, 3)
    head = load(saved)
    q, k, v = (head[name].double() for name in "qkv")
    asked = {
        "head": b64encode(saved).decode(),
        "rows": [{"row": row, "query": row} for row in range(ROWS)],
        "sizes": SIZES,
    }
    answers = answer_of(SCRIPT, asked)
    assert len(answers) == ROWS * len(SIZES)
    for answer in answers:
        query = answer["query"]
        first = max(0, query - window + 1)
        assert answer["first"] == first
        weights = (k[first : query + 1] @ q[query] / math.sqrt(q.shape[-1])).softmax(dim=-1)
        found, output = torch.tensor(answer["weights"]), torch.tensor(answer["output"])
        assert (found[first:].double() - weights).abs().max() < 2e-6
        assert (output.double() - weights @ v[first : query + 1]).abs().max() < 1e-5
        assert (found - head["weights"][query, : query + 1]).abs().max() < 1e-6
        assert (output - head["output"][query]).abs().max() < 5e-6
