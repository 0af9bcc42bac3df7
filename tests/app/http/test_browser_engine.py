"""The model of a server for its visitors' browsers: described, sent by file, not offered where it cannot be."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.questions import Questions
from kvscope.model.api import Refused
from kvscope.model.data_script import bytes_script, stored_script
from tests.support.over_http import NewClient, problem

MODEL = "/api/engine/model.js"
NAME = "0123456789abcdef"
HELD = re.compile(r'\(self\.kvscopeData \?\?= \{\}\)\["(.*?)"\] = JSON\.parse\((.*)\);\n')


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))


def stored(name: str = NAME) -> bytes:
    """The script that is stored under this name."""
    script, path = bytes_script(f"/api/engine/{name}.js", b"weights"), stored_script(f"{name}.js")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(script))
    return script


def test_the_description_is_a_script_of_a_few_kilobytes(client: FlaskClient) -> None:
    answer = client.get(MODEL)
    match = HELD.fullmatch(answer.text)
    assert match
    assert match[1] == MODEL
    assert json.loads(json.loads(match[2]))["model"]["name"] == "fake"
    assert (answer.mimetype, answer.headers["Cache-Control"]) == ("text/javascript", "no-cache")
    again = client.get(MODEL, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_the_engine_packs_the_model_once_and_again_if_its_files_are_gone(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, call = list[str](), Pool.call

    def calls(pool: Pool, method: str, *arguments: Any, **options: Any) -> Any:
        asked.append(method)
        return call(pool, method, *arguments, **options)

    monkeypatch.setattr(Pool, "call", calls)
    for name in ("details", "wasm"):
        stored(name)
    assert client.get(MODEL).status_code == 200
    asked.clear()
    assert client.get(MODEL).status_code == 200
    assert asked == []
    stored_script("wasm.js").unlink()
    assert client.get(MODEL).status_code == 200
    assert asked == ["browser_model"]


def test_a_file_is_sent_as_it_is_stored_and_may_be_kept_for_ever(client: FlaskClient) -> None:
    script = stored()
    answer = client.get(f"/api/engine/{NAME}.js", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.data) == script
    plain = client.get(f"/api/engine/{NAME}.js", headers={"Accept-Encoding": "identity"})
    assert plain.data == script
    assert "Content-Encoding" not in plain.headers
    for each in (answer, plain):
        assert each.mimetype == "text/javascript"
        assert each.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert each.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("name", [NAME, "..%2Faccepted-terms", "model2", NAME.upper(), "0" * 15])
def test_nothing_else_is_sent(client: FlaskClient, name: str) -> None:
    stored("model2")
    stored("0" * 15)
    answer = client.get(f"/api/engine/{name}.js")
    assert answer.status_code == 404
    if "%" not in name:
        assert "Load the page again." in problem(answer, 404, "name")["detail"]


def test_a_server_that_does_not_offer_its_model_says_so(new_client: NewClient) -> None:
    client = new_client(ready=False, browser_engine="off")
    stored()
    assert "--browser-engine" in problem(client.get(MODEL), 404)["detail"]
    problem(client.get(f"/api/engine/{NAME}.js"), 404, "name")


def test_a_model_that_no_browser_can_run_is_a_404_with_the_reason(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Refused("model", "fake cannot run in a browser: native code does not implement it.", status=404)

    client = new_client(ready=False)
    monkeypatch.setattr(Pool, "call", refuse)
    assert "cannot run in a browser" in problem(client.get(MODEL), 404, "model")["detail"]


def test_while_the_model_is_loading_the_description_is_not_there_yet(new_client: NewClient) -> None:
    answer = new_client(ready=False, model="load=20").get(MODEL)
    problem(answer, 503)
    assert "Retry-After" in answer.headers


@pytest.mark.parametrize("setting", ["off", "offer", "default"])
def test_pages_say_whether_they_may_run_the_model_and_embeds_may_not(new_client: NewClient, setting: str) -> None:
    client = new_client(ready=False, browser_engine=setting)

    def said(path: str) -> str | None:
        match = re.search(r'<html[^>]* data-engine="(\w*)"', client.get(path).text)
        return match[1] if match else None

    assert {said(path) for path in ("/", "/serving", "/learn")} == {None if setting == "off" else setting}
    assert said("/embed/by-hand/a") is None


def test_only_the_worker_may_compile_webassembly(client: FlaskClient) -> None:
    def policy(path: str) -> str:
        with client.get(path) as answer:
            return answer.headers["Content-Security-Policy"]

    assert "'wasm-unsafe-eval'" in policy("/static/engine/worker.js").partition("script-src ")[2].partition(";")[0]
    for path in ("/", "/embed/by-hand/a", "/static/main.js", "/api/code", MODEL):
        assert "unsafe" not in policy(path), path


def test_while_the_engine_starts_the_model_is_offered_as_it_was_packed_last(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starts(*_arguments: Any, **_options: Any) -> Any:
        raise EngineUnavailable("The model is loading.")

    before = client.get(MODEL)
    monkeypatch.setattr(Questions, "ask", starts)
    assert client.get(MODEL).status_code == 503, "its files are not stored"
    for name in ("details", "wasm"):
        stored(name)
    assert client.get(MODEL).data == before.data
