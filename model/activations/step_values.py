"""What a step computed, layer by layer, as a saved session can keep it: enough to make any exact answer of it again.

Level "qkv" holds what cannot be made without the model: the rows of Q, K and V. Scores, weights and a head's output are
arithmetic on them. Level "block" adds what the weights made of each row; sums and the MLP's product follow from those.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from kvscope.model.activations.answers import LensRow, lens_of
from kvscope.model.api import ValueLevel
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer

LARGEST_F16 = torch.finfo(torch.float16).max
QKV = {"q": "attn.q_rot", "k": "attn.k_rot", "v": "attn.v"}
"""Hook point by tensor name."""
INSIDE = ("resid_in", "attn.normed", "attn.change", "mlp.normed", "mlp.gate", "mlp.raised", "mlp.change")
"""Hook points that level "block" adds, "mlp.gate" where the model has it."""

Arrays = dict[str, np.ndarray]


def step_values(
    engine: Engine, ids: list[int], first_query: int, level: ValueLevel, token: int
) -> tuple[list[Arrays], list[LensRow]]:
    """Per layer the values of rows `first_query`… of `ids`, T of them, and the lens of the last row about `token`.

    Always `q` F32 [H, T, Dh], `k` and `v` F32 [Hkv, T, Dh], q and k after RoPE. At level "block" also the tensors of
    `INSIDE`, [T, width], F16 where every value fits into it and F32 otherwise, and `rope` F32 [Dh/2], the angle per
    position of each pair, where the model turns Q and K.

    The rows stay in the cache until others need the room, so that the next step does not compute them again. Raises
    CacheFull.
    """
    layers = engine.transformer.config.layers
    found: list[Arrays] = [{} for _ in range(layers)]
    last: dict[int, Tensor] = {}
    observers: dict[str, Observer] = {}
    for layer in range(layers):
        prefix = f"blocks.{layer}."
        for name, point in QKV.items():
            observers[prefix + point] = _keeper(found[layer], name, _by_head)
        observers[f"{prefix}resid_out"] = _last_row(last, layer)
        if level == "block":
            for name in INSIDE:
                if prefix + name in engine.runner.points:
                    observers[prefix + name] = _keeper(found[layer], name, _halved)
    with engine.replay(ids, first_query, observers, keep=True):
        pass
    inv_freq = engine.transformer.inv_freq
    if level == "block" and inv_freq is not None:
        for arrays in found:
            arrays["rope"] = inv_freq.float().cpu().numpy()
    return found, lens_of(engine, torch.cat([last[layer] for layer in range(layers)]), token)


def _keeper(found: Arrays, name: str, form: Callable[[Tensor], Tensor]) -> Observer:
    def keep(value: Tensor) -> None:
        # Copied at once: a view would keep all that the pass computed.
        found[name] = form(value).cpu().contiguous().clone().numpy()

    return keep


def _last_row(found: dict[int, Tensor], layer: int) -> Observer:
    def keep(value: Tensor) -> None:
        found[layer] = value[-1:].clone()

    return keep


def _by_head(value: Tensor) -> Tensor:
    """T H Dh -> H T Dh"""
    return value.float().transpose(0, 1)


def _halved(value: Tensor) -> Tensor:
    return value.half() if bool(value.abs().max() <= LARGEST_F16) else value.float()
