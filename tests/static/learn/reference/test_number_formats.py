"""The page rounds to each number format as torch does, and to groups as the engine's smaller caches do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from kvscope.model.config import ModelConfig
from kvscope.model.small_cache import Form, SmallCache
from tests.support.node import answer_of
from tests.support.tiny import tiny_config

SCRIPT = Path(__file__).parent / "stored-answers.js"
EDGES = [
    *(0.0, -0.0, 0.1, 1 / 3, -2.71828, 255.0, 257.0, 17.0, 19.0, 1.0625, 1.1875),
    *(448.0, 463.9, 464.0, 465.0, 1e9, 2**-9, 2**-10, 1.5 * 2**-10, 3 * 2**-11),
    *(65504.0, 65519.0, 65520.0, 6e-8, 2.9e-8, 3.38e38, 3.4e38, 1e-40, 1e-45, 7e-46),
]
DRAWN = 2000
FLOATS = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8 e4m3": torch.float8_e4m3fn,
}


def numbers() -> list[float]:
    drawn = random.Random(7)
    return [*EDGES, *(drawn.choice([-1, 1]) * 10 ** drawn.uniform(-12, 7) for _ in range(DRAWN))]


def test_floats_are_rounded_as_torch_rounds_them() -> None:
    values = numbers()
    answers = answer_of(SCRIPT, {"numbers": values, "largest": 1})
    for name, dtype in FLOATS.items():
        expected = torch.tensor(values, dtype=torch.float32).to(dtype).float().tolist()
        assert [float(text) for text in answers[name]] == expected, name


def test_tf32_keeps_ten_bits_of_the_fraction() -> None:
    answers = answer_of(SCRIPT, {"numbers": [1.0, 1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 3e38], "largest": 1})
    large = round(3e38 / 2**117) * 2.0**117
    assert [float(text) for text in answers["tf32"]] == [1.0, 1 + 2**-10, 1.0, 1 + 2**-9, large]


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_whole_numbers_are_those_of_the_engines_smaller_caches(dtype: str) -> None:
    config: ModelConfig = tiny_config(layers=1, kv_heads=1, heads=1, head_dim=16)
    drawn = random.Random(3)
    row = [drawn.uniform(-2, 2) for _ in range(15)]
    largest = 2.5
    vector = torch.tensor([[[*row, largest]]])  # T Hkv Dh
    cache = SmallCache(config, 1, Form(dtype, 1))  # type: ignore[arg-type]
    slots = torch.tensor([0])
    cache.write(0, slots, vector, vector)
    keys, _ = cache.read(0, slots)
    exact = [float(torch.tensor(each)) for each in row]
    answers = answer_of(SCRIPT, {"numbers": exact, "largest": largest})
    assert [float(text) for text in answers[dtype]] == pytest.approx(keys.flatten()[:-1].tolist(), rel=1e-6)
