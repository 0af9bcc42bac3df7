"""What the server says that it holds."""

import os

from tests.support.over_http import NewClient, finished


def test_it_says_what_each_process_holds(new_client: NewClient) -> None:
    client = new_client()
    run = finished(client)
    said = client.get("/api/state").json
    assert said["web"]["pid"] == os.getpid()
    assert said["engine"]["pid"] != os.getpid()
    assert said["engine"]["state"] == "ready"
    assert 0 < said["engine"]["load_s"] < said["engine"]["uptime_s"] + 0.001
    assert min(said[process]["resident_bytes"] for process in ("web", "engine")) > 1_000_000
    cache = said["cache"]
    assert cache["bytes"] == cache["blocks"] * cache["block_size"] * cache["position_bytes"]
    assert said["weights"]["model"] == "fake"
    log, size = said["log"], client.get(f"/api/runs/{run}").json["bytes"]
    assert (log["runs"], log["open_runs"], log["bytes"]) == (1, 0, size)
    assert log["disk_bytes"] > log["bytes"]
    assert run not in str(said)


def test_without_an_engine_it_says_why_and_what_the_log_holds(new_client: NewClient) -> None:
    said = new_client(model="load=30", ready=False).get("/api/state").json
    assert said["engine"]["state"] in ("loading", "fetching")
    assert said["engine"]["message"]
    assert said["engine"]["load_s"] is None
    assert said["weights"] is said["cache"] is said["pace"] is None
    assert said["log"]["runs"] == 0
