"""Hook points: where the transformer's activations can be seen.

A `HookPoint` is an identity module. It changes nothing; observers attached to it see the tensor that passes. The habit
is TransformerLens's (`hook_points.py`); the name of a hook point is its module path, `blocks.13.attn.weights`.
PyTorch's own forward hooks would do, but attaching, calling and detaching ninety of them takes a step a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

Observer = Callable[[Tensor], object]
"""Sees a tensor; what it gives back is dropped. To keep it beyond the forward pass it makes a copy."""


class HookPoint(nn.Module):
    """Passes a tensor through. `shape` names its axes in the letter code of `model.transformer`."""

    def __init__(self, shape: str):
        super().__init__()
        self.shape = shape
        self.observers: list[Observer] = []

    def attach(self, observer: Observer) -> None:
        self.observers.append(observer)

    def detach(self, observer: Observer) -> None:
        self.observers.remove(observer)

    def __call__(self, value: Tensor) -> Tensor:  # not `forward`: a step passes 500 of them, at a microsecond each
        for observer in self.observers:
            observer(value)
        return value

    def extra_repr(self) -> str:
        return self.shape


def hook_points(transformer: nn.Module) -> dict[str, HookPoint]:
    """Every hook point by name."""
    return {name: module for name, module in transformer.named_modules() if isinstance(module, HookPoint)}


@contextmanager
def observing(points: Mapping[str, HookPoint], observers: Mapping[str, Observer]) -> Iterator[None]:
    """Call `observers[name]` with each tensor that passes `points[name]`; always detached at the end.

    Raises KeyError for a name that is not among the points.
    """
    watched = [(points[name], observer) for name, observer in observers.items()]
    for point, observer in watched:
        point.attach(observer)
    try:
        yield
    finally:
        for point, observer in watched:
            point.detach(observer)
