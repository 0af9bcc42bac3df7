"""The HTTP contract for runs, its good and its bad input, over the real engine process with the fake model."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.model.log.frames import header
from tests.support.asking import BODIES
from tests.support.over_http import (
    NewClient,
    bearer,
    control,
    derived,
    ended,
    finished,
    frames,
    problem,
    share,
    start,
)
from tests.support.waiting import eventually


def test_a_run_is_created_and_told_where_it_is(client: FlaskClient) -> None:
    response = client.post("/api/runs", json={"prompt": "abc"})
    assert response.status_code == 201
    run = response.json["id"]
    assert response.json["url"] == f"/?run={run}"
    assert client.get(response.headers["Location"]).json["id"] == run
    assert client.get(response.json["url"]).status_code == 200


def test_settings_reach_the_engine_and_the_status(client: FlaskClient) -> None:
    sampling = {"strategy": "sample", "temperature": 0.5, "top_k": 7, "top_p": 0.9, "seed": 2**31 - 1}
    run = finished(client, chat=True, max_new_tokens=5, model="fake", **sampling)
    status = client.get(f"/api/runs/{run}").json
    assert status["sampling"] == sampling
    assert status["chat"] is True
    assert status["limits"]["max_new_tokens"] == 5
    assert (status["status"], status["reason"], status["steps"], status["last_seq"]) == ("closed", "length", 5, 11)
    assert status["bytes"] == sum(map(len, frames(client, run)))
    assert status["prompt_tokens"] == 3


def test_a_run_reads_what_its_clients_runs_left_unless_it_is_told_not_to(client: FlaskClient) -> None:
    def asked(headers: dict[str, str], **fields: Any) -> dict[str, Any]:
        run = client.post("/api/runs", json={"prompt": "abc", **fields}, headers=headers).json["id"]
        return dict(header(frames(client, run)[0]).data["asked"])

    token = "0123456789abcdef"
    assert asked({"X-KVScope-Client": token}) == {"reuse": True, "owner": token}
    assert asked({"X-KVScope-Client": token}, reuse=False) == {"reuse": False, "owner": token}
    assert asked({}) == {"reuse": True, "owner": ""}


def test_frames_are_the_whole_log_in_order_and_after_cuts_it(client: FlaskClient) -> None:
    run = finished(client)
    stored = frames(client, run)
    assert [header(payload).kind for payload in stored] == ["open", *["layer", "step"] * 3, "close"]
    assert [header(payload).seq for payload in stored] == list(range(8))
    assert frames(client, run, "?after=4") == stored[5:]
    assert frames(client, run, "?after=7") == []
    assert frames(client, run, "?after=700") == []


def test_unusual_prompts_are_taken_as_they_are(client: FlaskClient) -> None:
    for prompt in (" ", "\n\t", "naïve 日本語 🙂", "</script><b>x", "\0", "a" * 8192):
        run = finished(client, prompt=prompt, max_new_tokens=1)
        assert client.get(f"/api/runs/{run}").json["prompt"] == prompt


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps({"prompt": "🙂" * 8192, "max_new_tokens": 1}), id="the longest prompt, escaped"),
        pytest.param(b'{"prompt": 7, "prompt": "abc", "max_new_tokens": 1}', id="of a name twice the last counts"),
    ],
)
def test_an_unusual_body_is_taken(client: FlaskClient, body: str | bytes) -> None:
    assert client.post("/api/runs", data=body, content_type="application/json").status_code == 201


def test_a_body_over_the_limit_is_refused_unread(client: FlaskClient) -> None:
    body = json.dumps({"prompt": "a" * 200_000})
    document = problem(client.post("/api/runs", data=body, content_type="application/json"), 413, "body")
    assert document["limit"] == 128 * 1024


def test_paths_and_methods_that_do_not_exist_are_problems_below_api(client: FlaskClient) -> None:
    problem(client.get("/api/nothing"), 404)
    response = client.delete("/api/runs")
    problem(response, 405)
    assert "POST" in response.headers["Allow"]
    assert client.get("/nothing").mimetype == "text/html"


def test_a_fault_in_the_engine_is_a_500_and_other_runs_go_on(client: FlaskClient, app: Flask) -> None:
    other = start(client, max_new_tokens=256)
    assert "boom" not in problem(client.post("/api/runs", json={"prompt": "boom"}), 500)["detail"]
    assert client.get(f"/api/runs/{ended(client, other)}").json["reason"] == "length"
    assert app.extensions["kvscope"].engine.restarts == 0


def test_control_pauses_steps_resumes_and_stops(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02")
    run = start(client, max_new_tokens=256)

    def status() -> dict[str, Any]:
        return client.get(f"/api/runs/{run}").json

    assert client.post(f"/api/runs/{run}/control", json={"action": "pause"}).json == {"id": run, "status": "paused"}
    assert status()["status"] == "paused"
    control(client, run, "pause")  # what was under way has been stored by its answer
    before = status()["steps"]
    assert control(client, run, "step") == "paused"
    eventually(lambda: status()["steps"] == before + 1)
    assert control(client, run, "resume") == "running"
    eventually(lambda: status()["steps"] > before + 1)
    assert control(client, run, "stop") == "closed"
    eventually(lambda: status()["reason"] == "stopped")
    problem(client.post(f"/api/runs/{run}/control", json={"action": "resume"}), 409, "action")


def test_more_runs_than_the_server_takes_stand_in_line(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02", max_open_runs=2, max_waiting=3)
    runs = [start(client, max_new_tokens=256) for _ in range(2)]
    first, second, third = (client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}) for _ in range(3))
    assert (first.status_code, first.json["status"], first.json["place"]) == (202, "queued", 1)
    assert third.json["place"] == 3
    path = f"/api/runs/{second.json['id']}"
    waits = client.get(path)
    assert (waits.status_code, waits.json["place"]) == (202, 2)
    eventually(lambda: (client.get(path).json["estimate_s"] or 0) > 0)  # once the first token is there
    assert "kvscope_runs_waiting 3\n" in client.get("/metrics").text
    refused = client.post("/api/runs", json={"prompt": "abc"})
    assert problem(refused, 429)["limit"] == 3
    assert int(refused.headers["Retry-After"]) > 0
    assert client.delete(path, headers=bearer(first.json["delete_token"])).status_code == 404
    assert client.delete(path, headers=bearer(second.json["delete_token"])).status_code == 204
    control(client, runs[0], "stop")
    for each in (first, third):
        run = ended(client, each.json["id"])
        deleted = client.delete(f"/api/runs/{run}", headers=bearer(each.json["delete_token"]))
        assert deleted.status_code == 204  # its token is the same as in line


def test_of_a_run_that_could_not_begin_in_its_turn_the_reason_is_told(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02", max_open_runs=1)
    run = start(client, max_new_tokens=256)
    waits = client.post("/api/runs", json={"prompt": "longer than it looks"}).json
    control(client, run, "stop")
    eventually(lambda: client.get(f"/api/runs/{waits['id']}").status_code == 413)
    assert problem(client.get(f"/api/runs/{waits['id']}"), 413, "prompt")["limit"] == 512


def test_a_paused_run_gives_way_and_can_be_resumed(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02", max_open_runs=1)
    run = start(client, max_new_tokens=120)
    control(client, run, "pause")
    other = start(client, max_new_tokens=256)
    assert client.get(f"/api/runs/{run}").json["status"] == "paused"
    assert "kvscope_runs_set_aside 1\n" in client.get("/metrics").text
    assert control(client, run, "resume") == client.get(f"/api/runs/{run}").json["status"] == "queued"
    control(client, other, "stop")
    status = client.get(f"/api/runs/{ended(client, run)}").json
    assert (status["reason"], status["steps"]) == ("length", 120)


def test_a_fork_repeats_the_log_up_to_the_token_it_changes(client: FlaskClient) -> None:
    run = finished(client, max_new_tokens=6)
    fork = derived(client, run, "fork", position=5, token=900)
    theirs, ours = frames(client, run), frames(client, fork)
    # Position 5 of a prompt of 3 is the token that step 2 chose: frames open, then layer and step of steps 0, 1 and 2.
    assert [header(frame).kind for frame in ours[:7]] == [header(frame).kind for frame in theirs[:7]]
    assert header(ours[5]).data == header(theirs[5]).data
    assert header(ours[6]).data["token"]["id"] == 900
    assert header(ours[8]).data["token"]["id"] == 901
    parent = client.get(f"/api/runs/{fork}").json["parent"]
    assert (parent["run"], parent["position"], parent["token"]) == (run, 5, 900)


def test_a_place_that_the_run_or_its_model_does_not_have_is_named(client: FlaskClient) -> None:
    run = finished(client, max_new_tokens=6)
    for position, token, field in ((2, 1, "position"), (9, 1, "position"), (3, 1000, "token")):
        problem(client.post(f"/api/runs/{run}/fork", json={"position": position, "token": token}), 422, field)
    for rest, field in (
        *(("head?step=6&layer=0&head=0", "step"), ("head?step=0&layer=2&head=0", "layer")),
        *(("head?step=0&layer=0&head=3", "head"), ("block?step=0&layer=0&position=3", "position")),
        *(("positions?layer=0&head=0&position=0&other=8", "other"), ("algebra?step=0&layer=0&head=0", "step")),
        *(("code?step=0&layer=2", "layer"), ("code?step=6&layer=0", "step")),
        *(("operations?step=0&layer=0", "step"), ("smaller?dtype=int8&kv_heads=0", "kv_heads")),
    ):
        assert "limit" in problem(client.get(f"/api/runs/{run}/{rest}"), 422, field)
    assert problem(client.post("/api/runs", json={"prompt": "a", "top_k": 2000}), 422, "top_k")["limit"] == [0, 1000]
    problem(client.post("/api/runs", json={"prompt": "long"}), 413, "prompt")
    problem(client.post("/api/runs", json={"prompt": "a", "model": "another"}), 422, "model")


def test_exact_values_are_asked_for_the_tokens_the_step_had(client: FlaskClient) -> None:
    run = finished(client)
    for question, answer in (
        ("head?step=0&layer=1&head=2", b"head [97, 98, 99] 0 1 2"),
        ("head?step=2&layer=1&head=2", b"head [97, 98, 99, 100, 101] 4 1 2"),
        ("block?step=1&layer=0&position=3", b"block [97, 98, 99, 100] 0 3"),
        ("shards?step=1&layer=0&position=3", b"shards [97, 98, 99, 100] 0 3 2"),
        ("contributions?step=1&layer=0&position=3", b"contributions [97, 98, 99, 100] 0 3"),
        ("weights?layer=1&of=attn.q&index=7", b"weights 1 attn.q 7"),
        ("matrix?layer=1&of=mlp.down", b"matrix 1 mlp.down"),
        ("algebra?step=2&layer=1&head=2", b"algebra [97, 98, 99, 100, 101] 1 2"),
    ):
        assert client.get(f"/api/runs/{run}/{question}").data == answer
    assert len(client.get(f"/api/runs/{run}/mask?step=1").json["without"]["by_position"]) == 3
    [operation] = client.get(f"/api/runs/{run}/operations?step=2&layer=1").json["operations"]
    assert (operation["name"], operation["old"]["size"]) == ("attn.v", 5)
    assert client.get(f"/api/runs/{run}/everything?step=1").json["kv"] == 4
    turned = client.get(f"/api/runs/{run}/positions?layer=0&head=1&position=1&other=4").json
    assert turned["pairs"] == [[[98, 0], [1, 0], [4, 0]]]
    smaller = client.get(f"/api/runs/{run}/smaller?dtype=int8&kv_heads=1").json
    assert (smaller["furthest"]["query"], len(smaller["kl"])) == (4, 3)
    rows = {step: client.get(f"/api/runs/{run}/code?step={step}&layer=1").json["rows"] for step in (0, 2)}
    assert rows == {0: 3, 2: 1}
    calls = client.get(f"/api/runs/{run}/calls")
    assert calls.headers["Cache-Control"] == "no-store"
    assert calls.json["decode"]["calls"][0]["name"] == calls.json["prefill"]["name"] == "Engine.advance"
    candidates = client.get(f"/api/runs/{run}/candidates?step=1&text=%22a%20%0A").json["candidates"]
    assert [(each["id"], each["text"]) for each in candidates] == [(100, '"a \n')]
    lens = client.get(f"/api/runs/{run}/lens?step=1").json
    assert lens["layers"][0]["top"][0]["id"] == 100
    assert lens["token"]["id"] == 101
    losses = client.get(f"/api/runs/{run}/losses").json
    assert [each["best"]["id"] for each in losses["positions"]] == [98, 99, 100]


def test_exact_values_stay_in_caches(client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"/api/runs/{finished(client, prompt='of its own')}/head?step=0&layer=1&head=2"
    first, asked = client.get(url), list[int]()
    assert first.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    monkeypatch.setattr(app.extensions["kvscope"].engine, "call", lambda *_, **__: asked.append(1) or b"")
    assert client.get(url, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    assert not asked
    assert (
        client.get(url.replace("head=2", "head=1"), headers={"If-None-Match": first.headers["ETag"]}).status_code == 200
    )
    assert asked


def test_values_of_another_models_run_are_refused(new_client: NewClient) -> None:
    client = new_client()
    run = finished(client)
    client.application.extensions["kvscope"].engine.info["sha256"] = "0" * 64
    problem(client.get(f"/api/runs/{run}/lens?step=0"), 409, "model")
    for kind in ("fork", "twin", "beam"):
        problem(client.post(f"/api/runs/{run}/{kind}", json=BODIES[f"/api/runs/{{run}}/{kind}"]), 409, "model")
    assert len(frames(client, run)) == 8


def test_while_the_model_loads_runs_must_come_back_later(new_client: NewClient) -> None:
    client = new_client(model="load=30", ready=False)
    response = client.post("/api/runs", json={"prompt": "abc"})
    problem(response, 503)
    assert int(response.headers["Retry-After"]) > 0
    problem(client.post("/api/runs", json={"prompt": ""}), 422, "prompt")


def test_who_started_a_run_can_delete_it_and_nobody_else(client: FlaskClient) -> None:
    made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 256}).json
    path = f"/api/runs/{made['id']}"
    assert problem(client.delete(path), 401, "Authorization")
    assert problem(client.delete(path, headers=bearer("guessed")), 403, "Authorization")
    other = start(client)
    assert problem(client.delete(f"/api/runs/{other}", headers=bearer(made["delete_token"])), 403, "Authorization")
    assert client.delete(path, headers=bearer(made["delete_token"])).status_code == 204  # though it is not over
    assert problem(client.get(path), 404, "run")
    assert client.get(f"{path}/frames").status_code == 404
    assert problem(client.delete(path, headers=bearer(made["delete_token"])), 404, "run")


def test_a_run_goes_with_its_studies_and_not_with_what_was_shared_of_it(client: FlaskClient) -> None:
    made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 3}).json
    run = ended(client, made["id"])
    shared = share(client, run)
    twin = client.post(f"/api/runs/{run}/twin", json={"cache": "none"}).json
    branch = client.post(f"/api/runs/{run}/fork", json={"position": 3, "token": 7}).json
    assert {"delete_token"} <= twin.keys() & branch.keys()
    assert client.delete(f"/api/runs/{run}", headers=bearer(made["delete_token"])).status_code == 204
    assert client.get(f"/api/runs/{twin['id']}").status_code == 404
    assert client.get(f"/api/runs/{branch['id']}").status_code == 200
    assert client.get(f"/api/sessions/{shared['id']}").status_code == 200


def test_a_run_that_is_being_shared_is_not_deleted_meanwhile(client: FlaskClient, app: Flask) -> None:
    made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}).json
    runs = app.extensions["kvscope"].runs
    with runs.held(made["id"]):
        refused = client.delete(f"/api/runs/{made['id']}", headers=bearer(made["delete_token"]))
        assert problem(refused, 409, "run")
    assert client.delete(f"/api/runs/{made['id']}", headers=bearer(made["delete_token"])).status_code == 204


def test_a_run_that_is_forgotten_while_it_is_asked_about_is_unknown(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, runs = finished(client), app.extensions["kvscope"].runs
    head = runs.head

    def forget_after(asked: str) -> Any:
        found = head(asked)
        runs.delete([asked])
        return found

    monkeypatch.setattr(runs, "head", forget_after)
    assert problem(client.get(f"/api/runs/{run}"), 404, "run")
