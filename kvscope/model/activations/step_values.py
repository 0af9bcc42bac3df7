"""What a step computed, layer by layer, as a saved session can keep it: enough to make any exact answer of it again.

Level "qkv" holds what cannot be made without the model: the rows of Q, K and V. Scores, weights and a head's output are
arithmetic on them. Level "block" adds what the weights made of each row; sums and the MLP's product follow from those.
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
"""Hook points that level "block" adds, "mlp.gate" where the model has it."""

Arrays = dict[str, np.ndarray]


def step_values(
    engine: Engine, ids: list[int], first_query: int, level: ValueLevel, token: int
) -> tuple[list[Arrays], list[LensRow]]:
    """Per layer the values of rows `first_query`… of `ids`, T of them, and the lens of the last row about `token`.

    Always `q` F32 [H, T, Dh], `k` and `v` F32 [Hkv, T, Dh], q and k after RoPE. At level "block" also the tensors of
    `OF_BLOCK`, [T, width], F16 where every value fits into it and F32 otherwise, and `rope` F32 [Dh/2], the angle per
    position of each pair, where the model turns Q and K.

    The rows stay in the cache until others need the room, so that the next step does not compute them again. Raises
    CacheFull.
    """
    transformer, points = engine.transformer, engine.runner.points
    layers = range(transformer.config.layers)
    wanted = [*QKV.values(), *(OF_BLOCK if level == "block" else ())]
    names = [name for layer in layers for point in wanted if (name := f"blocks.{layer}.{point}") in points]
    ends = [left_by(layer) for layer in layers]
    seen = observe(engine, ids, first_query, names + ends, form=_stored, keep=True)
    rows = torch.cat([seen.values.pop(name) for name in ends])  # layers D
    short = {point: name for name, point in QKV.items()}
    found = [{short.get(point, point): value.cpu().numpy() for point, value in seen.block(n).items()} for n in layers]
    for layer, arrays in enumerate(found):
        if level == "block" and (angles := transformer.frequencies(layer)) is not None:
            arrays["rope"] = angles.float().cpu().numpy()
    return found, lens_of(transformer.decode_rows(rows), token)


def _stored(name: str, value: Tensor) -> Tensor:
    """Of a hook point's value what is stored of it."""
    point = name.split(".", 2)[2]
    if point == "resid_out":
        return value[-1:]
    if point in QKV.values():
        return value.float().transpose(0, 1)  # T H Dh -> H T Dh
    return value.half() if bool(value.abs().max() <= LARGEST_F16) else value.float()
