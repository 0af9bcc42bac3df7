"""Where the page of a session has the session inside: the ids and types of its elements (app.travel.page)."""

from __future__ import annotations

MANIFEST_ID = "manifest"
PART_TYPE, VALUES_TYPE = "application/vnd.kvscope.part", "application/vnd.kvscope.values"


def part_id(seq: int) -> str:
    """The element that has frame `seq`."""
    return f"part-{seq}"


def values_id(step: int, layer: int) -> str:
    """The element that has the exact values of a step in a layer."""
    return f"values-{step}-{layer}"
