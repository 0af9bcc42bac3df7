"""The calculator's bytes and parameters are those of the tensors that `transformers` makes of the same config.

A tiny model of each family runs over so many tokens, and the tensors of its cache are added up. Two families leave more
or less there than what attention needs, which is what the calculator counts. A layer with a window of w tokens is left
with w − 1 of them: the last query read w, its own among them, and the next one will not see the oldest. And Falcon's
newer architecture stores K and V of a group once for each of its query heads. Of latent attention (MLA) the latent
vector itself is stored, as counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.static.memory.stored import cache_bytes
from tests.static.memory.tiny_configs import FAMILIES, WINDOW
from tests.support.node import answer_of

FOLDER = Path(__file__).parent
CONTEXTS = (1, 4, 5, 6, 11)
CHUNKS = "Layers with chunked attention are counted with a whole chunk, the most that they store."
STORED_TIMES = {"falcon-new": 2}
"""How often K and V are in the cache, where that is not once."""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
CASES = [(name, dtype) for name in FAMILIES for dtype in DTYPES]
Answers = dict[tuple[str, str], dict[str, Any]]


def config_of(name: str) -> Any:
    family, sizes = FAMILIES[name]
    return transformers.AutoConfig.for_model(family, **{"bos_token_id": 1, "eos_token_id": 2, **sizes})


def asked(configs: dict[str, dict[str, Any]]) -> Answers:
    """What the calculator says of each config with each dtype, in one Node process."""
    questions = [{"config": configs[name], "dtype": dtype, "contexts": CONTEXTS} for name, dtype in CASES]
    answers = answer_of(FOLDER / "sizes-answers.js", questions)
    return {case: answer | {"relevant": None} for case, answer in zip(CASES, answers, strict=True)}


@pytest.fixture(scope="module")
def answers() -> Answers:
    return asked({name: {"model_type": family, **sizes} for name, (family, sizes) in FAMILIES.items()})


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_cache_and_the_parameters_are_those_of_the_model(name: str, dtype: str, answers: Answers) -> None:
    model = transformers.AutoModelForCausalLM.from_config(config_of(name), dtype=DTYPES[dtype]).eval()
    answer = answers[name, dtype]
    assert answer["notes"] == ([CHUNKS] if name.startswith("llama4") else [])
    assert answer["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    window = answer["window"]
    assert (window is not None) == (WINDOW in FAMILIES[name][1].values())
    for context, counted in zip(CONTEXTS, answer["bytes"], strict=True):
        left = window["layers"] * answer["layer"] if window and context >= window["tokens"] else 0
        stored = cache_bytes(model, torch.arange(context)[None] % 50)
        assert (counted - left) * STORED_TIMES.get(name, 1) == stored, f"{context} tokens"


def test_a_config_that_transformers_writes_is_read_alike(answers: Answers) -> None:
    """With every field that it adds, and under its newer names."""
    assert asked({name: json.loads(config_of(name).to_json_string()) for name in FAMILIES}) == answers
