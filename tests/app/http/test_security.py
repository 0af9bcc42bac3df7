"""Response headers: who may read what."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

ANYONE = "Access-Control-Allow-Origin"


def test_only_what_a_shared_run_is_shown_with_can_be_read_from_a_frame_without_an_origin(client: FlaskClient) -> None:
    nowhere = {"Origin": "null"}
    for path in ("/static/main.js", "/api/sessions/none", "/readyz", "/api/code"):
        with client.get(path, headers=nowhere) as response:
            assert response.headers[ANYONE] == "*", path
    for path in ("/", "/api/runs/none", "/api/runs/none/frames", "/metrics", "/healthz"):
        assert ANYONE not in client.get(path, headers=nowhere).headers, path
    assert ANYONE not in client.delete("/api/sessions/none", headers=nowhere).headers


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


@pytest.mark.parametrize(
    "path", ["none", "by-hand/a", "by-hand/none", "memory", "serving", "learn/01-what-is-a-token", "learn/none"]
)
def test_what_is_framed_elsewhere_can_be_framed_by_an_isolated_page_and_is_not_read(
    client: FlaskClient, path: str
) -> None:
    headers = client.get(f"/embed/{path}", headers={"Origin": "null"}).headers
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "frame-ancestors" not in headers["Content-Security-Policy"]
    assert ANYONE not in headers


@pytest.mark.parametrize("path", ["/", "/s/none", "/gallery", "/memory", "/by-hand/a", "/api/runs/none"])
def test_nothing_else_is_loaded_by_other_sites(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    assert "Cross-Origin-Embedder-Policy" not in headers
