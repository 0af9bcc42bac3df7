"""Chromium as it is installed on this machine."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of its program, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def launched(kind: BrowserType) -> Browser:
    """The system's Chromium, started by Playwright, for a command that is run by hand."""
    return kind.launch(executable_path=chromium(), args=["--no-sandbox"])
