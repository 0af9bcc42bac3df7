"""The memory calculator over HTTP: what its page is given, and the measuring of the machine."""

from statistics import median

from flask.testing import FlaskClient

from kvscope.model.settings import MAX_ASKS, MAX_LOAD
from tests.support.over_http import NewClient, bootstrap, control, problem, start


def test_the_pages_have_the_models_the_gpus_and_the_limits(client: FlaskClient) -> None:
    limits = bootstrap(client.get("/serving").text)["limits"]
    assert (limits["workload"]["requests"], limits["workload"]["blocks"]) == ([1, MAX_LOAD], [1, 256])
    assert limits["workload_states"] == MAX_ASKS
    given, framed = (bootstrap(client.get(f"{below}/memory").text) for below in ("", "/embed"))
    assert (given["framed"], framed["framed"]) == (False, True)
    assert {"llama-3-8b", "deepseek-v3"} <= {model["id"] for model in given["models"]}
    assert "h100-sxm" in {gpu["id"] for gpu in given["gpus"]}
    assert given["session"] is None, "no recordings here"


def test_the_machine_is_measured_and_the_best_take_counts(client: FlaskClient) -> None:
    measured = client.post("/api/measure", json={}).json
    for part, amount in (("bandwidth", "bytes"), ("peak", "flops"), ("weights", "bytes")):
        found = measured[part]
        assert found["per_second"] == found[amount] / (median(found["takes_ms"]) / 1000)


def test_while_a_run_is_computed_the_machine_is_not_measured(new_client: NewClient) -> None:
    client = new_client(model="delay=0.05")
    run = start(client, max_new_tokens=40)
    refused = problem(client.post("/api/measure", json={}), 409, "run")
    assert "A run is being computed" in refused["detail"]
    control(client, run, "pause")
    assert client.post("/api/measure", json={}).status_code == 200, "a paused run leaves the machine alone"
