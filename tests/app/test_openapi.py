"""The published document says what the server does: every route is in it, and any request it allows is answered as it
says (schemathesis; every other test over HTTP holds its answers against it too, tests/app/contract.py)."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from schemathesis.config import SchemathesisConfig
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished

from app.openapi import METHODS, document, path_of
from app.settings import Settings
from tests.app.conftest import FAKE, eventually, started
from tests.app.contract import conforms
from tests.app.test_http_runs import finished, start
from tests.app.test_http_sessions import share

PAGES = ("/", "/s/{session}", "/static/{filename}")
"""What a browser opens, and what the page is made of."""
WITHOUT_TOKEN = "DELETE /api/sessions/{session}"
"""No made-up token is the right one."""
EXAMPLES = 25
"""Requests made up for each operation."""


def test_every_route_but_the_pages_is_described(app: Flask) -> None:
    served = {
        (path_of(rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in set(METHODS) & (rule.methods or set())
        if path_of(rule) not in PAGES
    }
    described = {(path, method) for path, methods in document(app, "1")["paths"].items() for method in methods}
    assert described == served
    assert {("/api/runs", "post"), ("/api/sessions/{session}", "delete"), ("/readyz", "get")} < described


def test_the_document_is_openapi_and_open_to_pages_elsewhere(client: FlaskClient, app: Flask) -> None:
    response = client.get("/api/openapi.json")
    assert response.json == json.loads(json.dumps(document(app, response.json["info"]["version"])))
    schemathesis.openapi.from_dict(response.json).validate()
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    again = client.get("/api/openapi.json", headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304


def test_every_name_that_is_referred_to_is_there(app: Flask) -> None:
    published = document(app, "1")

    def references(value: Any) -> Iterator[str]:
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            if name == "$ref":
                yield member
            elif isinstance(member, dict | list):
                yield from references(member)

    found = set(references(published))
    named = {f"#/components/{kind}/{name}" for kind, names in published["components"].items() for name in names}
    assert found <= named
    assert {name for name in named if "securitySchemes" not in name} - found == set()


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        ("/api/runs/nobody", lambda paths: paths["/api/runs/{run}"]["get"]["responses"].pop("404")),
        ("/healthz", lambda paths: paths["/healthz"]["get"]["responses"]["200"].update(content={"text/plain": {}})),
    ],
)
def test_an_answer_that_is_not_documented_is_noticed(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, asked: str, change: Any
) -> None:
    client.get(asked)

    def less(app: Flask, version: str) -> dict[str, Any]:
        published = copy.deepcopy(document(app, version))
        change(published["paths"])
        return published

    monkeypatch.setattr("tests.app.contract.document", less)
    with pytest.raises(AssertionError, match="not documented"):
        client.get(asked)


def test_a_member_that_is_not_documented_is_noticed(app: Flask) -> None:
    schema = {"$ref": "#/components/schemas/Health"}
    conforms(document(app, "1"), schema, {"status": "ok", "version": "1"}, "it")
    with pytest.raises(AssertionError, match="not documented"):
        conforms(document(app, "1"), schema, {"status": "ok", "version": "1", "more": 1}, "it")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, dict[str, list[str]]]]:
    """A server of its own with runs in every state and sessions, and their ids by the parameter that takes them."""
    folder = tmp_path_factory.mktemp("busy")
    app = started(Settings(data_dir=folder / "data", service=FAKE, recordings_dir=folder, max_open_runs=200))
    client = app.test_client()
    ended, paused = finished(client), start(client, max_new_tokens=256)
    client.post(f"/api/runs/{paused}/control", json={"action": "pause"})
    twin = client.post(f"/api/runs/{ended}/twin", json={"cache": "none"}).json["id"]
    eventually(lambda: client.get(f"/api/runs/{twin}").json["status"] == "closed")
    kept, gone = share(client, ended, title="kept"), share(client, ended, title="gone")
    client.delete(f"/api/sessions/{gone['id']}", headers={"Authorization": f"Bearer {gone['delete_token']}"})
    yield app, {"run": [ended, paused, twin], "session": [kept["id"], gone["id"]]}
    app.extensions["kvscope"].close()


CONFIGURATION = {
    "seed": 1,
    "continue-on-failure": True,
    "generation": {"deterministic": True, "database": "none", "max-examples": EXAMPLES},
    "checks": {
        # What is out of the run's bounds the document cannot know.
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "304", "401", "403", "404", "409", "410", "422", "429"]
        },
        "negative_data_rejection": {"expected-statuses": ["4xx"]},
        # `/api/sessions/<id>.safetensors` can be deleted as little as any other id that there is not.
        "allow_header_conformance": {"enabled": False},
    },
}


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_any_request_is_answered_as_the_document_says(busy: tuple[Flask, dict[str, list[str]]]) -> None:
    """Boundary values, made-up requests and chains of them, good and bad, most about runs and sessions that exist."""
    app, known = busy
    published = app.test_client().get("/api/openapi.json").json
    for operation in (operation for methods in published["paths"].values() for operation in methods.values()):
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                parameter["schema"] = {"enum": [*known[parameter["name"]], "nobody"]}
    schema = schemathesis.openapi.from_dict(published, config=SchemathesisConfig.from_dict(CONFIGURATION))
    schema.app = app
    answered, found = Counter[tuple[str, int]](), []
    for event in schemathesis.engine.from_schema(schema).execute():
        if isinstance(event, NonFatalError | FatalError):
            found.append(repr(event))
        if isinstance(event, ScenarioFinished):
            for case, checks in event.recorder.checks.items():
                sent = event.recorder.interactions[case].request
                wrong = [check.failure_info.failure for check in checks if check.failure_info]
                found += [f"{sent.method} {sent.uri} {sent.body!r}: {each.title} {each.message}" for each in wrong]
            for case, interaction in event.recorder.interactions.items():
                if interaction.response is not None:
                    label = event.recorder.cases[case].value.operation.label
                    answered[label, interaction.response.status_code] += 1
    assert not found, "\n\n".join(found)
    served = {label for label, status in answered if status < 400}
    assert served == {operation.ok().label for operation in schema.get_all_operations()} - {WITHOUT_TOKEN}
