"""`POST /api/workloads`: what is taken, what is refused with the field and the limit, and how its log is read."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from kvscope.model.log.frames import from_stream, header
from tests.support.over_http import problem
from tests.support.waiting import eventually

ROUND: dict[str, Any] = {}
ASK = {"prompt": "abc"}


def test_a_workloads_log_is_read_as_a_runs_is(client: FlaskClient) -> None:
    body = {"system": "be brief", "requests": [ASK, {**ASK, "arrives_ms": 5}], "rounds": [{"chunk": 16}, ROUND]}
    made = client.post("/api/workloads", json=body)
    assert made.status_code == 201, made.text
    run = made.json["id"]
    assert made.json["url"] == f"/serving?run={run}"
    eventually(lambda: client.get(f"/api/runs/{run}").json["status"] == "closed")
    kinds = [header(payload).kind for payload in from_stream(client.get(f"/api/runs/{run}/frames").data)]
    assert kinds == ["open", "pass", "round", "pass", "round", "close"]
    status = client.get(f"/api/runs/{run}").json
    assert (status["study"]["kind"], status["study"]["system"]) == ("serving", "be brief")
    assert client.get(f"/?run={run}").headers["Location"] == f"./serving?run={run}"
    assert client.get("/?run=nobody").status_code == 200
    problem(client.get(f"/api/runs/{run}/head?step=0&layer=0&head=0"), 409, "run")
    problem(client.post(f"/api/runs/{run}/fork", json={"position": 1, "token": 1}), 409, "run")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"requests": [], "rounds": [ROUND]}, "requests"),
        ({"requests": [ASK] * 25, "rounds": [ROUND]}, "requests"),
        ({"requests": [ASK], "rounds": []}, "rounds"),
        ({"requests": [ASK], "rounds": [ROUND] * 6}, "rounds"),
        ({"requests": [{"prompt": ""}], "rounds": [ROUND]}, "requests[0].prompt"),
        ({"requests": [{**ASK, "max_new_tokens": 65}], "rounds": [ROUND]}, "requests[0].max_new_tokens"),
        ({"requests": [ASK, {**ASK, "arrives_ms": -1}], "rounds": [ROUND]}, "requests[1].arrives_ms"),
        ({"requests": [{**ASK, "arrives_ms": 1.5}], "rounds": [ROUND]}, "requests[0].arrives_ms"),
        ({"requests": [{**ASK, "cancel_ms": 60_001}], "rounds": [ROUND]}, "requests[0].cancel_ms"),
        ({"requests": [ASK], "rounds": [{"at_once": 17}]}, "rounds[0].at_once"),
        ({"requests": [ASK], "rounds": [{"chunk": 0}]}, "rounds[0].chunk"),
        ({"requests": [ASK], "rounds": [{"blocks": 257}]}, "rounds[0].blocks"),
        ({"requests": [ASK], "rounds": [{"batching": "dynamic"}]}, "rounds[0].batching"),
        ({"requests": [ASK], "rounds": [ROUND], "system": "a" * 2001}, "system"),
        ({"requests": [{"prompt": "too large"}], "rounds": [ROUND]}, "requests[0]"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(client: FlaskClient, body: dict[str, Any], field: str) -> None:
    response = client.post("/api/workloads", json=body)
    problem(response, response.status_code, field)
    assert response.status_code in (413, 422)


@pytest.fixture
def going(client: FlaskClient) -> str:
    """A workload that goes on until it is stopped."""
    made = client.post("/api/workloads", json={"requests": [{**ASK, "arrives_ms": 60_000}], "rounds": [ROUND]})
    assert made.status_code == 201, made.text
    return str(made.json["id"])


def test_somebody_joins_while_it_is_answered_and_is_cancelled(client: FlaskClient, going: str) -> None:
    joined = client.post(f"/api/workloads/{going}/requests", json=ASK)
    assert (joined.status_code, joined.json) == (201, {"id": going, "request": 1})
    assert client.delete(f"/api/workloads/{going}/requests/1").status_code == 204
    problem(client.delete(f"/api/workloads/{going}/requests/2"), 404, "request")
    client.post(f"/api/runs/{going}/control", json={"action": "stop"})
    eventually(lambda: client.get(f"/api/runs/{going}").json["status"] == "closed")
    for response in (
        client.post(f"/api/workloads/{going}/requests", json=ASK),
        client.delete(f"/api/workloads/{going}/requests/1"),
    ):
        problem(response, 409, "run")
        assert "has ended" in response.json["detail"]


@pytest.mark.parametrize(
    ("body", "field", "limit"),
    [
        ({"prompt": ""}, "prompt", None),
        ({**ASK, "max_new_tokens": 65}, "max_new_tokens", 64),
        ({**ASK, "retry_of": 24}, "retry_of", None),
        ({"prompt": "too large"}, "prompt", 8),
    ],
)
def test_who_cannot_join_is_told_why(
    client: FlaskClient, going: str, body: dict[str, Any], field: str, limit: int | None
) -> None:
    response = client.post(f"/api/workloads/{going}/requests", json=body)
    problem(response, 422, field)
    assert limit is None or str(limit) in response.json["detail"]


def test_nobody_joins_what_there_is_not(client: FlaskClient) -> None:
    assert client.post("/api/workloads/nothing/requests", json=ASK).status_code == 404
    assert client.delete("/api/workloads/nothing/requests/0").status_code == 404
