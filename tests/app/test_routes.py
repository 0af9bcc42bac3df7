"""The table of routes is what the server does: each asks for what it says there, and costs no more."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from flask import Flask
from werkzeug.test import TestResponse

from kvscope.app import routes as table
from kvscope.app.http.access import ANSWERS_IN_ROOM, DELETES, SENDS, Access, declare, declared
from kvscope.app.settings import Settings
from tests.support.asking import ASK, BODIES, QUERY, QUERY_OF
from tests.support.live_server import FAKE
from tests.support.over_http import bearer, ended, finished, serving, share

TOKEN = "let-me-in.please"
ELSEWHERE = "203.0.113.7"


@dataclass(frozen=True, slots=True)
class Filled:
    """A server with a token and a limit of one of everything, and what there is on it."""

    app: Flask
    known: dict[str, str]
    secrets: dict[str, str]

    def ask(self, method: str, path: str, headers: dict[str, str], address: str = "127.0.0.1") -> TestResponse:
        known = dict(self.known)
        if path.startswith("/api/workloads"):
            known["run"] = known["workload"]
        body: dict[str, Any] = {"json": BODIES.get(path, {})} if method in ("POST", "PUT") else {}
        if path == "/api/sessions" and method == "POST":
            body = {"data": b"x", "content_type": "application/octet-stream"}
        query = {name: str(value).format(**known) for name, value in (QUERY | QUERY_OF.get(path, {})).items()}
        return self.app.test_client().open(
            path.format(**known),
            method=method,
            query_string=query,
            headers=headers,
            environ_overrides={"REMOTE_ADDR": address},
            **body,
        )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("table")
    least = {f"{what}_per_minute": 1 for what in ("runs", "shares", "imports", "reads")}
    settings = Settings(folder / "data", service=FAKE, recordings_dir=folder, token=TOKEN, max_open_runs=50, **least)
    with serving(settings) as app:
        client = app.test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
        run = finished(client, max_new_tokens=4)
        made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}).json
        waiting = {"requests": [{**ASK, "arrives_ms": 60_000}], "rounds": [{}]}
        workload = client.post("/api/workloads", json=waiting).json["id"]
        lesson = client.get("/api/lessons").json["lessons"][0]["id"]
        known = {"run": run, "session": share(client, run)["id"], "workload": workload, "lesson": lesson}
        known |= {"number": "0", "name": "no-such-engine", "example": "a", "filename": "main.js"}
        known["code"] = client.post("/api/rooms", json={"address": "/"}).json["code"]
        yield Filled(app, known, {made["id"]: made["delete_token"]})


def routes(filled: Filled) -> list[tuple[str, str, Access]]:
    return [row for row in table.rows(filled.app) if row[0] != "event"]


def test_what_is_counted_runs_out(filled: Filled) -> None:
    """The first of each kind from elsewhere takes all there is of it; every other of its kind is then refused.

    Stands first: what has been computed for an earlier test is not counted.
    """
    spent: dict[str, str] = {}
    counted = [row for row in routes(filled) if row[2].counted]
    for method, path, access in sorted(counted, key=lambda row: row[1] not in ("/api/tokens", "/api/runs")):
        with filled.ask(method, path, bearer(TOKEN), ELSEWHERE) as answer:
            status = answer.status_code
        assert (status == 429) == (access.counted in spent), (method, path, status, answer.text)
        spent.setdefault(str(access.counted), path)
    assert spent.keys() == {"runs", "shares", "imports", "reads"}


def test_without_the_token_each_route_does_what_the_table_says_and_no_more(filled: Filled) -> None:
    for method, path, access in routes(filled):
        for headers in ({}, bearer("wrong")):
            with filled.ask(method, path, headers) as answer:
                refused = answer.status_code in (401, 403)
            assert refused == (access.who != "anyone"), (method, path, answer.status_code)
    going = filled.app.test_client().get(f"/api/runs/{filled.known['workload']}")
    assert going.json["status"] == "running"


def test_what_anyone_may_call_stores_nothing_but_answers_in_rooms_and_asks_the_engine_only_where_that_is_counted(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, asked, written = filled.app.extensions["kvscope"], [], []
    mine, call = threading.current_thread(), parts.engine.call

    def calls(method: str, *arguments: Any, **named: Any) -> Any:
        asked.append(method)
        return call(method, *arguments, **named)

    def statement(_connection: Any, _cursor: Any, said: str, *_: Any) -> None:
        if threading.current_thread() is mine and not said.lstrip().startswith(("SELECT", "PRAGMA", "WITH")):
            written.append(said)

    monkeypatch.setattr(parts.engine, "call", calls)
    sa.event.listen(parts.runs.engine, "before_cursor_execute", statement)
    try:
        for method, path, access in routes(filled):
            if access.who == "anyone" and access != ANSWERS_IN_ROOM:
                del asked[:], written[:]
                with filled.ask(method, path, {}):
                    pass
                assert not written, (method, path)
                assert access.counted or not asked, (method, path)
    finally:
        sa.event.remove(parts.runs.engine, "before_cursor_execute", statement)


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:8000"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
]
"""What browsers say of requests of a page elsewhere: fetch, a sandboxed frame, an image, another port; old browsers."""
COSTS_AND_FOR_ANY_PAGE = {
    "/api/by-hand/{example}",
    "/api/by-hand/{example}/code",
    "/api/lessons/{lesson}",
    "/api/sessions/{session}.html",
    "/api/sessions/{session}.png",
}
"""What embeds show that nothing stores, and what is made of a session once."""


def test_a_route_is_for_own_pages_unless_it_only_reads(filled: Filled) -> None:
    assert Access("anyone", "does something").pages == "own"
    for method, path, access in routes(filled):
        if access.who != "anyone" or method not in ("GET", "HEAD"):
            assert access.pages == "own", (method, path)
        elif access.counted and path not in COSTS_AND_FOR_ANY_PAGE:
            assert access.pages != "any", (method, path)
    assert all(access.pages == "own" for method, _, access in table.rows(filled.app) if method == "event")


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_elsewhere_gets_what_the_table_says_and_has_nothing_computed(
    filled: Filled, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = filled.app.extensions["kvscope"]
    monkeypatch.setattr(parts.engine, "call", asked := Mock(side_effect=AssertionError))
    engines = len(parts.engine.engines)
    for method, path, access in routes(filled):
        with filled.ask(method, path, headers | bearer(TOKEN)) as answer:
            status, text = answer.status_code, answer.text if access.pages == "own" else ""
        allowed = {"own": status == 403 and "own pages" in text, "stored": status in (200, 204), "any": status != 403}
        assert allowed[access.pages], (method, path)
        assert not asked.called or path in COSTS_AND_FOR_ANY_PAGE, (method, path)
        asked.reset_mock()
    assert len(parts.engine.engines) == engines


def test_a_page_elsewhere_gets_an_answer_once_it_is_stored(filled: Filled) -> None:
    path, foreign = "/api/sessions/{session}/lens", {"Sec-Fetch-Site": "cross-site", "Origin": "null"}
    own = {"Sec-Fetch-Site": "same-origin"}
    there = f"{path.format(**filled.known)}?step=3"
    client = filled.app.test_client()
    assert client.get(there, headers=foreign).status_code == 204
    computed = client.get(there, headers=own)
    stored = client.get(there, headers=foreign)
    assert computed.status_code == stored.status_code == 200
    assert computed.data == stored.data


def test_a_lesson_over_a_run_is_for_own_pages(filled: Filled) -> None:
    there = "/api/lessons/{lesson}?run={run}".format(**filled.known)
    client = filled.app.test_client()
    assert client.get(there, headers=FOREIGN[1]).status_code == 403
    assert client.get(there).status_code == 200


def test_pages_elsewhere_are_counted_also_on_this_machine_and_by_themselves(filled: Filled) -> None:
    """The limit is one in a minute; nobody else of this machine has any."""
    client = filled.app.test_client()
    for number in range(2):
        foreign = client.get(f"/api/by-hand/a?temperature=1.{number}", headers=FOREIGN[0])
        own = client.get(f"/api/by-hand/a?temperature=2.{number}", headers={"Sec-Fetch-Site": "same-origin"})
        assert own.status_code == 200
    assert foreign.status_code == 429


def test_a_secret_is_of_one_thing(filled: Filled) -> None:
    ((run, secret),) = filled.secrets.items()
    client = filled.app.test_client()
    assert client.delete(f"/api/runs/{filled.known['run']}", headers=bearer(secret)).status_code == 403
    assert client.delete(f"/api/runs/{run}", headers=bearer(TOKEN)).status_code == 403
    assert client.delete(f"/api/runs/{ended(client, run)}", headers=bearer(secret)).status_code == 204


def test_a_route_that_declares_nothing_is_not_served() -> None:
    @declare(SENDS)
    def declares() -> None: ...

    assert declared({"one": declares}) == {"one": SENDS}
    with pytest.raises(LookupError, match="two"):
        declared({"one": declares, "two": lambda: None})


def test_the_document_asks_for_what_the_table_says(filled: Filled) -> None:
    published = filled.app.test_client().get("/api/openapi.json").json["paths"]
    for method, path, access in routes(filled):
        operation = published.get(path, {}).get(method.lower())
        if operation is not None:
            asks = {name for way in operation.get("security", []) for name in way}
            assert asks == {"anyone": set(), "token": {"server_token"}, "secret": {"delete_token"}}[access.who]
            assert ("401" in operation["responses"]) == (access.who != "anyone")
            assert "429" in operation["responses"] or not access.counted
            assert ("403" in operation["responses"]) or access != DELETES


def test_the_table_that_is_written_down_is_the_code_s(app: Flask) -> None:
    written = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    assert table.markdown(app) in written, "python -m kvscope.app.routes"
