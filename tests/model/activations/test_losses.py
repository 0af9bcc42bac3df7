"""A pass that keeps the logits of all positions: predictions, losses, and what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kvscope.model.activations.losses import prompt_losses
from kvscope.model.engine.engine import Engine
from kvscope.model.transformer import Transformer
from tests.support.tiny import ARCHS, check_cache, prompt, shared_model, tiny_engine, whole_logits


def expected(logits: np.ndarray, ids: list[int]) -> tuple[np.ndarray, list[float], list[int]]:
    """Log-probabilities of all, and losses and ranks of the tokens that came, in float64."""
    wide = logits.astype(np.float64)
    top = wide.max(axis=1, keepdims=True)
    logs = wide - top - np.log(np.exp(wide - top).sum(axis=1, keepdims=True))
    came = list(enumerate(ids[1:]))
    return (
        logs,
        [-logs[row, token] for row, token in came],
        [int((logs[row] > logs[row, token]).sum()) for row, token in came],
    )


def holds(transformer: Transformer, ids: list[int]) -> None:
    engine = Engine(transformer, capacity=256)
    found = prompt_losses(engine, ids)
    logs, losses, ranks = expected(whole_logits(transformer, ids).numpy(), ids)
    told = [each.loss for each in found.predictions]
    assert told.pop() is None
    np.testing.assert_allclose(np.array(told, float), losses, atol=2e-4)
    assert [each.best for each in found.predictions] == logs.argmax(axis=1).tolist()
    np.testing.assert_allclose([each.best_prob for each in found.predictions], np.exp(logs.max(axis=1)), rtol=1e-3)
    assert [each.rank for each in found.predictions][:-1] == ranks
    np.testing.assert_allclose(
        [each.prob or 0 for each in found.predictions][:-1], np.exp(-np.array(losses)), rtol=1e-3
    )
    assert found.mean == pytest.approx(np.mean(losses), abs=1e-4)
    assert found.perplexity == pytest.approx(math.exp(np.mean(losses)), rel=1e-3)
    config = transformer.config
    assert found.logits_bytes == len(ids) * found.last_logits_bytes == len(ids) * config.vocab * 4
    assert found.kv_bytes == len(ids) * config.layers * 2 * config.kv_heads * config.head_dim * 4
    check_cache(engine)


@pytest.mark.parametrize("arch", ARCHS)
def test_losses_are_those_of_all_logits_in_float64(arch: str) -> None:
    holds(shared_model(arch), prompt(70))


def test_after_a_single_token_none_came() -> None:
    found = prompt_losses(tiny_engine(), [7])
    assert (found.mean, found.perplexity, found.predictions[0].loss) == (None, None, None)
    assert found.logits_bytes == found.last_logits_bytes
