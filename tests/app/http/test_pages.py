"""The page, its headers, and what watches the server."""

import re

import pytest
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from kvscope.model.log.frames import from_stream, join
from tests.support.over_http import NewClient, bootstrap, finished
from tests.support.stored import log_of
from tests.support.waiting import eventually


def test_the_page_carries_limits_and_version(client: FlaskClient) -> None:
    carried = bootstrap(client.get("/").text)
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


def test_loading_is_told_with_its_progress_and_the_page_is_there(new_client: NewClient) -> None:
    client = new_client(model="load=30", ready=False)
    assert client.get("/").status_code == 200
    assert client.get("/healthz").status_code == 200
    told = eventually(lambda: (body := client.get("/readyz").json)["state"] == "fetching" and body)
    assert {"phase": "fetching", "done": 5, "total": 10, "message": "Fetching the fake"}.items() <= told.items()
    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize(("model", "says"), [("refused", "truncated"), ("broken", "no such kernel")])
def test_a_model_that_cannot_be_had_is_said_once_and_the_page_stays(
    new_client: NewClient, caplog: pytest.LogCaptureFixture, model: str, says: str
) -> None:
    client = new_client(model=model, reload_after_s=0.01, ready=False)
    told = eventually(lambda: (body := client.get("/readyz").json)["state"] == "failed" and body)
    assert says in told["message"]
    eventually(lambda: client.application.extensions["kvscope"].engine.restarts >= 2)
    assert client.get("/").status_code == 200
    assert client.post("/api/runs", json={"prompt": "abc"}).status_code == 503
    assert [says in record.getMessage() for record in caplog.records] == [True]


def test_metrics_count_what_is_stored(new_client: NewClient) -> None:
    client = new_client()
    finished(client)
    metrics = dict(line.split() for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    counted = {"runs_stored": "1", "frames_stored": "8", "runs_open": "0", "engine_ready": "1"}
    assert {name: metrics[f"kvscope_{name}"] for name in counted} == counted


def test_recorded_runs_are_runs_like_any_other(new_client: NewClient, settings: Settings) -> None:
    settings.recordings_dir.mkdir()
    recorded = [frame.payload for frame in log_of("recorded", 3, closed=True)]
    session = join(recorded)
    (settings.recordings_dir / "one.safetensors").write_bytes(session)
    (settings.recordings_dir / "damaged.safetensors").write_bytes(session[:500])
    for _ in range(2):
        client = new_client(ready=False)
        assert bootstrap(client.get("/").text)["examples"] == [{"id": "recorded", "title": "x", "look": None}]
        assert list(from_stream(client.get("/api/runs/recorded/frames").data)) == recorded
