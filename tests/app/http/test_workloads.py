"""`POST /api/workloads`: what is taken, what is refused with the field and the limit, and how its log is read."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from kvscope.model.log.frames import from_stream, header
from tests.support.over_http import control, ended, problem

ROUND: dict[str, Any] = {}
ASK = {"prompt": "abc"}


def test_a_workloads_log_is_read_as_a_runs_is(client: FlaskClient) -> None:
    body = {"system": "be brief", "requests": [ASK, {**ASK, "arrives_ms": 5}], "rounds": [{"chunk": 16}, ROUND]}
    made = client.post("/api/workloads", json=body)
    assert made.status_code == 201, made.text
    run = ended(client, made.json["id"])
    assert made.json["url"] == f"/serving?run={run}"
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
    large = {"prompt": "too large"}
    problem(client.post("/api/workloads", json={"requests": [large], "rounds": [ROUND]}), 422, "requests[0]")
    problem(client.post(f"/api/workloads/{going}/requests", json=large), 422, "prompt")
    joined = client.post(f"/api/workloads/{going}/requests", json=ASK)
    assert (joined.status_code, joined.json) == (201, {"id": going, "request": 1})
    assert client.delete(f"/api/workloads/{going}/requests/1").status_code == 204
    problem(client.delete(f"/api/workloads/{going}/requests/2"), 404, "request")
    control(client, going, "stop")
    ended(client, going)
    late = client.post(f"/api/workloads/{going}/requests", json=ASK)
    for response in (late, client.delete(f"/api/workloads/{going}/requests/1")):
        assert "has ended" in problem(response, 409, "run")["detail"]


@pytest.mark.parametrize(
    ("settings", "field", "limit"),
    [
        ({"at_once": 4, "budget": 3}, "budget", [4, 8192]),
        ({"at_once": 4, "budget": 11, "draft": {"tokens": 2}}, "budget", [12, 8192]),
        ({"budget": 0}, "budget", [1, 8192]),
        ({"prefix": "rows"}, "prefix", ["tokens", "blocks"]),
        ({"prefix": "blocks", "sharing": False}, "sharing", None),
        ({"prefix": "blocks", "contiguous": {"new_tokens": 8}}, "contiguous", None),
    ],
)
def test_settings_that_do_not_go_together_are_refused_at_one_of_them(
    client: FlaskClient, settings: dict[str, Any], field: str, limit: object
) -> None:
    refusal = client.post("/api/workloads", json={"requests": [ASK], "rounds": [{}, settings]})
    assert problem(refusal, 422, f"rounds[1].{field}").get("limit") == limit
