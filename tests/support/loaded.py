"""Checkpoints loaded from files, and what an engine over one gives for every row."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from kvscope.model.api import Progress
from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.engine.engine import Engine
from kvscope.model.transformer import Transformer


def ignore(_: Progress) -> None:
    """For a load whose progress is of no matter."""


def loaded(path: Path) -> Checkpoint:
    return load(str(path), ignore)


def engine_of(path: Path, capacity: int = 256) -> Engine:
    checkpoint = loaded(path)
    return Engine(Transformer.from_weights(checkpoint.config, checkpoint.weights), capacity=capacity)


def logits_of_rows(engine: Engine, ids: list[int]) -> Tensor:
    """[T, V]. The engine asks for the last row's logits alone; every row is a stricter judge."""
    final: list[Tensor] = []
    last = f"blocks.{engine.transformer.config.layers - 1}.resid_out"
    with engine.replay(ids, 0, {last: lambda rows: final.append(rows.clone())}), torch.inference_mode():
        return engine.transformer.decode_rows(final[0])
