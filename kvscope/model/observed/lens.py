"""Applies a module's own last operations to the residual stream after each layer: the logit lens (nostalgebraist 2020).

Everything after the layers is applied as the module does it: its final norm, its head, and scales or caps of logits.
For this the module reads a token per layer, and the rows replace what its final norm would read: some modules give the
rows after it the shape of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

NEAR = 1e-2
"""Largest difference between the logits of the pass and those of the lens after the last layer, as a share of the
largest logit, so that the final norm is the right one."""


class Lens:
    """The last operations of a module; `norm`, the first of them, is None if it is not known: then there is no lens."""

    def __init__(self, module: nn.Module | None = None, norm: nn.Module | None = None) -> None:
        self._module, self._norm = module, norm
        self._last: Tensor | None = None

    @classmethod
    def of(cls, module: Any) -> Lens:
        """Returns the lens of a causal language model of `transformers`: its final norm is beside its layers."""
        layers = getattr(module.config, "num_hidden_layers", None)
        for parent in module.modules():
            children = list(parent.children())
            lists = [at for at, each in enumerate(children) if isinstance(each, nn.ModuleList) and len(each) == layers]
            if lists:
                after = _norms(children[lists[0] :]) or _norms(children)
                return cls(module, after[0] if len(after) == 1 else None)
        return cls()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observes what the final norm reads in a pass."""
        if self._norm is None:
            yield
            return

        def note(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            self._last = arguments[0] if arguments else None

        with _hooked(self._norm, note):
            yield

    def residual(self, hidden: tuple[Tensor, ...], rows: int) -> Tensor | None:
        """Returns the newest `rows` rows of the residual stream after each layer, [layers, rows, D], from the hidden
        states of the pass: of all layers but the last, whose hidden states are behind the final norm. None without a
        lens.
        """
        last, self._last = self._last, None
        if self._norm is None or last is None or any(each.shape != last.shape for each in hidden[1:-1]):
            return None
        return torch.stack([each[0, -rows:] for each in (*hidden[1:-1], last)])

    def logits(self, rows: Tensor, token: int, expected: Tensor) -> Tensor | None:
        """Returns the logits [layers, V] of rows [layers, D], of which the last has the logits `expected` [V]. `token`:
        any one, which the module reads. None without a lens, and from then on, if the last ones differ.
        """
        if self._norm is None or self._module is None:
            return None

        def put(_module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            return (rows[:, None], *arguments[1:])

        with _hooked(self._norm, put):
            ids = torch.full((len(rows), 1), token, device=rows.device)
            logits: Tensor = self._module(input_ids=ids, use_cache=False, return_dict=True).logits[:, 0]
        if logits.shape != (len(rows), len(expected)) or not is_near(logits[-1], expected):
            self._norm = None
            return None
        return logits


def _norms(modules: list[nn.Module]) -> list[nn.Module]:
    return [each for each in modules if "norm" in type(each).__name__.lower()]


def is_near(logits: Tensor, expected: Tensor) -> bool:
    """Returns whether logits are the expected ones, up to rounding in half precision."""
    one, other = logits.float(), expected.float()
    return bool((one - other).abs().max() <= NEAR * other.abs().max())


@contextmanager
def _hooked(module: nn.Module, hook: Any) -> Iterator[None]:
    handle = module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()
