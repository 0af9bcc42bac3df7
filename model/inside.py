"""Exact float32 values from inside the model, recomputed for tokens a run has already seen."""

from __future__ import annotations

import torch
from safetensors.torch import save
from torch import Tensor

from model.engine import Engine
from model.hooks import Observer

LENS_TOP = 5


def head_values(engine: Engine, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
    """q [Q, Dh], k and v [K, Dh], scores and weights [Q, K], output [Q, Dh] of one query head.

    The queries are rows `first_query`… of `ids`; k and v are those of the K/V head it reads, as they lie in the cache.
    Raises CacheFull.
    """
    config, prefix = engine.model.config, f"blocks.{layer}.attn."
    kv_head, place = divmod(head, config.group)
    seen: dict[str, Tensor] = {}
    names = [prefix + name for name in ("q_rot", "scores", "weights", "mixed")]
    with engine.replay(ids, first_query, _keep(seen, names)) as sequence:
        k, v = engine.cache.read(layer, engine.cache.slots(sequence))  # Hkv K Dh
    return _save(
        {
            "q": seen[prefix + "q_rot"][:, head],
            "k": k[kv_head],
            "v": v[kv_head],
            "scores": seen[prefix + "scores"][0, kv_head, place],
            "weights": seen[prefix + "weights"][0, kv_head, place],
            "output": seen[prefix + "mixed"][:, head],
        }
    )


def block_values(engine: Engine, ids: list[int], layer: int) -> bytes:
    """Every hook point of one block for the last token of `ids`.

    They are named as in the model: `attn.normed`, `mlp.hidden`, `resid_out` … `attn.scores` and `attn.weights` are
    [H, K], the rest [width] or [heads, Dh]. Raises CacheFull.
    """
    prefix = f"blocks.{layer}."
    names = [name for name in engine.points if name.startswith(prefix)]
    seen: dict[str, Tensor] = {}
    with engine.replay(ids, len(ids) - 1, _keep(seen, names)):
        pass
    found = {name.removeprefix(prefix): tensor[0] for name, tensor in seen.items()}
    for name in ("attn.scores", "attn.weights"):
        found[name] = found[name].flatten(0, 1)[:, 0]  # Hkv G 1 K -> H K
    return _save(found)


def lens_rows(engine: Engine, ids: list[int]) -> list[list[tuple[int, float]]]:
    """Per layer the best (token, probability) pairs, were the last row decoded there.

    The logit lens (nostalgebraist 2020). Raises CacheFull.
    """
    names = [f"blocks.{layer}.resid_out" for layer in range(engine.model.config.layers)]
    seen: dict[str, Tensor] = {}
    with engine.replay(ids, len(ids) - 1, _keep(seen, names)):
        rows = torch.cat([seen[name] for name in names])  # layers D
    probs, tokens = engine.model.decode_rows(rows).softmax(dim=-1).topk(min(LENS_TOP, engine.model.config.vocab))
    return [list(zip(ids, row, strict=True)) for ids, row in zip(tokens.tolist(), probs.tolist(), strict=True)]


def _keep(seen: dict[str, Tensor], names: list[str]) -> dict[str, Observer]:
    def keeper(name: str) -> Observer:
        def keep(value: Tensor) -> None:
            seen[name] = value

        return keep

    return {name: keeper(name) for name in names}


def _save(tensors: dict[str, Tensor]) -> bytes:
    # Cloned, because hook points may hold one tensor (q and q_rot where nothing rotates), which safetensors refuses.
    return save({name: tensor.float().cpu().contiguous().clone() for name, tensor in tensors.items()})
