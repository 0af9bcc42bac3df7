"""The script of a widget: small enough for a notebook, complete, and with the run inside where one is written."""

import base64
import json
import re
import zlib
from pathlib import Path

import kvscope
from kvscope.app.travel.widget_module import NONCE, widget_module
from kvscope.model.log.frames import from_stream
from tests.support.recorded import SMALL

MOST_BYTES = 1_000_000
"""Of the script without a run."""


def constant(script: str, name: str) -> object:
    found = re.search(rf"^const {name} = (.*);$", script, re.MULTILINE)
    assert found
    return json.loads(found[1])


def test_a_checkouts_script_is_at_most_one_megabyte_and_has_the_page() -> None:
    script = widget_module()
    assert len(script.encode()) <= MOST_BYTES
    page = zlib.decompress(base64.b64decode(str(constant(script, "PAGE")))).decode()
    assert f"'nonce-{NONCE}'" in page
    assert page.count('"kvscope-session"') == page.count('"kvscope-address"') == 1
    assert not re.findall(r"https?://(?!www\.w3\.org/)[^\s\"'<>]+\.(?:js|css|woff2)", page)  # nothing is loaded


def test_a_written_script_has_the_frames_of_its_run(tmp_path: Path) -> None:
    run, path = kvscope.open(SMALL), tmp_path / "run.mjs"
    run.save(path)
    state = constant(path.read_text("utf-8"), "STORED")
    assert isinstance(state, dict)
    assert state["_session"]["title"] == run.title
    assert list(from_stream(zlib.decompress(base64.b64decode(state["_log"])))) == list(run._content.frames())
