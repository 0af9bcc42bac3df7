"""Computes how the next token changes if one part of the model is replaced, or one token is left out.

A head, attention, MLP or layer that is switched gets other rows in place of its own: zeros (zero ablation,
arXiv:1905.10650), the mean of its own rows over the prompt or over a reference set (mean ablation, arXiv:2211.00593),
or the rows of another prompt (resample ablation, or activation patching, arXiv:2309.16042). The other rows are computed
without any change. If a token is left out, the position of each later token is lower by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from typing import assert_never

import torch
from torch import Tensor

from kvscope.model.activations.change import place_of
from kvscope.model.activations.observe import observe
from kvscope.model.api import EffectOf
from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry
from kvscope.model.engine.changes import Changes, Edit
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer
from kvscope.model.kv_cache import BLOCK_SIZE, Sequence
from kvscope.model.settings import Site

ROWS = 256
"""Rows of a pass, about: more would not make a row faster."""


SITES: dict[EffectOf, Site] = {
    "heads": "head",
    "attention": "attention",
    "mlp": "mlp",
    "layers": "layer",
    "residual_at": "residual",
    "attention_at": "attention",
    "mlp_at": "mlp",
}

Rows = Callable[[int], Tensor]
"""Returns the rows that replace those of a site in a layer: one row, or one per position first; of heads, [… H Dh]."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a step: without one of its tokens, or with changes."""

    ids: list[int]
    changes: Changes | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """A next-token distribution: how it rates the step's token and the foil, and the likeliest token."""

    logprob: float
    logit: float
    foil_logprob: float
    foil_logit: float
    best: int
    best_prob: float
    kl: float
    """Σ p · ln(p ÷ q), in nats: p is the original step's distribution, q this one."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The predictions without a variant (`base`) and with each (`variants`). `foil`: the token compared with.

    `other`: the prediction of the other text, if one was named. `ms`: wall time of the pass.
    """

    base: Prediction
    variants: list[Prediction]
    foil: int
    other: Prediction | None
    ms: float


@dataclass(frozen=True, slots=True)
class Part:
    """One part: a layer, a head of it or None, and a position or None for all."""

    layer: int
    head: int | None = None
    position: int | None = None


def count_of(of: EffectOf, config: ModelConfig, ids: Items[int]) -> int:
    """Returns how many parts can be switched, or tokens left out."""
    match of:
        case "tokens":
            return len(ids)
        case "heads":
            return config.layers * config.heads
        case "attention" | "mlp" | "layers":
            return config.layers
        case "residual_at" | "attention_at" | "mlp_at":
            return config.layers * len(ids)
        case unknown:
            assert_never(unknown)


