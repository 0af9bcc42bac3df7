"""The memory calculator over HTTP: what its page is given, and the measuring of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median

from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.over_http import bootstrap, problem, start


def test_the_page_has_the_models_and_gpus_and_may_be_framed_below_embed_only(client: FlaskClient) -> None:
    alone, framed = client.get("/memory"), client.get("/embed/memory")
    assert "frame-ancestors 'self'" in alone.headers["Content-Security-Policy"]
    assert "frame-ancestors *" in framed.headers["Content-Security-Policy"]
    given = bootstrap(alone.text)
    assert {"llama-3-8b", "deepseek-v3"} <= {model["id"] for model in given["models"]}
    assert "h100-sxm" in {gpu["id"] for gpu in given["gpus"]}
    assert (given["framed"], bootstrap(framed.text)["framed"]) == (False, True)
    assert given["session"] is None, "no recordings here"


def test_the_machine_is_measured_and_the_best_take_counts(client: FlaskClient) -> None:
    measured = client.post("/api/measure", json={}).json
    for part, amount in (("bandwidth", "bytes"), ("peak", "flops")):
        found = measured[part]
        assert found["per_second"] == found[amount] / (median(found["takes_ms"]) / 1000)


def test_while_a_run_is_computed_the_machine_is_not_measured(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    client = make_app(replace(settings, model="delay=0.05")).test_client()
    run = start(client, max_new_tokens=40)
    refused = problem(client.post("/api/measure", json={}), 409, "run")
    assert "A run is being computed" in refused["detail"]
    client.post(f"/api/runs/{run}/control", json={"action": "pause"})
    assert client.post("/api/measure", json={}).status_code == 200, "a paused run leaves the machine alone"


def test_measuring_counts_as_a_run_against_the_limit_of_a_client(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    client = make_app(replace(settings, runs_per_minute=1)).test_client()
    elsewhere = {"REMOTE_ADDR": "203.0.113.7"}
    assert client.post("/api/measure", json={}, environ_base=elsewhere).status_code == 200
    problem(client.post("/api/measure", json={}, environ_base=elsewhere), 429)


def test_a_server_with_a_token_asks_for_it(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(replace(settings, token="a-token-of-some-length")).test_client()
    problem(client.post("/api/measure", json={}), 401)
    headers = {"Authorization": "Bearer a-token-of-some-length"}
    assert client.post("/api/measure", json={}, headers=headers).status_code == 200


def test_a_page_elsewhere_cannot_have_it_measured(client: FlaskClient) -> None:
    problem(client.post("/api/measure"), 415, "Content-Type")
