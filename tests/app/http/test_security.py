"""Response headers: who may read what."""

from __future__ import annotations

import pytest
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
