"""Files of saved sessions in this version of the log's format, which are read and stored as they were written.

Within one version the files are never written again. A new version gets new files; of the old ones, one stays to be
refused.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvscope.app.store.manifest import canonical, name_of
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.importing import read_file
from kvscope.model.api import Refused
from kvscope.model.companding import decompand
from kvscope.model.log import frames as codec
from tests.support.integrity import damage_of
from tests.support.recorded import FOREIGN, SESSIONS

FILES = {path.stem: path for path in sorted(SESSIONS.glob(f"v{codec.VERSION}*.safetensors"))}
BOTH = {"steps": 5, "prompt": "Où est l'été ? <b>日本</b> 🙂"}
# What was in them when they were written.
KNOWN: dict[str, dict[str, Any]] = {
    "v2": {"id": "pfuvty75as6s", "title": "L'attention, vue de près", "notes": 2, **BOTH},
    "v2-fork": {"id": "l7ju6dw5drf3", "title": "", "notes": 0, **BOTH},
}


@pytest.fixture(params=sorted(KNOWN))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(name: str) -> tuple[dict[str, Any], list[bytes]]:
    """What a file says of its session, and its frames."""
    file = FILES[name].read_bytes()
    about = json.loads(codec.raw_header(file)["__metadata__"]["session"])
    return about, [frame.payload for frame in codec.split(file)]


def test_each_is_known() -> None:
    assert sorted(FILES) == sorted(KNOWN)


def test_it_is_the_session_that_it_was(name: str, tmp_path: Path, database: str | None) -> None:
    about, frames = read(name)
    known = KNOWN[name]
    assert (about["id"], about["title"], len(about["notes"])) == (known["id"], known["title"], known["notes"])
    words = {field: about[field] for field in ("title", "notes", "open")}
    assert name_of(canonical(words), frames).startswith(known["id"])
    with RunLog(tmp_path, database) as log:
        store = SessionStore(log)
        session, _ = store.keep(words, lambda: iter(frames))
        manifest = store.manifest(session)
        assert session == known["id"]
        assert (manifest["steps"], manifest["prompt"]) == (known["steps"], known["prompt"])
        assert list(store.all_frames(session)) == frames
        assert damage_of(store, session) == []


def test_its_frames_are_whole(name: str) -> None:
    _, frames = read(name)
    headers = list(map(codec.header, frames))
    assert [header.seq for header in headers] == list(range(len(frames)))
    assert (headers[0].kind, headers[-1].kind, headers[-1].data["steps"]) == ("open", "close", KNOWN[name]["steps"])
    model = headers[0].data["model"]
    rows = np.zeros(model["layers"], int)
    for header, payload in zip(headers, frames, strict=True):
        if header.kind == "layer":
            attention = codec.tensors(payload)["attention"]
            assert attention.dtype == np.uint8
            assert attention.shape[1] == model["heads"]
            first = header.data["first_layer"]
            rows[first : first + attention.shape[0]] += attention.shape[2]
            # A row's weights sum to 1 as far as their rounding lets them.
            assert np.allclose(decompand(attention).sum(-1), 1, atol=0.05)
    assert set(rows) == {len(codec.token_ids(frames)) - 1}


def test_a_fork_says_where_it_branched_off() -> None:
    opening = codec.header(read("v2-fork")[1][0]).data
    assert opening["parent"]["run"] == codec.header(read("v2")[1][0]).run
    forced = [codec.header(frame).data["token"] for frame in read("v2-fork")[1] if codec.header(frame).kind == "step"]
    assert [token["id"] for token in forced if token.get("forced")] == [opening["parent"]["token"]] == [65]


def test_a_file_of_another_version_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / FOREIGN.name
    path.write_bytes(FOREIGN.read_bytes())
    for read_it in (lambda file: codec.split(file), lambda file: read_file(memoryview(file))):
        with pytest.raises((codec.BadFrame, Refused), match=f"format version 1; .* version {codec.VERSION} alone"):
            read_it(path.read_bytes())
    assert path.read_bytes() == FOREIGN.read_bytes()
