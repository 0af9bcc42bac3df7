"""Computes how the next token changes if one part of the model is switched off, or one token is left out.

A head, attention, MLP or layer that is off outputs zeros for every row (ablation, arXiv:1905.10650). If a token is left
out, the position of each later token is lower by one.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from typing import assert_never

import torch
from torch import Tensor

from kvscope.model.activations.change import place_of
from kvscope.model.api import EffectOf
from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry
from kvscope.model.engine.changes import Changes, Edit
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.runner import Runner
from kvscope.model.kv_cache import BLOCK_SIZE, Sequence
from kvscope.model.settings import Site

ROWS = 256
"""Rows of a pass, about: more would not make a row faster."""


SITES: dict[EffectOf, Site] = {"heads": "head", "attention": "attention", "mlp": "mlp", "layers": "layer"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a step: without one of its tokens, or with changes."""

    ids: list[int]
    changes: Changes | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """A next-token distribution: the log-probability of the step's token, and the likeliest token."""

    logprob: float
    best: int
    best_prob: float
    kl: float
    """Σ p · ln(p ÷ q), in nats: p is the original step's distribution, q this one."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The predictions without a variant (`base`) and with each (`found`). `ms`: wall time of the pass."""

    base: Prediction
    found: list[Prediction]
    ms: float


def count_of(of: EffectOf, config: ModelConfig, ids: Items[int]) -> int:
    """Returns how many parts can be switched off, or tokens left out."""
    match of:
        case "tokens":
            return len(ids)
        case "heads":
            return config.layers * config.heads
        case "attention" | "mlp" | "layers":
            return config.layers
        case unknown:
            assert_never(unknown)


def effects(engine: Engine, ids: list[int], token: int, of: EffectOf, first: int) -> Effects:
    """Returns the effects of part `first`, and of as many later parts as fit into a pass, on the step over `ids` that
    chose `token`, under `engine.changes`. Heads are numbered layer by layer, tokens by position.

    Raises ValueError if the part does not exist, and for the only token of a step.
    """
    count = count_of(of, engine.transformer.config, ids)
    if not 0 <= first < count or (of == "tokens" and len(ids) == 1):
        raise ValueError(f"there is no part {first} among {count}")
    last = min(count, first + max(1, ROWS // len(ids)))
    variants = [_without(engine, ids, of, index) for index in range(first, last)]
    logits, ms = _last_rows(engine, [Variant(ids, engine.changes), *variants])
    base, *others = logits.double().log_softmax(dim=-1)
    return Effects(_prediction(base, base, token), [_prediction(base, other, token) for other in others], ms)


def _without(engine: Engine, ids: list[int], of: EffectOf, index: int) -> Variant:
    if of == "tokens":
        return Variant(ids[:index] + ids[index + 1 :], engine.changes)
    layer, head = divmod(index, engine.transformer.config.heads) if of == "heads" else (index, None)
    point, base = place_of(SITES[of], layer)
    off = Edit(point, 0, None, 0.0, head=head, base=base)
    before = engine.changes or Changes((), ())
    return Variant(ids, replace(before, key=(before.key, of, index), edits=(*before.edits, off)))


def _last_rows(engine: Engine, variants: Items[Variant]) -> tuple[Tensor, float]:
    """Returns the logits of each variant's last row, [variants, V], from one pass over a new cache; and its ms."""
    blocks = sum(-(-len(variant.ids) // BLOCK_SIZE) for variant in variants)
    cache = type(engine.cache)(engine.transformer.config, blocks, engine.runner.device)
    entries = []
    for variant in variants:
        sequence = Sequence()
        slots = cache.extend(sequence, len(variant.ids))
        entries.append(Entry(variant.ids, 0, slots, cache.slots(sequence), changes=variant.changes))
    done = Runner(engine.transformer, cache, engine.runner.device).run(entries, alike=True)
    rows = torch.empty_like(done.logits)
    rows[done.order] = done.logits
    return rows, done.forward_ms


def _prediction(base: Tensor, logprobs: Tensor, token: int) -> Prediction:
    """Compares two next-token distributions. `base` and `logprobs`: [V], natural logarithms."""
    best = int(logprobs.argmax())
    kl = (base.exp() * (base - logprobs)).sum()
    return Prediction(float(logprobs[token]), best, float(logprobs[best].exp()), max(0.0, float(kl)))
