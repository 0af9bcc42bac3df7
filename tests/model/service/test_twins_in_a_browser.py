"""A twin without a cache, computed by the browser's engine, is the one that the server computes."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from kvscope.model.api import TwinRequest
from kvscope.model.log import frames
from kvscope.model.service import load_service
from kvscope.model.service.for_browser import load_for_browser
from tests.support.grouped import write_grouped
from tests.support.node import answer_of
from tests.support.tiny_runs import payloads, request, run_to_end
from tests.support.wasm import native_code

SCRIPT = Path(__file__).parents[2] / "static" / "engine" / "runs-of.js"
PROMPT = "The cat sat on the mat and looked."
TOKENS = 20
SAME = ("step", "phase", "position", "flops", "rows_computed")


def test_a_twin_without_a_cache_is_the_servers(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_grouped(path)
    service = load_service(str(path), "cpu", "float32", lambda progress: None)
    original = payloads(run_to_end(service, request(prompt=PROMPT, max_new_tokens=TOKENS)))
    log = service.twin(TwinRequest("twin", "a", "none", tuple(without_parts(original))))
    while service.busy:
        log += service.advance()
    theirs = payloads(log)
    ours = [theirs[0], *in_the_browser(path, tmp_path, original)]
    assert [frames.header(each).kind for each in ours] == [frames.header(each).kind for each in theirs]
    for own, other in zip(steps_of(ours), steps_of(theirs), strict=True):
        assert own.keys() == other.keys()
        assert {name: own[name] for name in SAME} == {name: other[name] for name in SAME}
        assert {**own["kv"], "block_table": None} == {**other["kv"], "block_table": None}
        assert own["token"]["id"] == other["token"]["id"]
        assert own["token"]["prob"] == pytest.approx(other["token"]["prob"], abs=1e-3)


def without_parts(log: list[bytes]) -> list[bytes]:
    return [payload for payload in log if frames.header(payload).kind in ("open", "step")]


def steps_of(log: list[bytes]) -> list[dict[str, Any]]:
    return [frames.header(payload).data for payload in log if frames.header(payload).kind == "step"]


def in_the_browser(model: Path, folder: Path, original: list[bytes]) -> list[bytes]:
    """The frames of a twin after its first one."""
    packed = load_for_browser(str(model), native_code(), lambda _: None)
    for name, read in packed.files.items():
        (folder / name).write_bytes(read())
    opened = frames.header(original[0]).data
    ids = [token["id"] for token in opened["tokens"]]
    twin = {"run": "twin", "seq": 1, "ids": ids, "prompt": len(ids), "cached": False}
    asked = [twin | {"settings": opened["sampling"], "newTokens": len(steps_of(original))}]
    answer = answer_of(SCRIPT, {"folder": str(folder), "description": packed.description, "requests": asked})
    return [b64decode(payload) for payload in answer["twin"]]
