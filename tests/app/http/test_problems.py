"""What goes wrong, as problem documents."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.support.outage import away, crowded
from tests.support.over_http import finished, problem, start


@pytest.mark.parametrize("fault", [away, crowded])
def test_while_the_database_is_away_whatever_needs_it_is_to_come_back_later(
    client: FlaskClient, app: Flask, fault: type[away]
) -> None:
    run = finished(client)
    session = client.post(f"/api/runs/{run}/share", json={"title": "kept"}).json["id"]
    parts = app.extensions["kvscope"]
    parts.runs._cache.forget(run)
    asked = [f"/api/runs/{run}{rest}" for rest in ("", "/frames", "/family", "/share", "/head?step=0&layer=0&head=0")]
    asked += [f"/api/sessions/{session}{rest}" for rest in ("", "/frames", ".safetensors", ".html", ".png")]
    asked += ["/metrics", f"/s/{session}", f"/oembed?url=http://localhost/s/{session}"]
    with fault(parts.runs.engine):
        answers = [client.get(path) for path in asked]
        answers += [
            client.post(f"/api/runs/{run}{rest}", json=body)
            for rest, body in {
                "/share": {"title": "another"},
                "/control": {"action": "stop"},
                "/fork": {"position": 3, "token": 1},
                "/twin": {"cache": "none"},
            }.items()
        ]
        answers += [client.post("/api/runs", json={"prompt": "abc"})]
        answers += [client.delete(f"/api/sessions/{session}", headers={"Authorization": "Bearer x"})]
        for answer in answers:
            assert "cannot be" in problem(answer, 503)["detail"]
            assert int(answer.headers["Retry-After"]) > 0
        assert client.get("/readyz").status_code == client.get("/healthz").status_code == 200
    assert client.get(f"/api/runs/{run}").json["reason"] == "length"
    assert client.get(f"/api/runs/{start(client)}").status_code == 200
