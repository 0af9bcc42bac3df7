"""The engines of a server, listed, added and drained over HTTP."""

from collections.abc import Callable
from dataclasses import replace

from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.over_http import finished
from tests.support.waiting import eventually


def names(client: FlaskClient) -> list[str]:
    return [engine["name"] for engine in client.get("/api/engines").json["engines"]]


def test_engines_are_added_and_drained_while_runs_go_on(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(settings).test_client()
    first, refused = names(client)[0], client.post("/api/engines/engine-1/drain")
    assert (refused.status_code, names(client)) == (409, [first])
    added = client.post("/api/engines")
    assert added.status_code == 201
    assert added.json["engines"][0]["state"] == "ready"
    eventually(lambda: all(engine["state"] == "ready" for engine in client.get("/api/engines").json["engines"]))
    assert client.post(f"/api/engines/{first}/drain").status_code == 202
    eventually(lambda: names(client) == ["engine-2"])
    finished(client)
    state = client.get("/api/state").json
    assert [engine["name"] for engine in state["engines"]] == ["engine-2"]
    assert state["engine"] == {**state["engines"][0], "uptime_s": state["engine"]["uptime_s"]}
    assert 'kvscope_engine_up{engine="engine-2"} 1' in client.get("/metrics").text
    assert client.post("/api/engines/engine-9/drain").status_code == 404


def test_only_the_operator_manages_engines(make_app: Callable[..., Flask], settings: Settings) -> None:
    elsewhere = {"REMOTE_ADDR": "203.0.113.7"}
    client = make_app(settings).test_client()
    assert client.get("/api/engines", environ_base=elsewhere).status_code == 403
    assert client.post("/api/engines", environ_base=elsewhere).status_code == 403
    guarded = make_app(replace(settings, token="a-long-secret"), ready=False).test_client()
    assert guarded.post("/api/engines").status_code == 401
    asked = guarded.get("/api/engines", environ_base=elsewhere, headers={"Authorization": "Bearer a-long-secret"})
    assert asked.status_code == 200
