"""Exact float32 values from inside the model, recomputed for tokens a run has already seen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from safetensors.torch import save
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer

LENS_TOP = 5


@dataclass(frozen=True, slots=True)
class LensRow:
    """What a row says of the next token where one layer leaves it."""

    top: list[tuple[int, float]]
    """The best (token, probability) pairs, best first."""
    prob: float
    """Probability of the token asked about."""
    rank: int
    """How many tokens of the vocabulary are likelier than that one."""


def head_values(engine: Engine, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
    """q [Q, Dh], k and v [K, Dh], scores and weights [Q, K], output [Q, Dh] of one query head.

    The queries are rows `first_query`… of `ids`; k and v are those of the K/V head it reads, as they lie in the cache.
    Raises CacheFull.
    """
    return _save(_head_tensors(engine, ids, first_query, layer, head))


def _head_tensors(engine: Engine, ids: list[int], first_query: int, layer: int, head: int) -> dict[str, Tensor]:
    config, prefix = engine.transformer.config, f"blocks.{layer}.attn."
    kv_head, place = divmod(head, config.group)
    seen: dict[str, Tensor] = {}
    names = [prefix + name for name in ("q_rot", "scores", "weights", "mixed")]
    with engine.replay(ids, first_query, _keep(seen, names)) as sequence:
        k, v = engine.cache.read(layer, engine.cache.slots(sequence))  # Hkv K Dh
    return {
        "q": seen[prefix + "q_rot"][:, head],
        "k": k[kv_head],
        "v": v[kv_head],
        "scores": seen[prefix + "scores"][0, kv_head, place],
        "weights": seen[prefix + "weights"][0, kv_head, place],
        "output": seen[prefix + "mixed"][:, head],
    }


def algebra_values(engine: Engine, ids: list[int], layer: int, head: int) -> bytes:
    """The last row of `ids` in one query head, computed twice.

    With the cache, where only that row is new: what `head_values` gives. From all the tokens in one pass, with nothing
    of the cache: `q_again`, `k_again`, `v_again`, `output_again`, each [K, Dh], the row of every token. Raises
    CacheFull.
    """
    prefix, kv_head = f"blocks.{layer}.attn.", head // engine.transformer.config.group
    seen: dict[str, Tensor] = {}
    names = [prefix + name for name in ("q_rot", "k_rot", "v", "mixed")]
    with engine.replay(ids, 0, _keep(seen, names)):
        pass
    again = {
        "q_again": seen[prefix + "q_rot"][:, head],
        "k_again": seen[prefix + "k_rot"][:, kv_head],
        "v_again": seen[prefix + "v"][:, kv_head],
        "output_again": seen[prefix + "mixed"][:, head],
    }
    return _save(_head_tensors(engine, ids, len(ids) - 1, layer, head) | again)


def block_values(engine: Engine, ids: list[int], layer: int) -> bytes:
    """Every hook point of one block for the last token of `ids`.

    They are named as in the model: `attn.normed`, `mlp.hidden`, `resid_out` … `attn.scores` and `attn.weights` are
    [H, K], the rest [width] or [heads, Dh]. `cache.k` and `cache.v`, [Hkv, K, Dh], are what the cache then holds of
    the block, the token's own rows last. Raises CacheFull.
    """
    prefix = f"blocks.{layer}."
    names = [name for name in engine.runner.points if name.startswith(prefix)]
    seen: dict[str, Tensor] = {}
    with engine.replay(ids, len(ids) - 1, _keep(seen, names)) as sequence:
        k, v = engine.cache.read(layer, engine.cache.slots(sequence))  # Hkv K Dh
    found = {name.removeprefix(prefix): tensor[0] for name, tensor in seen.items()}
    for name in ("attn.scores", "attn.weights"):
        found[name] = found[name].flatten(0, 1)[:, 0]  # Hkv G 1 K -> H K
    return _save({**found, "cache.k": k, "cache.v": v})


def lens_rows(engine: Engine, ids: list[int], token: int) -> list[LensRow]:
    """Per layer the best next tokens and where `token` stands among all, were the last row of `ids` decoded there.

    The logit lens (nostalgebraist 2020). Raises CacheFull.
    """
    names = [f"blocks.{layer}.resid_out" for layer in range(engine.transformer.config.layers)]
    seen: dict[str, Tensor] = {}
    with engine.replay(ids, len(ids) - 1, _keep(seen, names)):
        rows = torch.cat([seen[name] for name in names])  # layers D
    return lens_of(engine, rows, token)


def lens_of(engine: Engine, rows: Tensor, token: int) -> list[LensRow]:
    """The lens over one row as each layer leaves it: `rows` is [layers, D]."""
    logits = engine.transformer.decode_rows(rows)  # layers V
    probs = logits.softmax(dim=-1)
    # Ranked by logits: probabilities too small for float32 are all 0.
    ranks = (logits > logits[:, token, None]).sum(dim=-1)
    top = probs.topk(min(LENS_TOP, engine.transformer.config.vocab))
    return [
        LensRow(list(zip(best, best_probs, strict=True)), prob, rank)
        for best, best_probs, prob, rank in zip(
            top.indices.tolist(), top.values.tolist(), probs[:, token].tolist(), ranks.tolist(), strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a token stands among all that may come next. `rank`: how many of the vocabulary have a larger logit."""

    logit: float
    prob: float
    """Under softmax of the raw logits."""
    rank: int


def standings(engine: Engine, ids: list[int], tokens: list[int]) -> list[Standing]:
    """How the last row of `ids` rates each of `tokens` as the next one. Raises CacheFull."""
    name = f"blocks.{engine.transformer.config.layers - 1}.resid_out"
    seen: dict[str, Tensor] = {}
    with engine.replay(ids, len(ids) - 1, _keep(seen, [name])):
        logits = engine.transformer.decode_rows(seen[name])[0].double()  # V
    probs = logits.softmax(dim=-1)
    ranks = [int((logits > logits[token]).sum()) for token in tokens]
    return [
        Standing(float(logits[token]), float(probs[token]), rank) for token, rank in zip(tokens, ranks, strict=True)
    ]


def _keep(seen: dict[str, Tensor], names: list[str]) -> dict[str, Observer]:
    def keeper(name: str) -> Observer:
        def keep(value: Tensor) -> None:
            seen[name] = value

        return keep

    return {name: keeper(name) for name in names}


def _save(tensors: dict[str, Tensor]) -> bytes:
    # Cloned, because hook points may hold one tensor (q and q_rot where nothing rotates), which safetensors refuses.
    return save({name: tensor.float().cpu().contiguous().clone() for name, tensor in tensors.items()})
