"""Hook points: where the transformer's activations can be seen, and replaced.

A `HookPoint` is an identity module. Observers attached to it see the tensor that passes; writers replace it. The habit
is TransformerLens's (`hook_points.py`); the name of a hook point is its module path, `blocks.13.attn.weights`.
PyTorch's own forward hooks would do, but attaching, calling and detaching ninety of them takes a step a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from torch import Tensor, nn

Attached = TypeVar("Attached")

Observer = Callable[[Tensor], object]
"""Sees a tensor; what it gives back is dropped. To keep it beyond the forward pass it makes a copy."""
Writer = Callable[[Tensor], Tensor]
"""Gives another tensor of the same shape in place of the one that it is given, which it leaves as it is."""


class HookPoint(nn.Module):
    """Passes a tensor through. `shape` names its axes in the letter code of `model.transformer`."""

    def __init__(self, shape: str):
        super().__init__()
        self.shape = shape
        self.observers: list[Observer] = []
        self.writers: list[Writer] = []

    def __call__(self, value: Tensor) -> Tensor:  # not `forward`: a step passes 500 of them, at a microsecond each
        for writer in self.writers:
            value = writer(value)
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
    with _attached((points[name].observers, observer) for name, observer in observers.items()):
        yield


@contextmanager
def writing(points: Mapping[str, HookPoint], writers: Mapping[str, Writer]) -> Iterator[None]:
    """Put what `writers[name]` gives in place of each tensor that passes `points[name]`, before observers see it;
    always detached at the end.

    Raises KeyError for a name that is not among the points.
    """
    with _attached((points[name].writers, writer) for name, writer in writers.items()):
        yield


@contextmanager
def _attached(pairs: Iterable[tuple[list[Attached], Attached]]) -> Iterator[None]:
    """Each second in the list beside it, while the context lasts."""
    held = list(pairs)
    for those, one in held:
        those.append(one)
    try:
        yield
    finally:
        for those, one in held:
            those.remove(one)
