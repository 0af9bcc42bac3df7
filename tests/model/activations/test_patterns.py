"""Previous-token and induction scores, against weights that are read one by one."""

from __future__ import annotations

import pytest
import torch

from kvscope.model.activations.patterns import LENGTH, SEED, SEQUENCES, head_patterns
from tests.support.tiny import check_cache, tiny_engine

START = [1, 2]


@pytest.mark.parametrize("arch", ["llama", "gpt2", "mistral"])
def test_scores_are_means_of_weights(arch: str) -> None:
    engine = tiny_engine(arch)
    config = engine.transformer.config
    patterns = head_patterns(engine, START, list(range(100, 200)))
    generator = torch.Generator().manual_seed(SEED)
    previous = torch.zeros(config.layers, config.heads)
    induction = torch.zeros(config.layers, config.heads)
    for _ in range(SEQUENCES):
        tokens = (100 + torch.randperm(100, generator=generator)[:LENGTH]).tolist()
        ids = [*START, *tokens, *tokens]
        for layer in range(config.layers):
            seen: list[torch.Tensor] = []
            with engine.replay(ids, 0, {f"blocks.{layer}.attn.weights": seen.append}):
                weights = seen[0][0].flatten(0, 1)
            begin, again = len(START), len(START) + LENGTH
            for head in range(config.heads):
                before = [float(weights[head, at, at - 1]) for at in range(begin + 1, len(ids))]
                after = [float(weights[head, at, at - LENGTH + 1]) for at in range(again, len(ids))]
                previous[layer, head] += sum(before) / len(before) / SEQUENCES
                induction[layer, head] += sum(after) / len(after) / SEQUENCES
    assert patterns.previous == pytest.approx(previous.flatten().tolist(), abs=1e-5)
    assert patterns.induction == pytest.approx(induction.flatten().tolist(), abs=1e-5)
    check_cache(engine)


def test_a_head_that_reads_only_the_token_before_scores_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tiny_engine()
    rows = 2 * LENGTH + len(START)

    def only_before(weights: torch.Tensor) -> torch.Tensor:
        changed = weights.clone()
        changed[:, 0, 0] = torch.eye(rows).roll(-1, dims=1)
        return changed

    monkeypatch.setattr(engine.runner.points["blocks.1.attn.weights"], "writers", [only_before])
    patterns = head_patterns(engine, START, list(range(100, 200)))
    assert patterns.previous[4] == pytest.approx(1)
    assert patterns.induction[4] == pytest.approx(0, abs=1e-6)
