"""Chromium as it is installed on this machine."""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of its program, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)
