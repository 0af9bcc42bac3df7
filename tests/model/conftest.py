"""What holds for every test of the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

from kvscope.model import hooks
from kvscope.model.compiler import Unavailable, c_compiler
from kvscope.model.native import Native
from kvscope.model.packaged import cache_folder


@pytest.fixture(scope="session")
def native() -> Native:
    """Compiled where KVScope keeps it. Where there is no C compiler the test is skipped, or failed where CI=true; one
    that fails, or makes what gives other values than torch, fails the test.
    """
    try:
        c_compiler()
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(why))
    return Native.from_folder(cache_folder() / "native")


@pytest.fixture(autouse=True)
def no_hook_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every hook a test attaches to a hook point is gone at its end."""
    used: list[list[Any]] = []
    attached = hooks._attached

    def remember(pairs: Iterable[tuple[list[Any], Any]]) -> AbstractContextManager[None]:
        held = list(pairs)
        used.extend(those for those, _ in held)
        return attached(held)

    monkeypatch.setattr(hooks, "_attached", remember)
    yield
    assert not any(used)


@pytest.fixture(autouse=True)
def one_thread_for_tiny_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Threads that wait for each other take longer than a tiny product, above all on a busy machine."""
    threads = torch.get_num_threads()
    if request.node.get_closest_marker("real") is None:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
