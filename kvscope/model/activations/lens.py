"""Computes what a row predicts for the next token: after each layer, and for given tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine

LENS_TOP = 5


@dataclass(frozen=True, slots=True)
class LensRow:
    """What a row predicts for the next token after one layer."""

    top: list[tuple[int, float]]
    """The likeliest tokens with their probabilities, likeliest first."""
    prob: float
    """Probability of the token asked about."""
    rank: int
    """How many tokens of the vocabulary are likelier than that one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one token is rated as the next. `rank`: how many tokens of the vocabulary have a larger logit."""

    logit: float
    prob: float
    """Softmax of the raw logits."""
    rank: int


def lens_rows(engine: Engine, ids: list[int], token: int) -> list[LensRow]:
    """Decodes the last row of `ids` after each layer: the likeliest next tokens, and probability and rank of `token`.

    The logit lens (nostalgebraist 2020). Raises CacheFull.
    """
    names = [left_by(layer) for layer in range(engine.transformer.config.layers)]
    observed = observe(engine, ids, len(ids) - 1, names)
    rows = torch.cat([observed.values[name] for name in names])  # layers D
    return lens_of(engine.transformer.decode_rows(rows), token)


def standings(engine: Engine, ids: list[int], tokens: list[int]) -> list[Standing]:
    """Returns how the last row of `ids` rates each of `tokens` as the next one. Raises CacheFull."""
    last = left_by(engine.transformer.config.layers - 1)
    row = observe(engine, ids, len(ids) - 1, [last]).values[last]  # 1 D
    return standings_of(engine.transformer.decode_rows(row)[0], tokens)


def left_by(layer: int) -> str:
    """Returns the hook point of the residual stream after `layer`."""
    return f"blocks.{layer}.resid_out"


def lens_of(logits: Tensor, token: int) -> list[LensRow]:
    """Returns the lens from one row's logits after each layer, [layers, V]."""
    probs = logits.softmax(dim=-1)
    # Ranked by logits: probabilities too small for float32 are all 0.
    ranks = (logits > logits[:, token, None]).sum(dim=-1)
    top = probs.topk(min(LENS_TOP, logits.shape[-1]))
    return [
        LensRow(list(zip(best, best_probs, strict=True)), prob, rank)
        for best, best_probs, prob, rank in zip(
            top.indices.tolist(), top.values.tolist(), probs[:, token].tolist(), ranks.tolist(), strict=True
        )
    ]


def lens_answer(rows: list[LensRow], token: int, named: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Returns the lens as docs/frames.md describes it. `named` describes a token."""
    layers = [
        {
            "layer": layer,
            "top": [{**named(best), "prob": prob} for best, prob in row.top],
            "chosen": {"prob": row.prob, "rank": row.rank},
        }
        for layer, row in enumerate(rows)
    ]
    return {"token": named(token), "layers": layers}


def standings_of(logits: Tensor, tokens: list[int]) -> list[Standing]:
    """Rates each of `tokens` by the logits [V]."""
    wide = logits.double()
    probs = wide.softmax(dim=-1)
    return [Standing(float(wide[token]), float(probs[token]), int((wide > wide[token]).sum())) for token in tokens]
