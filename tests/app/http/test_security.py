"""Response headers: who may read what."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

ANYONE = "Access-Control-Allow-Origin"


@pytest.mark.parametrize("path", ["/static/main.js", "/api/sessions/none", "/readyz"])
def test_what_a_shared_run_is_shown_with_can_be_read_from_a_frame_without_an_origin(
    client: FlaskClient, path: str
) -> None:
    with client.get(path, headers={"Origin": "null"}) as response:
        assert response.headers[ANYONE] == "*"


@pytest.mark.parametrize("path", ["/", "/api/runs/none", "/api/runs/none/frames", "/metrics", "/healthz"])
def test_nothing_else_can_be_read_from_another_origin(client: FlaskClient, path: str) -> None:
    assert ANYONE not in client.get(path, headers={"Origin": "null"}).headers


def test_a_session_cannot_be_deleted_from_another_origin(client: FlaskClient) -> None:
    assert ANYONE not in client.delete("/api/sessions/none", headers={"Origin": "null"}).headers


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/socket.io/?EIO=4&transport=polling", {}, 200),
        ("/socket.io/?EIO=3", {}, 400),
        ("/socket.io/?EIO=4&transport=polling&sid=nobody", {}, 400),
        ("/", {"Host": "evil.example"}, 421),
        ("/api/runs/none", {"Host": "evil.example"}, 421),
    ],
)
def test_what_answers_in_the_application_s_place_is_no_page_either(
    app: Flask, path: str, headers: dict[str, str], status: int
) -> None:
    # Without the client that holds answers against the document: this is none of the application's.
    answer = FlaskClient(app, app.response_class).get(path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "'none'" in answer.headers["Content-Security-Policy"]


def test_the_application_s_own_answers_say_each_thing_once(client: FlaskClient) -> None:
    headers = client.get("/").headers
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"):
        assert len(headers.getlist(name)) == 1
    assert "nonce" in headers["Content-Security-Policy"]
