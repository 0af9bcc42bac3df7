"""The weights of a GGUF file in the groups it has them in (model/grouped.py), to multiply by them as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind

from kvscope.model.checkpoint.gguf_header import TensorInfo
from kvscope.model.checkpoint.layout import slots
from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GROUP, Groups

BYTES = {Kind.Q4_0: 18, Kind.Q4_1: 20, Kind.Q8_0: 34}
"""Of a group, by the types that are kept: d, then m where there is one, then q."""

Raw = Callable[[str], tuple[TensorInfo, np.ndarray]]
"""A part's tensor and its bytes [rows, bytes of a row], rows in the model's order."""


def groups_of(config: ModelConfig, raw: Raw) -> dict[str, Groups]:
    """Every weight of a linear layer that the file has in groups of one type, by name."""
    found: dict[str, Groups] = {}
    head = "embed.weight" if config.tied else "lm_head.weight"
    for slot in slots(config):
        if len(slot.shape) != 2 or not (slot.name.startswith("blocks.") or slot.name == head):
            continue
        parts = [raw(part) for part, _ in slot.parts]
        kinds = {info.kind for info, _ in parts}
        if len(kinds) == 1 and (kind := kinds.pop()) in BYTES and slot.shape[1] % GROUP == 0:
            found["lm_head.weight" if slot.name == head else slot.name] = _groups(
                kind, np.concatenate([rows for _, rows in parts])
            )
    return found


def _groups(kind: Kind, rows: np.ndarray) -> Groups:
    groups = rows.reshape(len(rows), -1, BYTES[kind])
    scales = [torch.from_numpy(groups[..., at : at + 2].copy().view(np.float16)[..., 0]) for at in (0, 2)]
    if kind == Kind.Q8_0:
        return Groups(torch.from_numpy(groups[..., 2:].copy().view(np.int8)), scales[0], None)
    with_minimum = kind == Kind.Q4_1
    q = torch.from_numpy(groups[..., 4 if with_minimum else 2 :].copy())
    return Groups(q, scales[0], scales[1] if with_minimum else None)
