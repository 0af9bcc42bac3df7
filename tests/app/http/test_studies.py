"""Twins, beam searches and families over HTTP, good and bad input, with the fake model."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from kvscope.model.log.frames import encode, header, join, relabel
from tests.support.over_http import NewClient, control, derived, finished, frames, problem, start
from tests.support.waiting import eventually

BEAM = {"step": 1, "beams": 2, "length": 3}


def kinds(client: FlaskClient, run: str) -> str:
    return "".join(header(payload).kind[0] for payload in frames(client, run))


def family(client: FlaskClient, run: str) -> dict[str, Any]:
    return client.get(f"/api/runs/{run}/family").json


@pytest.mark.parametrize("cache", ["none", "forgotten"])
def test_a_twin_is_a_log_like_any_other(client: FlaskClient, cache: str) -> None:
    run = finished(client, max_new_tokens=4)
    twin = derived(client, run, "twin", cache=cache)
    status = client.get(f"/api/runs/{twin}").json
    assert status["study"] == {"kind": "twin", "of": run, "cache": cache}
    assert (status["steps"], status["reason"], status["prompt"]) == (4, "length", "abc")
    assert client.get(f"/api/runs/{run}").json["study"] is None


def test_a_twin_is_made_of_the_open_and_the_step_frames(client: FlaskClient) -> None:
    """The fake asserts what it is given."""
    run = finished(client, max_new_tokens=6)
    fork = derived(client, run, "fork", position=5, token=900)
    derived(client, fork, "twin", cache="none")


@pytest.mark.parametrize("tokens", ["own", "given"])
@pytest.mark.parametrize("cache", ["window", "sinks", "heavy"])
def test_a_twin_may_keep_some_positions(client: FlaskClient, cache: str, tokens: str) -> None:
    run = finished(client, max_new_tokens=4)
    twin = derived(client, run, "twin", cache=cache, budget=6, tokens=tokens)
    told = client.get(f"/api/runs/{twin}").json["study"]
    assert told == {"kind": "twin", "of": run, "cache": cache, "budget": 6, "tokens": tokens}


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ({"cache": "window"}, "budget", "budget is missing."),
        ({"cache": "window", "budget": 0}, "budget", "budget is 0; it must be from 1 to 6."),
        ({"cache": "heavy", "budget": 7}, "budget", "budget is 7; it must be from 1 to 6."),
        ({"cache": "oldest", "budget": 4}, "cache", 'cache is "oldest"; it must be one of none, forgotten, window, '),
        ({"cache": "none", "budget": 4}, "budget", "budget belongs to the caches window, sinks and heavy; leave it"),
        ({"cache": "none", "tokens": "given"}, "tokens", "tokens belongs to the caches window, sinks and heavy;"),
        ({"cache": "window", "budget": 4, "tokens": "mine"}, "tokens", 'tokens is "mine"; it must be one of given, '),
    ],
)
def test_what_a_twin_cannot_keep_is_named(client: FlaskClient, body: dict[str, Any], field: str, sentence: str) -> None:
    run = finished(client, max_new_tokens=4)
    assert problem(client.post(f"/api/runs/{run}/twin", json=body), 422, field)["detail"].startswith(sentence)
    assert len(family(client, run)["runs"]) == 1


def test_a_changed_run_is_a_run_of_the_family_and_its_questions_go_to_its_changes(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = finished(client)
    changes = [{"site": "head", "op": "scale", "layer": 1, "head": 0, "factor": -2.0}]
    made = derived(client, original, "change", changes=changes)
    opened = header(frames(client, made)[0]).data
    assert opened["study"] is None
    assert opened["changed"]["of"] == original
    assert (changes[0] | {"from_step": 0}).items() <= opened["changed"]["changes"][0].items()
    first, second = family(client, made)["runs"]
    assert [first["id"], first["changed"]] == [original, None]
    assert [second[name] for name in ("id", "changed", "parent", "study")] == [made, opened["changed"], None, None]
    assert client.get(f"/api/runs/{made}").json["changed"] == opened["changed"]
    assert client.get(f"/api/runs/{original}").json["changed"] is None
    asked: list[tuple[Any, ...]] = []
    pool = app.extensions["kvscope"].engine
    call = pool.call
    monkeypatch.setattr(pool, "call", lambda *given, **named: (asked.append(given), call(*given, **named))[1])
    assert client.get(f"/api/runs/{made}/lens?step=0").status_code == 200
    assert client.get(f"/api/runs/{original}/lens?step=0").status_code == 200
    (of_changed, plain) = asked
    assert (of_changed[0], of_changed[2]) == ("of_changed", "lens")
    assert of_changed[1].changes[0].factor == -2.0
    assert plain[0] == "lens"
    for question in ("mask?step=1", "smaller?dtype=int8&kv_heads=1", "positions?layer=0&head=0&position=0&other=1"):
        problem(client.get(f"/api/runs/{made}/{question}"), 409, "run")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"site": "head", "op": "zero", "layer": 0}, "changes[0].head"),
        ({"site": "mlp", "op": "zero"}, "changes[0].layer"),
        ({"site": "expert", "op": "zero", "layer": 0}, "changes[0].head"),
        ({"site": "expert", "op": "mean", "layer": 0, "head": 0}, "changes[0].op"),
        ({"site": "mlp", "op": "zero", "layer": 0, "head": 1}, "changes[0].head"),
        ({"site": "token", "op": "zero"}, "changes[0].position"),
        ({"site": "mlp", "op": "patch", "layer": 0}, "changes[0].source"),
        ({"site": "mlp", "op": "steer", "layer": 0, "source": "a"}, "changes[0].away"),
        ({"site": "mlp", "op": "scale", "layer": 0, "factor": 2e9}, "changes[0].factor"),
        ({"site": "mlp", "op": "zero", "layer": 0, "source": "a"}, "changes[0].source"),
    ],
)
def test_a_change_that_is_none_is_named(client: FlaskClient, change: dict[str, Any], field: str) -> None:
    original = finished(client)
    problem(client.post(f"/api/runs/{original}/change", json={"changes": [change]}), 422, field)
    many = [{"site": "mlp", "op": "zero", "layer": 0}] * 25
    refused = problem(client.post(f"/api/runs/{original}/change", json={"changes": many}), 422, "changes")
    assert refused["limit"] == 24


def test_a_beam_search_is_a_log_of_its_depths(client: FlaskClient) -> None:
    run = finished(client)
    search = derived(client, run, "beam", step=2, beams=8, length=5)
    assert kinds(client, search) == "obbbbbc"
    status = client.get(f"/api/runs/{search}").json
    assert status["study"] == {"kind": "beam", "of": run, "step": 2, "beams": 8, "length": 5}
    first = header(frames(client, search)[1]).data
    # The prompt is 97, 98, 99; steps 0 and 1 chose 100 and 101: what step 2 had before it ends with 101.
    assert first["nodes"][0]["token"]["id"] == 102


def test_a_running_run_can_be_searched_from_and_not_twinned(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02")
    run = start(client, max_new_tokens=256)
    eventually(lambda: client.get(f"/api/runs/{run}").json["steps"] > 2)
    problem(client.post(f"/api/runs/{run}/twin", json={"cache": "none"}), 409, "run")
    derived(client, run, "beam", **BEAM)
    assert control(client, run, "stop") == "closed"


def test_a_limit_of_the_engines_own_crosses_over(client: FlaskClient) -> None:
    run = finished(client, prompt="a" * 30)
    document = problem(client.post(f"/api/runs/{run}/beam", json={**BEAM, "length": 12}), 422, "length")
    assert document["limit"] == 9
    problem(client.post(f"/api/runs/{run}/beam", json={**BEAM, "step": 3}), 422, "step")
    assert len(family(client, run)["runs"]) == 1


def test_a_run_without_a_step_cannot_be_studied(client: FlaskClient, app: Flask) -> None:
    opening = frames(client, finished(client))[0]
    closing = encode("empty", 1, "close", {"reason": "stopped", "error": None, "steps": 0})
    app.extensions["kvscope"].runs.append([relabel(opening, "empty", 0), closing])
    problem(client.post("/api/runs/empty/twin", json={"cache": "none"}), 409, "run")
    problem(client.post("/api/runs/empty/beam", json=BEAM), 409, "step")
    for without_decode in ("empty", finished(client, max_new_tokens=1)):
        problem(client.get(f"/api/runs/{without_decode}/algebra?step=1&layer=0&head=0"), 409, "step")


@pytest.mark.parametrize(("kind", "body"), [("twin", {"cache": "none"}), ("beam", BEAM)])
def test_a_study_is_not_studied_forked_or_looked_into(client: FlaskClient, kind: str, body: dict[str, Any]) -> None:
    made = derived(client, finished(client), kind, **body)
    for again, asked in (("twin", {"cache": "none"}), ("beam", BEAM), ("fork", {"position": 3, "token": 1})):
        problem(client.post(f"/api/runs/{made}/{again}", json=asked), 409, "run")
    for rest in ("head?step=0&layer=0&head=0", "block?step=0&layer=0&position=0", "lens?step=0"):
        problem(client.get(f"/api/runs/{made}/{rest}"), 409, "run")


def test_studies_take_places_and_orders_like_any_run(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02", max_open_runs=1)
    run = finished(client)
    search = client.post(f"/api/runs/{run}/beam", json={**BEAM, "length": 32}).json["id"]
    assert control(client, search, "pause") == "paused"
    assert family(client, run)["runs"][1]["status"] == "paused"
    twin = client.post(f"/api/runs/{run}/twin", json={"cache": "none"})
    assert (twin.status_code, twin.json["place"]) == (202, 1)
    control(client, search, "stop")
    eventually(lambda: client.get(f"/api/runs/{search}").json["reason"] == "stopped")
    eventually(lambda: client.get(f"/api/runs/{twin.json['id']}").json.get("reason") == "length")
    assert "kvscope_runs_stored 3\n" in client.get("/metrics").text


def test_whoever_asks_gets_all_branches_and_studies_the_root_first(client: FlaskClient) -> None:
    finished(client)  # a stranger
    root = finished(client, max_new_tokens=6)
    first = derived(client, root, "fork", position=5, token=900)
    second = derived(client, first, "fork", position=6, token=500)
    twin = derived(client, first, "twin", cache="none")
    search = derived(client, root, "beam", **BEAM)
    for asked in (root, second, twin, search):
        found = family(client, asked)
        assert found["root"] == root
        assert [run["id"] for run in found["runs"]] == [root, first, second, twin, search]
    by_id = {run["id"]: run for run in found["runs"]}
    assert by_id[first]["parent"] == {"run": root, "position": 5, "token": {"id": 900, "text": chr(900)}}
    assert by_id[second]["parent"] == {"run": first, "position": 6, "token": {"id": 500, "text": chr(500)}}
    assert [by_id[run]["parent"] for run in (root, twin, search)] == [None] * 3
    assert by_id[twin]["study"] == {"kind": "twin", "of": first, "cache": "none"}
    assert by_id[search]["study"] == {"kind": "beam", "of": root, **BEAM}
    assert [by_id[run]["steps"] for run in (twin, search)] == [by_id[first]["steps"], 0]


@pytest.fixture
def example(new_client: NewClient, settings: Settings) -> tuple[FlaskClient, str]:
    """A server that ships with a run, and that run."""
    client = new_client()
    log = frames(client, finished(client, max_new_tokens=6))
    recorded = [relabel(payload, "example", seq) for seq, payload in enumerate(log)]
    settings.recordings_dir.mkdir(parents=True, exist_ok=True)
    (settings.recordings_dir / "example.safetensors").write_bytes(join(frame.payload for frame in recorded))
    client = new_client(data_dir=settings.data_dir / "other")
    assert len(frames(client, "example")) == len(log)
    return client, "example"


def members(client: FlaskClient, run: str, *known: str) -> set[str]:
    found = client.get(f"/api/runs/{run}/family", query_string={"known": ",".join(known)} if known else {}).json
    assert found["root"] == found["runs"][0]["id"]
    return {member["id"] for member in found["runs"]}


def test_what_visitors_make_of_a_run_that_ships_is_not_listed_to_others(example: tuple[FlaskClient, str]) -> None:
    client, run = example
    mine, other = (derived(client, run, "fork", position=4, token=token) for token in (900, 901))
    search, twin = derived(client, run, "beam", **BEAM), derived(client, other, "twin", cache="none")
    assert members(client, run) == {run}
    assert members(client, mine) == {run, mine}
    assert members(client, other) == members(client, twin) == {run, other, twin}
    assert members(client, search) == {run, search}


def test_what_one_made_of_a_run_that_ships_stands_together(example: tuple[FlaskClient, str]) -> None:
    client, run = example
    first, second, strangers = (derived(client, run, "fork", position=4, token=token) for token in (900, 901, 902))
    of_first = derived(client, first, "fork", position=5, token=903)
    search = derived(client, run, "beam", **BEAM)
    assert members(client, run, first, search) == {run, first, of_first, search}
    assert members(client, second, of_first) == {run, second, first, of_first}
    unrelated = finished(client)
    assert members(client, second, unrelated, "nobody", "", "a\0b", run) == {run, second}
    assert members(client, unrelated, strangers) == {unrelated}
    made = client.get(f"/api/runs/{run}/family?known={second},{first}").json["runs"]
    assert [member["id"] for member in made] == [run, first, second, of_first], "oldest first"
