"""Twins, beam searches and families over HTTP, good and bad input, with the fake model."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from kvscope.model.log.frames import encode, header, join, relabel
from tests.support.over_http import finished, frames, problem, start
from tests.support.waiting import eventually

BEAM = {"step": 1, "beams": 2, "length": 3}


def study(client: FlaskClient, run: str, kind: str, body: dict[str, Any]) -> str:
    """Start a study and wait for its end; its id."""
    response = client.post(f"/api/runs/{run}/{kind}", json=body)
    assert response.status_code == 201, response.text
    made = str(response.json["id"])
    assert response.json["url"] == f"/?run={made}"
    eventually(lambda: client.get(f"/api/runs/{made}").json["status"] == "closed")
    return made


def kinds(client: FlaskClient, run: str) -> str:
    return "".join(header(payload).kind[0] for payload in frames(client, run))


def family(client: FlaskClient, run: str) -> dict[str, Any]:
    response = client.get(f"/api/runs/{run}/family")
    assert response.status_code == 200
    found: dict[str, Any] = response.json
    return found


@pytest.mark.parametrize("cache", ["none", "forgotten"])
def test_a_twin_is_a_log_like_any_other(client: FlaskClient, cache: str) -> None:
    run = finished(client, max_new_tokens=4)
    twin = study(client, run, "twin", {"cache": cache})
    status = client.get(f"/api/runs/{twin}").json
    assert status["study"] == {"kind": "twin", "of": run, "cache": cache}
    assert (status["steps"], status["reason"], status["prompt"]) == (4, "length", "abc")
    assert client.get(f"/api/runs/{run}").json["study"] is None


def test_a_twin_is_made_of_the_open_and_the_step_frames(client: FlaskClient) -> None:
    """The fake asserts what it is given."""
    run = finished(client, max_new_tokens=6)
    fork = client.post(f"/api/runs/{run}/fork", json={"position": 5, "token": 900}).json["id"]
    eventually(lambda: client.get(f"/api/runs/{fork}").json["status"] == "closed")
    study(client, fork, "twin", {"cache": "none"})


@pytest.mark.parametrize("tokens", ["own", "given"])
@pytest.mark.parametrize("cache", ["window", "sinks", "heavy"])
def test_a_twin_may_keep_some_positions(client: FlaskClient, cache: str, tokens: str) -> None:
    run = finished(client, max_new_tokens=4)
    twin = study(client, run, "twin", {"cache": cache, "budget": 6, "tokens": tokens})
    told = client.get(f"/api/runs/{twin}").json["study"]
    assert told == {"kind": "twin", "of": run, "cache": cache, "budget": 6, "tokens": tokens}


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ({"cache": "window"}, "budget", "budget is missing."),
        ({"cache": "window", "budget": 0}, "budget", "budget is 0; it must be from 1 to 6."),
        ({"cache": "heavy", "budget": 7}, "budget", "budget is 7; it must be from 1 to 6."),
        ({"cache": "oldest", "budget": 4}, "cache", 'cache is "oldest"; it must be one of none, forgotten, window, '),
        (
            {"cache": "none", "budget": 4},
            "budget",
            "budget belongs to the caches window, sinks and heavy; leave it out.",
        ),
        ({"cache": "none", "tokens": "given"}, "tokens", "tokens belongs to the caches window, sinks and heavy;"),
        (
            {"cache": "window", "budget": 4, "tokens": "mine"},
            "tokens",
            'tokens is "mine"; it must be one of given, own.',
        ),
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
    made = study(client, original, "change", {"changes": changes})
    opened = header(frames(client, made)[0]).data
    assert opened["study"] is None
    assert opened["changed"]["of"] == original
    assert {name: value for name, value in opened["changed"]["changes"][0].items() if value is not None} == {
        **changes[0],
        "from_step": 0,
    }
    assert [member["id"] for member in family(client, original)["runs"]] == [original, made]
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
    search = study(client, run, "beam", {"step": 2, "beams": 8, "length": 5})
    assert kinds(client, search) == "obbbbbc"
    status = client.get(f"/api/runs/{search}").json
    assert status["study"] == {"kind": "beam", "of": run, "step": 2, "beams": 8, "length": 5}
    first = header(frames(client, search)[1]).data
    # The prompt is 97, 98, 99; steps 0 and 1 chose 100 and 101: what step 2 had before it ends with 101.
    assert first["nodes"][0]["token"]["id"] == 102


def test_a_running_run_can_be_searched_from_and_not_twinned(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(replace(settings, model="delay=0.02")).test_client()
    run = start(client, max_new_tokens=256)
    eventually(lambda: client.get(f"/api/runs/{run}").json["steps"] > 2)
    problem(client.post(f"/api/runs/{run}/twin", json={"cache": "none"}), 409, "run")
    study(client, run, "beam", BEAM)
    assert client.post(f"/api/runs/{run}/control", json={"action": "stop"}).status_code == 200


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
    problem(client.get("/api/runs/empty/algebra?step=1&layer=0&head=0"), 409, "step")


@pytest.mark.parametrize(("kind", "body"), [("twin", {"cache": "none"}), ("beam", BEAM)])
def test_a_study_is_not_studied_forked_or_looked_into(client: FlaskClient, kind: str, body: dict[str, Any]) -> None:
    made = study(client, finished(client), kind, body)
    problem(client.post(f"/api/runs/{made}/twin", json={"cache": "none"}), 409, "run")
    problem(client.post(f"/api/runs/{made}/beam", json=BEAM), 409, "run")
    problem(client.post(f"/api/runs/{made}/fork", json={"position": 3, "token": 1}), 409, "run")
    for rest in ("head?step=0&layer=0&head=0", "block?step=0&layer=0&position=0", "lens?step=0"):
        problem(client.get(f"/api/runs/{made}/{rest}"), 409, "run")


def test_studies_take_places_and_orders_like_any_run(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(replace(settings, model="delay=0.02", max_open_runs=1)).test_client()
    run = finished(client)
    search = client.post(f"/api/runs/{run}/beam", json={**BEAM, "length": 32}).json["id"]
    assert client.post(f"/api/runs/{search}/control", json={"action": "pause"}).json["status"] == "paused"
    assert family(client, run)["runs"][1]["status"] == "paused"
    twin = client.post(f"/api/runs/{run}/twin", json={"cache": "none"})
    assert (twin.status_code, twin.json["place"]) == (202, 1)
    client.post(f"/api/runs/{search}/control", json={"action": "stop"})
    eventually(lambda: client.get(f"/api/runs/{search}").json["reason"] == "stopped")
    eventually(lambda: client.get(f"/api/runs/{twin.json['id']}").json.get("reason") == "length")
    assert "kvscope_runs_stored 3\n" in client.get("/metrics").text


def test_an_engine_that_dies_interrupts_studies_too(make_app: Callable[..., Flask], settings: Settings) -> None:
    app = make_app(replace(settings, model="delay=0.05"))
    client, engine = app.test_client(), app.extensions["kvscope"].engine
    run = finished(client)
    search = client.post(f"/api/runs/{run}/beam", json={**BEAM, "length": 32}).json["id"]
    eventually(lambda: client.get(f"/api/runs/{search}").json["last_seq"] > 2)
    os.kill(engine.engines[0].supervisor.pid, signal.SIGKILL)
    eventually(lambda: client.get(f"/api/runs/{search}").json["reason"] == "interrupted")
    assert kinds(client, search)[-1] == "c"
    eventually(lambda: engine.readiness.state == "ready")
    study(client, run, "twin", {"cache": "none"})


class TestFamily:
    def test_whoever_asks_gets_all_branches_and_studies_the_root_first(self, client: FlaskClient) -> None:
        finished(client)  # a stranger
        root = finished(client, max_new_tokens=6)

        def fork(run: str, position: int, token: int) -> str:
            made = str(client.post(f"/api/runs/{run}/fork", json={"position": position, "token": token}).json["id"])
            eventually(lambda: client.get(f"/api/runs/{made}").json["status"] == "closed")
            return made

        first = fork(root, 5, 900)
        second = fork(first, 6, 500)
        twin = study(client, first, "twin", {"cache": "none"})
        search = study(client, root, "beam", BEAM)
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

    def test_a_changed_run_is_listed_with_its_changes(self, client: FlaskClient) -> None:
        run = finished(client)
        sent = {"site": "mlp", "op": "zero", "layer": 0}
        changed = study(client, run, "change", {"changes": [sent]})
        original, found = family(client, changed)["runs"]
        assert (original["id"], original["changed"]) == (run, None)
        assert (found["id"], found["parent"], found["study"]) == (changed, None, None)
        assert found["changed"]["of"] == run
        (change,) = found["changed"]["changes"]
        assert sent.items() <= change.items()


def test_the_algebra_of_a_decode_step_is_asked_for_the_tokens_it_had(client: FlaskClient) -> None:
    run = finished(client)
    response = client.get(f"/api/runs/{run}/algebra?step=2&layer=1&head=2")
    assert response.data == b"algebra [97, 98, 99, 100, 101] 1 2"
    assert "immutable" in response.headers["Cache-Control"]


def test_a_run_of_one_step_has_no_decode_to_explain(client: FlaskClient) -> None:
    run = finished(client, max_new_tokens=1)
    problem(client.get(f"/api/runs/{run}/algebra?step=1&layer=0&head=0"), 409, "step")


def branch(client: FlaskClient, run: str, token: int, position: int = 4) -> str:
    """A branch of the run, ended."""
    fork = client.post(f"/api/runs/{run}/fork", json={"position": position, "token": token}).json["id"]
    eventually(lambda: client.get(f"/api/runs/{fork}").json["status"] == "closed")
    return str(fork)


@pytest.fixture
def example(make_app: Callable[..., Flask], settings: Settings) -> tuple[FlaskClient, str]:
    """A server that ships with a run, and that run."""
    client = make_app(settings).test_client()
    log = frames(client, finished(client, max_new_tokens=6))
    recorded = [relabel(payload, "example", seq) for seq, payload in enumerate(log)]
    settings.recordings_dir.mkdir(parents=True, exist_ok=True)
    (settings.recordings_dir / "example.safetensors").write_bytes(join(frame.payload for frame in recorded))
    client = make_app(replace(settings, data_dir=settings.data_dir / "other")).test_client()
    assert len(frames(client, "example")) == len(log)
    return client, "example"


def members(client: FlaskClient, run: str, *known: str) -> set[str]:
    found = client.get(f"/api/runs/{run}/family", query_string={"known": ",".join(known)} if known else {}).json
    assert found["root"] == found["runs"][0]["id"]
    return {member["id"] for member in found["runs"]}


def test_what_visitors_make_of_a_run_that_ships_is_not_listed_to_others(example: tuple[FlaskClient, str]) -> None:
    client, run = example
    mine, other = branch(client, run, 900), branch(client, run, 901)
    search, twin = study(client, run, "beam", BEAM), study(client, other, "twin", {"cache": "none"})
    assert members(client, run) == {run}
    assert members(client, mine) == {run, mine}
    assert members(client, other) == members(client, twin) == {run, other, twin}
    assert members(client, search) == {run, search}


def test_what_one_made_of_a_run_that_ships_stands_together(example: tuple[FlaskClient, str]) -> None:
    client, run = example
    first, second, strangers = (branch(client, run, token) for token in (900, 901, 902))
    of_first = branch(client, first, 903, position=5)
    search = study(client, run, "beam", BEAM)
    assert members(client, run, first, search) == {run, first, of_first, search}
    assert members(client, second, of_first) == {run, second, first, of_first}
    unrelated = finished(client)
    assert members(client, second, unrelated, "nobody", "", "a\0b", run) == {run, second}
    assert members(client, unrelated, strangers) == {unrelated}
    made = client.get(f"/api/runs/{run}/family?known={second},{first}").json["runs"]
    assert [member["id"] for member in made] == [run, first, second, of_first], "oldest first"
