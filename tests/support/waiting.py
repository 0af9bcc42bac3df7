"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page


def eventually(true: Callable[[], Any], seconds: float = 30, every_s: float = 0.01) -> Any:
    """What `true` returns once that is truthy."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(every_s)
    return value


def until(page: Page, script: str, arg: Any = None, seconds: float = 60) -> Any:
    """What `script` returns in the page once that is truthy.

    Playwright's `wait_for_function` would look from inside the page, whose policy forbids it to evaluate a string.
    """
    deadline = time.monotonic() + seconds
    while not (value := page.evaluate(script, arg)):
        assert time.monotonic() < deadline, f"it never came true: {script}"
        page.wait_for_timeout(20)
    return value
