"""What the server says that it holds."""

import os
from collections.abc import Callable
from dataclasses import replace

from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.over_http import finished


def test_it_says_what_each_process_holds(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(settings).test_client()
    run = finished(client)
    said = client.get("/api/state").json
    assert said["web"]["pid"] == os.getpid()
    assert said["engine"]["pid"] != os.getpid()
    assert said["engine"]["state"] == "ready"
    assert 0 < said["engine"]["load_s"] < said["engine"]["uptime_s"] + 0.001
    for process in (said["web"], said["engine"]):
        assert process["resident_bytes"] > 1_000_000
    cache = said["cache"]
    assert cache["bytes"] == cache["blocks"] * cache["block_size"] * cache["position_bytes"]
    assert said["weights"]["model"] == "fake"
    stored = client.get(f"/api/runs/{run}").json
    log = said["log"]
    assert (log["runs"], log["open_runs"], log["bytes"]) == (1, 0, stored["bytes"])
    assert log["disk_bytes"] > log["bytes"]
    assert run not in str(said)


def test_without_an_engine_it_says_why_and_what_the_log_holds(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    client = make_app(replace(settings, model="load=30"), ready=False).test_client()
    said = client.get("/api/state").json
    assert said["engine"]["state"] in ("loading", "fetching")
    assert said["engine"]["message"]
    assert said["engine"]["load_s"] is None
    assert said["weights"] is said["cache"] is said["pace"] is None
    assert said["log"]["runs"] == 0


def test_pages_of_other_sites_may_not_ask(client: FlaskClient) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "http://elsewhere.example"}
    assert client.get("/api/state", headers=foreign).status_code == 403
