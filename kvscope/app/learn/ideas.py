"""The ideas that a lesson can show: lessons/ideas.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

from kvscope.app.paths import LESSONS


@cache
def ideas() -> Mapping[str, Mapping[str, str]]:
    """`course`: those that the lessons that ship must show; `more`: others. In each, a line about an idea by its id."""
    return tomllib.loads((LESSONS / "ideas.toml").read_text("utf-8"))
