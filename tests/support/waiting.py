"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(true: Callable[[], Any], seconds: float = 30) -> Any:
    """What `true` returns once that is truthy."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return value
