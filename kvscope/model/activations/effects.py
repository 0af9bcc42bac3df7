"""How the next token changes: a step computed again with one part of the model off, or with one token left out.

A head, half or layer that is off gives zeros to every row, from the first on (ablation, arXiv:1905.10650); a token that
is left out is not in the text, so that those behind it move up.
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
"""Of a pass: about as many take no longer per row than more would."""


SITES: dict[EffectOf, Site] = {"heads": "head", "attention": "attention", "mlp": "mlp", "layers": "layer"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A step computed otherwise: without some of its tokens, or with changes."""

    ids: list[int]
    changes: Changes | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Next-token distribution: the log-probability of the token that the step chose, and the likeliest token."""

    logprob: float
    best: int
    best_prob: float
    kl: float
    """Σ p · ln(p ÷ q), in nats, where p is the distribution of the step as it was and q this one."""


@dataclass(frozen=True, slots=True)
class Effects:
    """`ms`: wall time of the pass."""

    base: Prediction
    found: list[Prediction]
    ms: float


def count_of(of: EffectOf, config: ModelConfig, ids: Items[int]) -> int:
    """How many parts there are to switch off, or tokens to leave out."""
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
    """The effects of part number `first` and of those after it that fit into a pass, on the step over `ids` that chose
    `token`. Heads count layer by layer, tokens by position; the only token of a step cannot be left out.

    Computed under `engine.changes`. Raises ValueError for a part that there is not.
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
    """Logits [variants, V] of the last row of each, all in one pass over a cache of their own, and the milliseconds
    that it took.
    """
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
    """`base` and `logprobs`: [V], natural logarithms."""
    best = int(logprobs.argmax())
    kl = (base.exp() * (base - logprobs)).sum()
    return Prediction(float(logprobs[token]), best, float(logprobs[best].exp()), max(0.0, float(kl)))
