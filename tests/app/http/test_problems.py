"""What goes wrong, as problem documents."""

import logging

import psycopg
import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.support.asking import BODIES
from tests.support.outage import Fault, away, crowded
from tests.support.over_http import finished, problem, start


@pytest.mark.parametrize("fault", [away, crowded])
def test_while_the_database_is_away_whatever_needs_it_is_to_come_back_later(
    client: FlaskClient, app: Flask, fault: Fault
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
        about = [f"/api/runs/{{run}}/{name}" for name in ("share", "control", "fork", "twin")]
        answers += [client.post(path.format(run=run), json=BODIES.get(path, {"title": "another"})) for path in about]
        answers += [client.post("/api/runs", json={"prompt": "abc"})]
        answers += [client.delete(f"/api/sessions/{session}", headers={"Authorization": "Bearer x"})]
        for answer in answers:
            assert "cannot be" in problem(answer, 503)["detail"]
            assert int(answer.headers["Retry-After"]) > 0
        assert client.get("/readyz").status_code == client.get("/healthz").status_code == 200
    assert client.get(f"/api/runs/{run}").json["reason"] == "length"
    assert client.get(f"/api/runs/{start(client)}").status_code == 200


def test_what_a_database_says_of_itself_is_for_the_log_alone(
    client: FlaskClient, app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    run, parts = finished(client), app.extensions["kvscope"]
    parts.runs._cache.forget(run)
    said = 'connection to server at "10.1.2.3", port 5432 failed: no password supplied for user "kv"'
    with away(parts.runs.engine, psycopg.OperationalError(said)), caplog.at_level(logging.ERROR):
        for answer in (client.get(f"/api/runs/{run}"), client.post("/api/runs", json={"prompt": "abc"})):
            assert not {"10.1.2.3", "5432", "kv", "SELECT", "INSERT"} & set(problem(answer, 503)["detail"].split('"'))
            assert "failed" not in answer.text
    assert any(said in message for message in caplog.messages)
