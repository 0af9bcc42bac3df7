"""Several models over HTTP: their list, runs of each, and refusals."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.support.fake_service import write_fake
from tests.support.over_http import NewClient, derived, finished, problem, start
from tests.support.waiting import eventually

GEMMA = "gemma-3-270m"


@pytest.fixture
def client(new_client: NewClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    """Of a server with two models and one whose terms nobody has accepted."""
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
    one, two = write_fake(tmp_path, "one"), write_fake(tmp_path, "two", size=1000)
    return new_client(model=one, more_models=(two, GEMMA))


def load(client: FlaskClient, name: str) -> None:
    assert client.post("/api/models/load", json={"model": name}).status_code == 202
    eventually(lambda: client.get(f"/readyz?model={name}").status_code == 200)


def test_models_are_listed_with_what_is_known_of_each(client: FlaskClient) -> None:
    said = client.get("/api/models").json
    one, two, gemma = said["models"]
    assert (one["name"], one["state"], one["model"]["layers"]) == ("one", "ready", 2)
    assert one["measured"]
    assert (two["name"], two["state"], two["bytes"], two["model"]) == ("two", "unloaded", 1000, None)
    assert not two["measured"]
    assert two["memory"] > 1000
    assert (gemma["parameters"], gemma["is_here"]) == (268_098_176, False)
    assert "Gemma" in gemma["licence"]
    assert "--accept-terms gemma" in gemma["refusal"]
    assert said["memory"] > two["memory"]


def test_a_run_of_a_model_that_is_not_loaded_loads_it(client: FlaskClient) -> None:
    asked = {"prompt": "abc", "model": "two"}
    refused = client.post("/api/runs", json=asked)
    assert "two" in problem(refused, 503)["detail"]
    assert "Retry-After" in refused.headers
    eventually(lambda: client.get("/readyz?model=two").status_code == 200)
    run = finished(client, model="two")
    assert client.get(f"/api/runs/{run}").json["model"]["name"] == "two"
    assert client.get(f"/api/runs/{start(client)}").json["model"]["name"] == "one"


def test_what_is_asked_of_a_run_goes_to_its_model(client: FlaskClient) -> None:
    load(client, "two")
    run = finished(client, model="two")
    assert client.get(f"/api/runs/{run}/lens?step=0").status_code == 200
    for how, body in (
        ("fork", {"position": 3, "token": 7}),
        ("twin", {"cache": "none"}),
        ("beam", {"step": 0, "beams": 1, "length": 2}),
    ):
        made = derived(client, run, how, **body)
        assert client.get(f"/api/runs/{made}").json["model"]["name"] == "two"
    engines = {engine["model"]: engine["name"] for engine in client.get("/api/engines").json["engines"]}
    assert sorted(engines) == ["one", "two"]


def test_the_vocabulary_is_that_of_the_model_that_is_named(client: FlaskClient) -> None:
    asked = {"prompt": "abc", "model": "two"}
    assert "two is not loaded" in problem(client.post("/api/tokens", json=asked), 503)["detail"]
    load(client, "two")
    assert client.post("/api/tokens", json=asked).json["count"] == 3
    assert client.get("/api/embedding?token=1&model=two").status_code == 200
    problem(client.get("/api/embedding?token=1&model=three"), 422, "model")


@pytest.mark.parametrize(
    ("name", "says"), [("other", "this server has one, two, gemma-3-270m"), (GEMMA, "accept them with")]
)
def test_a_model_that_cannot_be_had_is_refused(client: FlaskClient, name: str, says: str) -> None:
    assert says in problem(client.post("/api/runs", json={"prompt": "abc", "model": name}), 422, "model")["detail"]
    assert says in problem(client.post("/api/models/load", json={"model": name}), 422, "model")["detail"]
    assert client.post("/api/runs", json={"prompt": "abc"}).status_code == 201


def test_a_run_of_a_model_that_is_not_served_is_not_computed_again(client: FlaskClient, new_client: NewClient) -> None:
    load(client, "two")
    run = finished(client, model="two")
    client.application.extensions["kvscope"].close()
    detail = problem(new_client().get(f"/api/runs/{run}/lens?step=0"), 409, "model")["detail"]
    assert detail == "The run was computed by two; this server has loaded fake."
