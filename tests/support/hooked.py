"""A model of `transformers` whose rows are replaced by hooks made by hand: what judges changes to a run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

Replace = Callable[[Tensor], Tensor]
"""Rows [T, W] in, rows out."""


LLAMA = ("model.layers", "self_attn", "o_proj")
"""The names of the layers, of a layer's attention, and of the last matrix of attention …"""
NAMES = {"gpt2": ("transformer.h", "attn", "c_proj"), "gpt_neox": ("gpt_neox.layers", "attention", "dense")}
"""… in families with other names."""


class Hooked:
    """`model`: of the Llama family, Gemma 2 or 3, GPT-2 or GPT-NeoX, with eager attention."""

    def __init__(self, model: Any):
        self._model = model
        layers, self._attention, self._out = NAMES.get(model.config.model_type, LLAMA)
        self._layers = model.get_submodule(layers)
        self._after = model.config.model_type in ("gemma2", "gemma3_text")
        """Whether a norm stands behind each half of a layer."""

    @torch.inference_mode()
    def logits(self, ids: list[int], site: str, layer: int | None, head: int | None, replace: Replace) -> Tensor:
        """[T, V], with the rows of one place replaced."""
        with ExitStack() as hooks:
            cache = hooks.enter_context(self._at(site, layer or 0, head, replace))
            return self._model(torch.tensor([ids]), past_key_values=cache, use_cache=True).logits[0]

    def rows(self, ids: list[int], site: str, layer: int | None, head: int | None) -> Tensor:
        """[T, W]: what lies at the place."""
        seen: list[Tensor] = []

        def keep(rows: Tensor) -> Tensor:
            seen.append(rows.clone())
            return rows

        self.logits(ids, site, layer, head, keep)
        return seen[0]

    @contextmanager
    def _at(self, site: str, layer: int, head: int | None, replace: Replace) -> Iterator[Any]:
        block = self._layers[layer]
        attention = block.get_submodule(self._attention)
        cache, handles = DynamicCache(), []
        if site in ("k", "v"):
            cache = _Edited(site, layer, head or 0, replace)
        elif site == "head":
            out = attention.get_submodule(self._out)
            handles.append(out.register_forward_pre_hook(_of_head(self._heads, head or 0, replace)))
        elif site == "token":
            handles.append(self._layers[0].register_forward_pre_hook(_first_argument(replace), with_kwargs=True))
        elif site in ("attention", "mlp"):
            handles.append(self._half(block, attention, site).register_forward_hook(_output(replace)))
        else:
            entered: list[Tensor] = []
            handles.append(block.register_forward_pre_hook(_first_argument(_keeping(entered)), with_kwargs=True))

            def change(rows: Tensor) -> Tensor:
                return replace(rows) if site == "residual" else entered[-1] + replace(rows - entered[-1])

            handles.append(block.register_forward_hook(_output(change)))
        try:
            yield cache
        finally:
            for handle in handles:
                handle.remove()

    @property
    def _heads(self) -> int:
        return int(self._model.config.num_attention_heads)

    def _half(self, block: nn.Module, attention: nn.Module, site: str) -> nn.Module:
        if self._after:
            norms = {"attention": "post_attention_layernorm", "mlp": "post_feedforward_layernorm"}
            return block.get_submodule(norms[site])
        return attention if site == "attention" else block.get_submodule("mlp")


class _Edited(DynamicCache):
    """A cache that replaces rows of K or V as they are written."""

    def __init__(self, which: str, layer: int, head: int, replace: Replace):
        super().__init__()
        self._place = which, layer, head
        self._replace = replace

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *rest: Any, **named: Any) -> Any:
        which, layer, head = self._place
        if layer_idx == layer:
            target = (key_states if which == "k" else value_states).clone()
            target[0, head] = self._replace(target[0, head])
            key_states, value_states = (target, value_states) if which == "k" else (key_states, target)
        return super().update(key_states, value_states, layer_idx, *rest, **named)


def _of_head(heads: int, head: int, replace: Replace) -> Callable[..., Any]:
    def hook(_: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        by_head = given[0].clone().view(given[0].shape[1], heads, -1)
        by_head[:, head] = replace(by_head[:, head])
        return (by_head.view_as(given[0]),)

    return hook


def _output(replace: Replace) -> Callable[..., Any]:
    def hook(_: nn.Module, __: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (replace(output[0][0])[None], *output[1:])
        return replace(output[0])[None]

    return hook


def _first_argument(replace: Replace) -> Callable[..., Any]:
    def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if given:
            return (replace(given[0][0])[None], *given[1:]), named
        return given, {**named, "hidden_states": replace(named["hidden_states"][0])[None]}

    return hook


def _keeping(entered: list[Tensor]) -> Replace:
    def keep(rows: Tensor) -> Tensor:
        entered.append(rows.clone())
        return rows

    return keep
