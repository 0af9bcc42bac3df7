"""The engines of a server, listed, added and drained over HTTP."""

from flask.testing import FlaskClient

from tests.support.over_http import NewClient, bearer, finished
from tests.support.waiting import eventually


def names(client: FlaskClient) -> list[str]:
    return [engine["name"] for engine in client.get("/api/engines").json["engines"]]


def test_engines_are_added_and_drained_while_runs_go_on(new_client: NewClient) -> None:
    client = new_client()
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


def test_only_the_operator_manages_engines(new_client: NewClient) -> None:
    elsewhere, client = {"REMOTE_ADDR": "203.0.113.7"}, new_client()
    assert client.get("/api/engines", environ_base=elsewhere).status_code == 403
    assert client.post("/api/engines", environ_base=elsewhere).status_code == 403
    guarded = new_client(token="a-long-secret", ready=False)
    assert guarded.post("/api/engines").status_code == 401
    assert guarded.get("/api/engines", environ_base=elsewhere, headers=bearer("a-long-secret")).status_code == 200
