"""`POST /api/workloads`: what is taken, what is refused with the field and the limit, and how its log is read."""

from typing import Any

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


def test_somebody_joins_while_it_is_answered_and_is_cancelled(client: FlaskClient) -> None:
    made = client.post("/api/workloads", json={"requests": [{**ASK, "arrives_ms": 60_000}], "rounds": [ROUND]})
    assert made.status_code == 201, made.text
    going = made.json["id"]
    for path, body, field in (
        ("/api/workloads", {"requests": [{"prompt": "too large"}], "rounds": [ROUND]}, "requests[0]"),
        (f"/api/workloads/{going}/requests", {"prompt": "too large"}, "prompt"),
    ):
        problem(client.post(path, json=body), 422, field)
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
