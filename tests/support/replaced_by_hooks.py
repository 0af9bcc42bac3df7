"""A model of `transformers` whose rows are read and replaced by hooks of our own, as a judge of effects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor

Replace = Callable[[Tensor], Tensor]


class Hooked:
    """`site`: heads (joined, before W_O), attention, mlp (what is added), layers and residual (after the layer)."""

    def __init__(self, model: Any):
        self.model, self.config = model, model.config
        self.gpt2 = hasattr(model, "transformer")
        self.layers = model.transformer.h if self.gpt2 else model.model.layers
        self.heads = self.config.num_attention_heads
        self.norm = model.transformer.ln_f if self.gpt2 else model.model.norm

    def module(self, site: str, layer: int) -> Any:
        block = self.layers[layer]
        if site in ("layers", "residual"):
            return block
        attention = block.attn.c_proj if self.gpt2 else block.self_attn.o_proj
        if site == "heads":
            return attention
        if hasattr(block, "post_feedforward_layernorm"):
            return block.post_attention_layernorm if site == "attention" else block.post_feedforward_layernorm
        return attention if site == "attention" else block.mlp

    @torch.inference_mode()
    def logits(self, ids: list[int], replaced: dict[tuple[str, int], Replace] | None = None) -> Tensor:
        """[V] of the last row, in float64."""
        with ExitStack() as hooks:
            for (site, layer), replace in (replaced or {}).items():
                module = self.module(site, layer)
                if site == "heads":
                    handle = module.register_forward_pre_hook(partial(_before, replace))
                else:
                    handle = module.register_forward_hook(partial(_after, replace, site))
                hooks.callback(handle.remove)
            return self.model(torch.tensor([ids])).logits[0, -1].double()

    def rows(self, site: str, layer: int, ids: list[int]) -> Tensor:
        """[T, D]; heads joined."""
        seen: list[Tensor] = []

        def see(rows: Tensor) -> Tensor:
            seen.append(rows.clone())
            return rows

        if site == "layers":
            before = self.rows("embedded", 0, ids) if layer == 0 else self.rows("residual", layer - 1, ids)
            return self.rows("residual", layer, ids) - before
        if site == "embedded":
            handle = self.layers[0].register_forward_pre_hook(lambda _, given: seen.append(given[0][0].clone()))
            self.logits(ids)
            handle.remove()
        else:
            self.logits(ids, {(site, layer): see})
        return seen[0]

    def replacing(self, site: str, layer: int, rows: Tensor | float, head: int | None, at: int | None) -> Replace:
        """Writes `rows`, one or one per position, in place of a part's: of a head or all, at a position or all."""
        width = self.config.hidden_size if head is None else _head_width(self)
        columns = slice(None) if head is None else slice(head * width, (head + 1) * width)

        def replace(value: Tensor) -> Tensor:
            value = value.clone()
            there = slice(None) if at is None else slice(at, at + 1)
            own = rows if not isinstance(rows, Tensor) else rows[..., columns]
            value[there, columns] = own[there] if isinstance(own, Tensor) and own.dim() == 2 else own
            return value

        return replace


def _head_width(hooked: Hooked) -> int:
    return getattr(hooked.config, "head_dim", None) or hooked.config.hidden_size // hooked.heads


def _before(replace: Replace, _module: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (replace(given[0][0])[None], *given[1:])


def _after(replace: Replace, site: str, _module: Any, given: tuple[Tensor, ...], result: Any) -> Any:
    value = result[0] if isinstance(result, tuple) else result
    before = given[0][0] if site == "layers" else 0  # of a layer, what it adds is replaced
    changed = (before + replace(value[0] - before))[None]
    return (changed, *result[1:]) if isinstance(result, tuple) else changed
