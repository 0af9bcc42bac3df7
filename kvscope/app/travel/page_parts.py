"""Ids and types of the elements that hold a session in its page (app.travel.page)."""

from __future__ import annotations

MANIFEST_ID = "manifest"
PART_TYPE, VALUES_TYPE = "application/vnd.kvscope.part", "application/vnd.kvscope.values"


def part_id(seq: int) -> str:
    """Returns the id of the element with frame `seq`."""
    return f"part-{seq}"


def values_id(step: int, layer: int) -> str:
    """Returns the id of the element with the exact values of a layer in a step."""
    return f"values-{step}-{layer}"
