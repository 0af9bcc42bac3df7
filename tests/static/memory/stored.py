"""The tensors that a layer of a cache of `transformers` stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def stored_tensors(layer: Any) -> Iterator[torch.Tensor]:
    stored = [getattr(layer, name, None) for name in ("keys", "values")]
    states = [state for name in ("conv_states", "recurrent_states") for state in getattr(layer, name, {}).values()]
    yield from (tensor for tensor in (*stored, *states) if isinstance(tensor, torch.Tensor))
