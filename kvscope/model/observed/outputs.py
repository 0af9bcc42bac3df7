"""Reads what `transformers` returns of a pass: attention weights, the cache object, hidden states, logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kvscope.model.api import Refused
from kvscope.model.engine.records import KVState
from kvscope.model.observed.log import ObservedPass

EAGER = 'load the model with attn_implementation="eager"'


def pass_of(outputs: Any, layers: int | None, first: int, field: str, what: str) -> ObservedPass:
    """Returns the pass with these outputs, whose new rows begin at position `first`. `what` returned them, and should
    have so many `layers`. Raises Refused, naming `field`.
    """
    attention = attention_of(getattr(outputs, "attentions", None), layers, first, field, what)
    rows, cache = attention.shape[2], getattr(outputs, "past_key_values", None)
    k, v = rows_in(cache, range(first, first + rows), first + rows, len(attention)) or (None, None)
    logits = outputs.logits[0, -1].detach().float().cpu()
    return ObservedPass(first, attention, logits, k=k, v=v, cache=state_of(cache, first + rows, rows))


def attention_of(attentions: Any, layers: int | None, first: int, field: str, what: str) -> Tensor:
    """Returns the attention weights of a pass, [layers, H, T, first + T], from those of each layer, [1, H, rows, keys].

    T: the new rows, from position `first` on. Fewer keys are the newest ones, of layers with a window; the others have
    the weight 0. `what` returned the weights, and `layers` says how many layers there should be. Raises Refused, naming
    `field`.
    """
    if attentions is None or not len(attentions) or any(each is None for each in attentions):
        message = f"{field}: {what} returned no attention weights. If it has attention, {EAGER},"
        raise Refused(field, f"{message} and pass output_attentions=True.")
    if layers is not None and len(attentions) != layers:
        message = f"{field}: {what} returned the attention of {len(attentions)} layers, and has {layers};"
        raise Refused(field, f"{message} only models with attention in every layer can be shown.")
    shapes = {tuple(each.shape[:3]) for each in attentions}
    if len(shapes) != 1 or len(next(iter(shapes))) != 3 or next(iter(shapes))[0] != 1:
        message = f"{field}: the attention of {what} has the shapes {sorted(shapes)};"
        raise Refused(field, f"{message} it must be [1, heads, queries, keys] in each layer, of one sequence.")
    rows = next(iter(shapes))[2] if first == 0 else 1
    last = first + rows
    whole = []
    for each in attentions:
        weights = each[0, :, -rows:].detach().float().cpu()
        if weights.shape[-1] > last:
            message = f"{field}: the attention of {what} has {weights.shape[-1]} keys for {last} positions;"
            raise Refused(field, f"{message} a static cache or padding is not supported.")
        whole.append(torch.nn.functional.pad(weights, (last - weights.shape[-1], 0)))
    return causal(torch.stack(whole), first, field)


def causal(attention: Tensor, first: int, field: str) -> Tensor:
    """Returns the weights [..., T, first + T]. Raises Refused for NaN, and for a query that looks at later keys."""
    if not bool(attention.isfinite().all()):
        raise Refused(field, f"{field}: the attention has a value that is not a finite number.")
    if bool(attention.triu(1 + first).any()):
        message = (
            f"{field}: the attention has a query that looks at later tokens. KVScope shows causal language models; "
            f"if this is one, {EAGER}."
        )
        raise Refused(field, message)
    return attention


def cached_layers(cache: Any) -> list[tuple[Tensor, Tensor]] | None:
    """Returns K and V of each layer, [Hkv, positions, Dh], from a cache object or a tuple of pairs; None if some layer
    has none.
    """
    layers = getattr(cache, "layers", cache)
    if not isinstance(layers, Sequence) or not layers:
        return None
    pairs = []
    for layer in layers:
        keys, values = (getattr(layer, "keys", None), getattr(layer, "values", None))
        if keys is None and isinstance(layer, Sequence) and len(layer) >= 2:
            keys, values = layer[0], layer[1]
        if not isinstance(keys, Tensor) or not isinstance(values, Tensor) or keys.dim() != 4 or len(keys) != 1:
            return None
        pairs.append((keys[0].detach(), values[0].detach()))
    return pairs


def one_shape(cache: Any) -> Tensor | None:
    """Returns K of the first layer, [Hkv, positions, Dh], if K and V of all layers have as many heads, as wide, in one
    type; else None.
    """
    pairs = cached_layers(cache) or []
    kinds = {(len(each), each.shape[2], each.dtype) for pair in pairs for each in pair}
    return pairs[0][0] if len(kinds) == 1 else None


def rows_in(cache: Any, rows: range, positions: int, layers: int) -> tuple[Tensor, Tensor] | None:
    """Returns some rows of K and V, [layers, Hkv, rows, Dh], from a cache that has read so many `positions`; None if it
    does not hold them all, or has layers of different sizes.
    """
    pairs = cached_layers(cache)
    if pairs is None or len(pairs) != layers:
        return None
    held = []
    for part in (0, 1):
        for each in pairs:
            dropped = positions - each[part].shape[1]  # layers with a window hold only the newest rows
            if rows.start < dropped:
                return None
            held.append(each[part][:, rows.start - dropped : rows.stop - dropped].cpu())
    if len({each.shape for each in held}) != 1 or held[0].shape[1] != len(rows):
        return None
    return torch.stack(held[:layers]), torch.stack(held[layers:])


def state_of(cache: Any, positions: int, rows: int) -> KVState | None:
    """Returns what the cache holds after a pass of `rows` rows. Layers with a window hold fewer positions."""
    pairs = cached_layers(cache)
    if pairs is None:
        return None
    least = min(keys.shape[1] for keys, _ in pairs)
    return KVState(
        positions=positions,
        bytes_written=sum(rows * (_row_bytes(keys) + _row_bytes(values)) for keys, values in pairs),
        bytes_used=sum(keys.nbytes + values.nbytes for keys, values in pairs),
        paged=None,
        windowed=(least, None) if windows_of(cache) else None,
    )


def windows_of(cache: Any) -> list[int | None] | None:
    """Returns how many of the newest keys each layer reads, None for all, if some layer has a window; else None."""
    layers = getattr(cache, "layers", ())
    windows = [getattr(each, "sliding_window", None) if getattr(each, "is_sliding", False) else None for each in layers]
    return windows if any(windows) else None


def _row_bytes(tensor: Tensor) -> int:
    return tensor.shape[0] * tensor.shape[2] * tensor.element_size()
