"""What holds for every test of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from kvscope.model.hooks import HookPoint


@pytest.fixture(autouse=True)
def no_hook_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every hook a test attaches to a hook point is gone at its end."""
    attached: list[HookPoint] = []
    register = HookPoint.register_forward_hook

    def remember(point: HookPoint, *arguments: Any, **options: Any) -> Any:
        attached.append(point)
        return register(point, *arguments, **options)

    monkeypatch.setattr(HookPoint, "register_forward_hook", remember)
    yield
    assert not [point for point in attached if point._forward_hooks]


@pytest.fixture(autouse=True)
def one_thread_for_tiny_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Threads that wait for each other take longer than a tiny product, above all on a busy machine."""
    threads = torch.get_num_threads()
    if request.node.get_closest_marker("real") is None:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
