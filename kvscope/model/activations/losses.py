"""Computes the loss of each position of a prompt, as training does, without a change of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from kvscope.model.activations.lens import left_by
from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine
from kvscope.model.pieces import pause

ROWS_AT_ONCE = 16
"""Rows of logits computed at once: probabilities are computed in float64, so they take twice the memory."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one position predicts. `prob` to `loss` are of the prompt's next token; None for the last position."""

    best: int
    best_prob: float
    prob: float | None
    rank: int | None
    """How many tokens of the vocabulary have a larger logit."""
    loss: float | None
    """−ln of its probability, in nats."""


@dataclass(frozen=True, slots=True)
class Losses:
    """The predictions of all positions. `logits_bytes` and `last_logits_bytes` are sizes of tensors."""

    predictions: list[Prediction]
    mean: float | None
    """Mean of the losses; None for a prompt of one token."""
    logits_bytes: int
    last_logits_bytes: int
    """Bytes of the last row's logits, which are enough to choose the next token."""
    kv_bytes: int

    @property
    def perplexity(self) -> float | None:
        """Returns e to the mean loss: the number of equally likely tokens that would give the same mean loss."""
        return None if self.mean is None else math.exp(self.mean)


def prompt_losses(engine: Engine, ids: list[int]) -> Losses:
    """Computes one pass over `ids` and compares each position's logits with the next token. Raises CacheFull."""
    last = left_by(engine.transformer.config.layers - 1)
    rows = observe(engine, ids, 0, [last]).values[last]  # n D
    predictions: list[Prediction] = []
    logits_bytes = last_logits_bytes = 0
    for some in rows.split(ROWS_AT_ONCE):  # type: ignore[no-untyped-call]
        pause()
        logits = engine.transformer.decode_rows(some)  # n V
        predictions += predictions_of(logits, ids[len(predictions) :])
        logits_bytes, last_logits_bytes = logits_bytes + logits.nbytes, logits[-1].nbytes
    losses = [each.loss for each in predictions if each.loss is not None]
    mean = sum(losses) / len(losses) if losses else None
    kv_bytes = len(ids) * engine.cache.position_bytes
    return Losses(predictions, mean, logits_bytes, last_logits_bytes, kv_bytes)


def predictions_of(logits: Tensor, ids: list[int]) -> list[Prediction]:
    """Compares each row i of `logits` [n, V] with the token that came next, ids[i + 1]."""
    predictions: list[Prediction] = []
    logs = logits.double().log_softmax(dim=-1)
    best = logs.max(dim=-1)
    for row, token, log in zip(logs, best.indices.tolist(), best.values.tolist(), strict=True):
        came = ids[len(predictions) + 1 : len(predictions) + 2]
        rated = (None, None, None) if not came else _came(row, came[0])
        predictions.append(Prediction(token, math.exp(log), *rated))
    return predictions


def _came(logs: Tensor, token: int) -> tuple[float, int, float]:
    log = float(logs[token])
    return math.exp(log), int((logs > logs[token]).sum()), max(0.0, -log)