def parts_in_pass(of: EffectOf, config: ModelConfig, ids: Items[int], first: int) -> range:
    """Returns the parts from `first` on that one pass computes."""
    return range(first, min(count_of(of, config, ids), first + max(1, ROWS // len(ids))))


def part_at(of: EffectOf, config: ModelConfig, ids: Items[int], index: int) -> Part:
    """Returns part `index` of a kind: heads and positions are numbered layer by layer."""
    if of == "heads":
        return Part(*divmod(index, config.heads))
    if of in ("residual_at", "attention_at", "mlp_at"):
        layer, position = divmod(index, len(ids))
        return Part(layer, position=position)
    return Part(index)


def effects(
    engine: Engine,
    ids: list[int],
    token: int,
    of: EffectOf,
    first: int,
    *,
    rows: Rows | None = None,
    foil: int | None = None,
    other: list[int] | None = None,
) -> Effects:
    """Returns the effects of part `first`, and of as many later parts as fit into a pass, on the step over `ids` that
    chose `token`, under `engine.changes`. Heads and positions are numbered layer by layer, tokens by position.

    `rows`: what replaces a part's rows; None: zeros. `foil`: the token compared with; None: the likeliest one other
    than `token`. `other`: a text whose own prediction is computed too, without changes.

    Raises ValueError if the part does not exist, and for the only token of a step.
    """
    config = engine.transformer.config
    count = count_of(of, config, ids)
    if not 0 <= first < count or (of == "tokens" and len(ids) == 1):
        raise ValueError(f"there is no part {first} among {count}")
    indices = parts_in_pass(of, config, ids, first)
    variants = [_without(engine, ids, of, index, rows) for index in indices]
    # Below the first switched layer, all variants have the rows of the step as it was.
    layer = 0 if of == "tokens" else part_at(of, config, ids, first).layer
    entering: list[Tensor] = []
    observers = {f"blocks.{layer}.resid_in": lambda rows: entering.append(rows.clone())} if layer else {}
    whole, whole_ms = _last_rows(engine, [Variant(ids, engine.changes)], observers)
    logits, ms = _last_rows(engine, variants, entering=(layer, entering * len(variants)) if layer else None)
    beside, beside_ms = (None, 0.0) if other is None else _last_rows(engine, [Variant(other, None)])
    if foil is None:
        foil = likeliest_but(whole[0], token)
    base = whole[0].double().log_softmax(dim=-1)

    def predictions(of_each: Tensor) -> list[Prediction]:
        return [_prediction(base, each, token, foil) for each in of_each.double()]

    (own,) = predictions(whole)
    beside_own = None if beside is None else predictions(beside)[0]
    return Effects(own, predictions(logits), foil, beside_own, whole_ms + ms + beside_ms)


def likeliest_but(logits: Tensor, token: int) -> int:
    """Returns the id of the largest of the logits [V] but that of `token`."""
    first, second = logits.topk(2).indices.tolist()
    return int(second if first == token else first)


def site_rows(engine: Engine, of: EffectOf, ids: list[int], layers: Items[int]) -> dict[int, Tensor]:
    """Returns the rows of a kind's site in some layers, [T, D] each or [T, H, Dh] of heads, computed without changes.

    Raises CacheFull.
    """
    places = {layer: place_of(SITES[of], layer) for layer in layers}
    names = dict.fromkeys(name for place in places.values() for name in place if name is not None)
    values = observe(engine.under(None), ids, 0, names).values
    return {
        layer: values[point] if base is None else values[point] - values[base]
        for layer, (point, base) in places.items()
    }


def mean_rows(engine: Engine, of: EffectOf, texts: Items[Items[int]]) -> Tensor:
    """Returns the mean row of a kind's site over all rows of these texts, [layers, D] or [layers, H, Dh] of heads.

    Raises CacheFull.
    """
    layers = range(engine.transformer.config.layers)
    sums: list[Tensor] = []
    for text in texts:
        rows = site_rows(engine, of, list(text), layers)
        sums.append(torch.stack([rows[layer].sum(dim=0) for layer in layers]))
    return torch.stack(sums).sum(dim=0) / sum(map(len, texts))


def _without(engine: Engine, ids: list[int], of: EffectOf, index: int, rows: Rows | None) -> Variant:
    if of == "tokens":
        return Variant(ids[:index] + ids[index + 1 :], engine.changes)
    part = part_at(of, engine.transformer.config, ids, index)
    point, base = place_of(SITES[of], part.layer)
    first, last = (0, None) if part.position is None else (part.position, part.position + 1)
    add = None if rows is None else rows(part.layer)
    if add is not None and part.head is not None:
        add = add[..., part.head, :]
    switched = Edit(point, first, last, 0.0, add, head=part.head, base=base)
    before = engine.changes or Changes((), ())
    return Variant(ids, replace(before, key=(before.key, of, index), edits=(*before.edits, switched)))


def _last_rows(
    engine: Engine,
    variants: Items[Variant],
    observers: Mapping[str, Observer] | None = None,
    entering: tuple[int, list[Tensor]] | None = None,
) -> tuple[Tensor, float]:
    """Returns the logits of each variant's last row, [variants, V], from one pass over a new cache; and its ms.
    `observers`, `entering`: as of `Runner.run`.
    """
    runner = engine.runner.beside(sum(-(-len(variant.ids) // BLOCK_SIZE) for variant in variants))
    entries = []
    for variant in variants:
        sequence = Sequence()
        slots = runner.cache.extend(sequence, len(variant.ids))
        entries.append(Entry(variant.ids, 0, slots, runner.cache.slots(sequence), changes=variant.changes))
    done = runner.run(entries, observers, entering=entering)
    rows = torch.empty_like(done.logits)
    rows[done.order] = done.logits
    return rows, done.forward_ms


def _prediction(base: Tensor, logits: Tensor, token: int, foil: int) -> Prediction:
    """Compares two next-token distributions. `base`: [V], natural logarithms of probabilities; `logits`: [V]."""
    logprobs = logits.log_softmax(dim=-1)
    best = int(logits.argmax())
    kl = (base.exp() * (base - logprobs)).sum()
    return Prediction(
        *(float(logprobs[token]), float(logits[token]), float(logprobs[foil]), float(logits[foil])),
        *(best, float(logprobs[best].exp()), max(0.0, float(kl))),
    )
