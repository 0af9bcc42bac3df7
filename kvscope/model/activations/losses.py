"""What training would do with a prompt, short of changing a weight: each position predicts, and learns what came."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from kvscope.model.activations.lens import left_by
from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine
from kvscope.model.pieces import pause

ROWS_AT_ONCE = 16
"""Of logits, in the numbers of twice the width that probabilities are made of: as much as may be computed at once."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one position says of the next token. `prob` to `loss`: of the one that came, None of the last position."""

    best: int
    best_prob: float
    prob: float | None
    rank: int | None
    """How many tokens of the vocabulary have a larger logit."""
    loss: float | None
    """−ln of its probability, in nats."""


@dataclass(frozen=True, slots=True)
class Losses:
    """All positions of a pass that kept the logits of each. Bytes are read off the tensors."""

    predictions: list[Prediction]
    mean: float | None
    """Of the losses; None of a single token, after which none came."""
    logits_bytes: int
    last_logits_bytes: int
    """Of the last row, all that choosing the next token needs."""
    kv_bytes: int

    @property
    def perplexity(self) -> float | None:
        """e to the mean loss: among as many equally likely tokens the model would be as unsure."""
        return None if self.mean is None else math.exp(self.mean)


def prompt_losses(engine: Engine, ids: list[int]) -> Losses:
    """One pass over all of `ids`, each position's logits held against the token that came next. Raises CacheFull."""
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
    """Row i of `logits` [n, V] is what position i says; ids[i + 1] is what came."""
    found: list[Prediction] = []
    logs = logits.double().log_softmax(dim=-1)
    best = logs.max(dim=-1)
    for row, token, log in zip(logs, best.indices.tolist(), best.values.tolist(), strict=True):
        came = ids[len(found) + 1 : len(found) + 2]
        told = (None, None, None) if not came else _came(row, came[0])
        found.append(Prediction(token, math.exp(log), *told))
    return found


def _came(logs: Tensor, token: int) -> tuple[float, int, float]:
    log = float(logs[token])
    return math.exp(log), int((logs > logs[token]).sum()), max(0.0, -log)
