"""The function that the panel opens for each view is in the installed source."""

from __future__ import annotations

from pathlib import Path

from kvscope.model.source.listing import listing
from tests.support.node import answer_of

VIEWS = Path(__file__).parent / "views-answer.js"


def test_every_view_has_its_function_in_the_source() -> None:
    known = {(file["path"], function["name"]) for file in listing()["files"] for function in file["functions"]}
    opened = {(place["path"], place["name"]) for place in answer_of(VIEWS, None)}
    assert opened <= known
