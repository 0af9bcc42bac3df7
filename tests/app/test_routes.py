"""The table of routes is what the server does: each asks for what it says there, and costs no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from werkzeug.test import TestResponse

from kvscope.app import routes as table
from kvscope.app.http.access import DELETES, SENDS, Access, declare, declared
from kvscope.app.settings import Settings
from tests.support.asking import ASK, BODIES, QUERY, QUERY_OF
from tests.support.live_server import FAKE
from tests.support.over_http import bearer, finished, share, started
from tests.support.waiting import eventually

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
        body: dict[str, Any] = {"json": BODIES.get(path, {})} if method == "POST" else {}
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
    app = started(settings)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    run = finished(client, max_new_tokens=4)
    made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}).json
    shared = share(client, run)
    waiting = {"requests": [{**ASK, "arrives_ms": 60_000}], "rounds": [{}]}
    workload = client.post("/api/workloads", json=waiting)
    known = {
        "run": run,
        "session": shared["id"],
        "workload": workload.json["id"],
        "number": "0",
        "name": "no-such-engine",
        "example": "a",
        "lesson": client.get("/api/lessons").json["lessons"][0]["id"],
        "filename": "main.js",
    }
    yield Filled(app, known, {made["id"]: made["delete_token"]})
    app.extensions["kvscope"].close()


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


def test_what_anyone_may_call_stores_nothing_and_asks_the_engine_only_where_that_is_counted(
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
            if access.who == "anyone":
                del asked[:], written[:]
                with filled.ask(method, path, {}):
                    pass
                assert not written, (method, path)
                assert access.counted or not asked, (method, path)
    finally:
        sa.event.remove(parts.runs.engine, "before_cursor_execute", statement)


def test_a_secret_is_of_one_thing(filled: Filled) -> None:
    ((run, secret),) = filled.secrets.items()
    client = filled.app.test_client()
    assert client.delete(f"/api/runs/{filled.known['run']}", headers=bearer(secret)).status_code == 403
    assert client.delete(f"/api/runs/{run}", headers=bearer(TOKEN)).status_code == 403
    eventually(lambda: client.get(f"/api/runs/{run}").json["status"] == "closed")
    assert client.delete(f"/api/runs/{run}", headers=bearer(secret)).status_code == 204


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
