"""The page's colours, read from its style sheet, the only place that states them."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256

from kvscope.app.paths import STATIC

SHEET = "shared/ui/base.css"


@cache
def light() -> dict[str, str]:
    """Returns the custom properties of the light theme by name, without the two dashes."""
    sheet = (STATIC / SHEET).read_text("utf-8")
    rules = sheet.partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"--([a-z-]+):\s*([^;]+);", rules))


def version() -> str:
    """Returns a version that changes with any property of that theme."""
    return sha256(repr(sorted(light().items())).encode()).hexdigest()[:8]
