"""Hook points: where the transformer's activations can be seen.

A `HookPoint` is an identity module. It changes nothing; PyTorch forward hooks attached to it see the tensor that
passes. The habit is TransformerLens's (`hook_points.py`); the name of a hook point is its module path,
`blocks.13.attn.weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn


class HookPoint(nn.Module):
    """Passes a tensor through. `shape` names its axes in the letter code of `model.transformer`."""

    def __init__(self, shape: str):
        super().__init__()
        self.shape = shape

    def forward(self, value: Tensor) -> Tensor:
        return value

    def extra_repr(self) -> str:
        return self.shape


Observer = Callable[[Tensor], None]


def hook_points(transformer: nn.Module) -> dict[str, HookPoint]:
    """Every hook point by name."""
    return {name: module for name, module in transformer.named_modules() if isinstance(module, HookPoint)}


@contextmanager
def observing(points: Mapping[str, HookPoint], observers: Mapping[str, Observer]) -> Iterator[None]:
    """Call `observers[name]` with each tensor that passes `points[name]`; always detached at the end.

    Raises KeyError for a name that is not among the points.
    """
    handles = []
    try:
        for name, observer in observers.items():
            handles.append(points[name].register_forward_hook(_as_hook(observer)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _as_hook(observer: Observer) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
    def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        observer(output)

    return hook
