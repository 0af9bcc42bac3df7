"""The page, its headers, and what watches the server."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.over_http import finished
from tests.support.stored import log_of
from tests.support.waiting import eventually


def bootstrap(client: FlaskClient) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="bootstrap">(.*?)</script>', client.get("/").text, re.S)
    assert match
    parsed: dict[str, Any] = json.loads(match[1])
    return parsed


def test_the_page_carries_limits_and_version(client: FlaskClient) -> None:
    carried = bootstrap(client)
    limits = carried["limits"]
    assert (limits["run"]["temperature"], limits["share"]["title"], limits["keep_days"]) == ([0, 5], [0, 200], 90)
    assert carried["version"]
    assert carried["examples"] == []


def test_inline_scripts_carry_this_responses_nonce(client: FlaskClient) -> None:
    first, second = client.get("/"), client.get("/")
    nonces = [re.search(r"'nonce-([^']+)'", page.headers["Content-Security-Policy"])[1] for page in (first, second)]  # type: ignore[index]
    assert nonces[0] != nonces[1]
    assert f'type="importmap" nonce="{nonces[0]}"' in first.text
    assert "unsafe-inline" not in first.headers["Content-Security-Policy"].split("script-src")[1].split(";")[0]


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/runs/nobody", "/static/importmap.json"])
def test_every_response_forbids_sniffing_and_sets_no_cookie(client: FlaskClient, path: str) -> None:
    response = client.get(path)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in response.headers
    response.close()


def test_ready_says_which_model(client: FlaskClient) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json["state"] == "ready"
    assert response.json["model"]["name"] == "fake"
    assert response.json["compiling"] is False
    # All tests share this application, and the fake says otherwise from its first run on.
    eventually(lambda: client.get("/readyz").json["compiled"] in ("compiled", "no longer compiled"))
    assert client.get("/healthz").json["status"] == "ok"


def test_loading_is_told_with_its_progress_and_the_page_is_there(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    client = make_app(replace(settings, model="load=30"), ready=False).test_client()
    assert client.get("/").status_code == 200
    assert client.get("/healthz").status_code == 200
    told = eventually(lambda: (body := client.get("/readyz").json)["state"] == "fetching" and body)
    assert (told["phase"], told["done"], told["total"]) == ("fetching", 5, 10)
    assert told["message"] == "Fetching the fake"
    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize(("model", "says"), [("refused", "truncated"), ("broken", "no such kernel")])
def test_a_model_that_cannot_be_had_is_said_once_and_the_page_stays(
    make_app: Callable[..., Flask], settings: Settings, caplog: pytest.LogCaptureFixture, model: str, says: str
) -> None:
    app = make_app(replace(settings, model=model, reload_after_s=0.01), ready=False)
    client = app.test_client()
    told = eventually(lambda: (body := client.get("/readyz").json)["state"] == "failed" and body)
    assert says in told["message"]
    eventually(lambda: app.extensions["kvscope"].engine.restarts >= 2)
    assert client.get("/").status_code == 200
    response = client.post("/api/runs", json={"prompt": "abc"})
    assert response.status_code == 503
    assert [says in record.getMessage() for record in caplog.records] == [True]


def test_metrics_count_what_is_stored(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(settings).test_client()
    finished(client)
    metrics = dict(line.split() for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    assert metrics["kvscope_runs_stored"] == "1"
    assert metrics["kvscope_frames_stored"] == "8"
    assert metrics["kvscope_runs_open"] == "0"
    assert metrics["kvscope_engine_ready"] == "1"


def test_recorded_runs_are_runs_like_any_other(make_app: Callable[..., Flask], settings: Settings) -> None:
    from kvscope.model.log.frames import from_stream, join, split

    settings.recordings_dir.mkdir()
    session = join(frame.payload for frame in log_of("recorded", 3, closed=True))
    (settings.recordings_dir / "one.safetensors").write_bytes(session)
    (settings.recordings_dir / "damaged.safetensors").write_bytes(session[:500])
    for _ in range(2):
        client = make_app(settings, ready=False).test_client()
        assert bootstrap(client)["examples"] == [{"id": "recorded", "title": "x", "look": None}]
        payloads = list(from_stream(client.get("/api/runs/recorded/frames").data))
        assert [frame.payload for frame in split(join(payloads))] == [frame.payload for frame in split(session)]
        assert len(payloads) == 8
