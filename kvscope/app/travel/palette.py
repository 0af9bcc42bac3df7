"""The page's colours, read from its own style sheet: there they are stated, and nowhere else."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256

from kvscope.app.paths import STATIC

SHEET = "shared/ui/base.css"


@cache
def light() -> dict[str, str]:
    """The custom properties of the light theme by name, without their two dashes."""
    sheet = (STATIC / SHEET).read_text("utf-8")
    rules = sheet.partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"--([a-z-]+):\s*([^;]+);", rules))


def version() -> str:
    """Another one when a property of that theme changes."""
    return sha256(repr(sorted(light().items())).encode()).hexdigest()[:8]
