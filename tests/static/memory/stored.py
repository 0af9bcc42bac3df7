"""What a model of `transformers` has: its text model's parameters, and the tensors of its cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def stored_tensors(layer: Any) -> Iterator[torch.Tensor]:
    stored = [getattr(layer, name, None) for name in ("keys", "values")]
    states = [state for name in ("conv_states", "recurrent_states") for state in getattr(layer, name, {}).values()]
    yield from (tensor for tensor in (*stored, *states) if isinstance(tensor, torch.Tensor))


def cache_bytes(model: Any, ids: torch.Tensor) -> int:
    """Bytes of cache that a run over these tokens leaves."""
    with torch.inference_mode():
        layers = model(ids, use_cache=True).past_key_values.layers
    return sum(stored.nbytes for layer in layers for stored in stored_tensors(layer))


def text_parameters(model: Any) -> int:
    """Numbers in the language model and its LM head, each once."""
    parts = (model.get_decoder(), model.get_output_embeddings())
    return sum({id(each): each.numel() for part in parts for each in part.parameters()}.values())
