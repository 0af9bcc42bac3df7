"""Guessing what follows: by what the text had before, and by the model's first layers."""

from __future__ import annotations

import os
from collections import Counter

import pytest
import torch

from kvscope.model.engine.draft import look_up
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import TokenRecord
from kvscope.model.settings import Drafting, Sampling
from tests.support.tiny import advance_all, prompt, shared_model


@pytest.mark.parametrize(
    ("ids", "most", "found"),
    [
        ([1, 2, 3, 9, 1, 2, 3], 4, [9, 1, 2, 3]),
        ([1, 2, 3, 9, 1, 2, 3], 1, [9]),
        ([5, 3, 7, 6, 3, 8, 2, 3], 2, [8, 2]),  # the latest of two
        ([4, 3, 7, 6, 4, 3, 8, 5, 3], 2, [8, 5]),
        ([9, 4, 3, 7, 6, 3, 8, 2, 4, 3], 1, [7]),  # the longer match, though it is older
        ([1, 2, 3], 3, []),
        ([1], 3, []),
        ([2, 2], 3, [2]),
        ([1, 2, 1, 2], 0, []),
    ],
)
def test_the_text_is_looked_up_for_what_came_after_its_last_tokens(ids: list[int], most: int, found: list[int]) -> None:
    assert look_up(ids, most) == found


DRAWS = int(os.environ.get("KVSCOPE_DRAWS", "1000"))
AT_ONCE = 50


def chosen(engine: Engine, sampling: Sampling, draft: Drafting | None, count: int) -> list[int]:
    engine.admit("a", prompt(10, 3), sampling, count, recorded="tokens", draft=draft)
    return [record.token for record in advance_all(engine) if isinstance(record, TokenRecord)]


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_with_the_same_seed_the_same_is_drawn(layers: int) -> None:
    sampling = Sampling(strategy="sample", temperature=0.7, top_k=20, seed=layers)
    engine = Engine(shared_model(), capacity=256)
    assert chosen(engine, sampling, Drafting(tokens=5, layers=layers), 30) == chosen(engine, sampling, None, 30)


def test_a_draft_has_room_for_no_more_than_is_left() -> None:
    engine = Engine(shared_model(), capacity=64)
    assert len(chosen(engine, Sampling(), Drafting(tokens=16, layers=2), 22)) == 22
    engine.scheduler.forget("a")
    assert engine.cache.free_blocks == engine.cache.blocks


def sampled(draft: Drafting | None, first_seed: int) -> Counter[tuple[int, ...]]:
    """How often each pair of tokens is drawn after the same prompt, by as many seeds."""
    engine, texts = Engine(shared_model(), capacity=64 * AT_ONCE), dict[str, list[int]]()
    for start in range(first_seed, first_seed + DRAWS, AT_ONCE):
        for seed in range(start, start + AT_ONCE):
            sampling = Sampling(strategy="sample", temperature=2.5, top_k=4, seed=seed)
            engine.admit(str(seed), prompt(10, 3), sampling, 4, recorded="tokens", draft=draft)
        for record in advance_all(engine):
            if isinstance(record, TokenRecord):
                texts.setdefault(record.run, []).append(record.token)
    return Counter(tuple(text[1:3]) for text in texts.values())


def test_what_is_sampled_with_guesses_has_the_distribution_of_what_is_sampled_without() -> None:
    """A chi-square test of the two samples, whose seeds differ (Pearson 1900), and one that it can fail."""
    drafted, plain = sampled(Drafting(tokens=3, layers=1), 0), sampled(None, 10**6)
    chance = same_distribution(drafted, plain)
    print(f"{DRAWS:,} draws each, {len(drafted | plain)} pairs: p = {chance:.3f}")
    assert chance > 1e-3
    most = max(drafted, key=lambda pair: drafted[pair])
    assert same_distribution(drafted + Counter({most: DRAWS // 8}), plain) < 1e-3


def same_distribution(one: Counter[tuple[int, ...]], other: Counter[tuple[int, ...]]) -> float:
    """How likely samples of one distribution differ at least as much. Cells of fewer than ten draws are joined."""
    rare = [pair for pair in one | other if one[pair] + other[pair] < 10]
    cells = [(one[pair], other[pair]) for pair in one | other if pair not in rare]
    cells += [(sum(one[pair] for pair in rare), sum(other[pair] for pair in rare))] if rare else []
    table = torch.tensor(cells, dtype=torch.float64)
    expected = table.sum(1, keepdim=True) * table.sum(0, keepdim=True) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    freedom = torch.tensor(len(cells) - 1, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom / 2, statistic / 2))
