"""Computes the values of a step, by layer, that a saved session stores to answer every question about exact values.

Level "qkv" has the values that need the model: the rows of Q, K and V. Scores, weights and a head's output follow from
them. Level "block" adds the outputs of the layer's weights; sums and the MLP's product follow from these.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kvscope.model.activations.lens import LensRow, left_by, lens_of
from kvscope.model.activations.observe import observe
from kvscope.model.api import ValueLevel
from kvscope.model.engine.engine import Engine

LARGEST_F16 = torch.finfo(torch.float16).max
QKV = {"q": "attn.q_rot", "k": "attn.k_rot", "v": "attn.v"}
"""Hook point by tensor name."""
OF_BLOCK = ("resid_in", "attn.normed", "attn.change", "mlp.normed", "mlp.gate", "mlp.raised", "mlp.change")
"""Hook points that level "block" adds, "mlp.gate" if the model has it."""

Arrays = dict[str, np.ndarray]


def step_values(
    engine: Engine, ids: list[int], first_query: int, level: ValueLevel, token: int
) -> tuple[list[Arrays], list[LensRow]]:
    """Returns by layer the values of the T rows `first_query`… of `ids`, and the last row's lens for `token`.

    Always `q` F32 [H, T, Dh], `k` and `v` F32 [Hkv, T, Dh], q and k after RoPE. At level "block" also the tensors of
    `OF_BLOCK`, [T, width], F16 if every value fits into it, else F32; and, if the model has RoPE, `rope` F32
    [Dh/2], the angle per position of each pair.

    The rows stay in the cache until others need the room, so that the next step does not compute them again. Raises
    CacheFull.
    """
    transformer, points = engine.transformer, engine.runner.points
    layers = range(transformer.config.layers)
    all_points = [*QKV.values(), *(OF_BLOCK if level == "block" else ())]
    names = [name for layer in layers for point in all_points if (name := f"blocks.{layer}.{point}") in points]
    ends = [left_by(layer) for layer in layers]
    observed = observe(engine, ids, first_query, names + ends, form=_stored, keep=True)
    rows = torch.cat([observed.values.pop(name) for name in ends])  # layers D
    short = {point: name for name, point in QKV.items()}
    blocks = [observed.block(layer).items() for layer in layers]
    values = [{short.get(point, point): value.cpu().numpy() for point, value in block} for block in blocks]
    for layer, arrays in enumerate(values):
        if level == "block" and (angles := transformer.frequencies(layer)) is not None:
            arrays["rope"] = angles.float().cpu().numpy()
    return values, lens_of(transformer.decode_rows(rows), token)


def _stored(name: str, value: Tensor) -> Tensor:
    """Returns the part of a hook point's value that is stored, in its stored type."""
    point = name.split(".", 2)[2]
    if point == "resid_out":
        return value[-1:]
    if point in QKV.values():
        return value.float().transpose(0, 1)  # T H Dh -> H T Dh
    return value.half() if bool(value.abs().max() <= LARGEST_F16) else value.float()
