"""The page and the picture of a session choose the same head where nobody chose one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvscope.app.travel.opening_head import opening_head
from kvscope.model.log import frames as codec
from tests.support.node import answer_of

FOLDER = Path(__file__).parent
SHIPPED = sorted((FOLDER.parents[3] / "kvscope" / "app" / "recordings").glob("*.safetensors"))
RECORDINGS = [path for path in SHIPPED if path.stem != "serving"]
"""Runs; a workload has no head."""
ANYWHERE = {"step": None, "layer": None, "head": None, "query": None, "key": None, "view": None}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_picture_has_the_head_that_the_page_opens_with(path: Path) -> None:
    payloads = [frame.payload for frame in codec.split(path.read_bytes())]
    answer = answer_of(FOLDER / "opening-head-answers.js", b"".join(codec.to_stream(payloads)))
    chosen = opening_head(payloads, ANYWHERE)
    assert answer == {"layer": chosen.layer, "head": chosen.head}
