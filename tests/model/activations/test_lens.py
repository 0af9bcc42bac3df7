from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from kvscope.model.activations.lens import LENS_TOP, lens_rows, standings
from kvscope.model.engine.engine import Engine
from tests.support.tiny import ARCHS, greedy, prompt, shared_model, whole_logits

IDS = prompt(24)


def engine(arch: str = "llama") -> Engine:
    return Engine(shared_model(arch), capacity=128)


@pytest.mark.parametrize("arch", ARCHS)
def test_the_lens_ends_with_what_the_model_says(arch: str) -> None:
    made = engine(arch)
    layers = [row.top for row in lens_rows(made, IDS, 0)]
    assert [len(row) for row in layers] == [LENS_TOP] * 2
    probs = whole_logits(made.transformer, IDS)[-1].softmax(-1)
    for token, prob in layers[-1]:
        assert prob == pytest.approx(float(probs[token]), abs=1e-5)
    assert layers[-1][0][0] == greedy(made.transformer, IDS, 1)[0]
    assert all(earlier[1] >= later[1] for row in layers for earlier, later in pairwise(row))
    assert layers[0] != layers[1]


@pytest.mark.parametrize("arch", ARCHS)
def test_the_lens_says_where_a_token_stands_in_the_whole_vocabulary(arch: str) -> None:
    made = engine(arch)
    probs = whole_logits(made.transformer, IDS)[-1].softmax(-1)
    best_first = probs.argsort(descending=True).tolist()
    for rank in (0, 1, LENS_TOP, len(best_first) - 1):
        last = lens_rows(made, IDS, best_first[rank])[-1]
        assert last.rank == rank
        assert last.prob == pytest.approx(float(probs[best_first[rank]]), abs=1e-6)
    asked = [best_first[3], best_first[0], best_first[-1]]
    found = standings(made, IDS, asked)
    assert [each.rank for each in found] == [3, 0, len(best_first) - 1]
    assert [each.prob for each in found] == pytest.approx([float(probs[token]) for token in asked], rel=1e-4)
    for row in lens_rows(made, IDS, best_first[0]):
        better = [token for token, prob in row.top if prob > row.prob]
        assert len(better) == min(row.rank, LENS_TOP)


def test_a_token_too_unlikely_for_float32_still_has_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Engine(shared_model(vocab=4), capacity=32)
    monkeypatch.setattr(made.transformer, "decode_rows", lambda rows: torch.tensor([[0.0, -300.0, -200.0, -400.0]] * 2))
    found = [(row.prob, row.rank) for row in lens_rows(made, [0, 2], 1)]
    assert found == [(0.0, 2)] * 2
