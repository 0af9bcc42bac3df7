"""The browser's engine chooses the token that the server chooses from the same logits."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.sampling import choose
from kvscope.model.settings import Sampling
from tests.support.node import answer_of

SCRIPT = Path(__file__).parent / "choices.js"
CASES = 1200
SHARES = ("prob", "raw_prob", "entropy", "log_z", "mass_top_k", "mass_top_p")
WIDE = 49_152
"""The vocabulary of the default model."""


def drawn_settings(chance: random.Random, seed: int) -> Sampling:
    """Mostly sampling, with each filter on or off; some greedy."""
    return Sampling(
        strategy=chance.choice(["sample", "sample", "sample", "greedy"]),
        temperature=chance.choice([0.01, 0.2, 0.7, 1.0, 2.0, 5.0]),
        top_k=chance.choice([0, 1, 5, 40, 1000]),
        top_p=chance.choice([1e-9, 0.1, 0.3, 0.5, 0.75, 0.9, 0.999, 1.0]),
        seed=seed * chance.choice([0, 1, 1_000_003]),
    )


def drawn_logits(chance: random.Random, seed: int) -> torch.Tensor:
    """Logits of a small vocabulary: ordinary ones, rounded ones with many equals and zeros of both signs, all equal."""
    logits = torch.randn(chance.randint(1, 300), generator=torch.Generator().manual_seed(seed)) * 4
    return chance.choice([logits, logits.round(), logits * 0, logits * 10])


@pytest.fixture(scope="module")
def cases() -> list[tuple[torch.Tensor, Sampling, int]]:
    chance = random.Random(1)
    small = [
        (drawn_logits(chance, seed), drawn_settings(chance, seed), chance.randint(0, 255)) for seed in range(CASES)
    ]
    wide = torch.randn(WIDE, generator=torch.Generator().manual_seed(5)) * 3
    filters = ({}, {"top_k": 1000}, {"top_p": 0.95}, {"top_k": 50, "top_p": 0.8, "temperature": 1.7})
    return [*small, *((wide, Sampling(strategy="sample", seed=2, **each), step) for step, each in enumerate(filters))]


def test_the_browser_chooses_the_same_tokens(cases: list[tuple[torch.Tensor, Sampling, int]]) -> None:
    asked = [
        {
            "summary": asdict(Distribution(logits).summary),
            "logits": logits.tolist(),
            "sampling": sampling.model_dump(),
            "step": step,
        }
        for logits, sampling, step in cases
    ]
    chosen = answer_of(SCRIPT, asked)
    drawn = 0
    for (logits, sampling, step), theirs in zip(cases, chosen, strict=True):
        ours = asdict(choose(Distribution(logits), sampling, step))
        assert theirs.keys() == ours.keys()
        for name, value in ours.items():
            assert theirs[name] == (pytest.approx(value, rel=1e-12, abs=1e-15) if name in SHARES else value), name
        drawn += ours["token"] != int(logits.argmax())
    assert drawn > CASES / 6
