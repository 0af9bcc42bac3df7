"""The published document says what the server does: every route is in it, and any request it allows is answered as it
says (schemathesis; every other test over HTTP holds its answers against it too, tests/support/contract.py)."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from schemathesis.config import SchemathesisConfig
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished
from schemathesis.engine.recorder import ScenarioRecorder

from kvscope.app.http.access import SENDS
from kvscope.app.http.openapi import METHODS, document, path_of
from kvscope.app.settings import Settings
from tests.support.live_server import FAKE
from tests.support.over_http import control, delete, derived, finished, serving, share, start

ACCEPTED = ("2xx", "304", "401", "403", "404", "409", "410", "422", "429")
"""What a request that the document allows may be answered with."""
OTHER_FORM = "501"
"""What oEmbed wants said of XML."""
EXAMPLES = 10
"""Requests made up for each operation."""


def test_every_route_but_the_pages_is_described(app: Flask) -> None:
    served = {
        (path_of(rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in set(METHODS) & (rule.methods or set())
        if rule.rule.startswith("/api/") or app.view_functions[rule.endpoint].__dict__.get("access") is not SENDS
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


@dataclass(frozen=True, slots=True)
class Filled:
    """A server with runs in every state and sessions. `known`: their ids, by the parameter that takes them."""

    app: Flask
    settings: Settings
    known: dict[str, list[str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("filled")
    settings = Settings(data_dir=folder / "data", service=FAKE, recordings_dir=folder, max_open_runs=200)
    with serving(settings) as app:
        client = app.test_client()
        ended, paused = finished(client), start(client, max_new_tokens=256)
        control(client, paused, "pause")
        twin = derived(client, ended, "twin", cache="none")
        kept, gone = share(client, ended, title="kept"), share(client, ended, title="gone")
        delete(client, gone)
        addresses = [f"http://localhost/{path}/{session['id']}" for path in ("s", "embed") for session in (kept, gone)]
        room = client.post("/api/rooms", json={"address": "/"}).json["code"]
        known = {"run": [ended, paused, twin], "session": [kept["id"], gone["id"]], "url": addresses, "code": [room]}
        yield Filled(app, settings, known)


def configuration(unavailable: tuple[str, ...]) -> SchemathesisConfig:
    """All checks of schemathesis. `unavailable`: statuses above 499 that may be answered where they are documented."""
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "continue-on-failure": True,
            "headers": {"Accept-Encoding": "identity"},  # nothing is decoded on the way here
            "generation": {
                "deterministic": True,
                "database": "none",
                "max-examples": EXAMPLES,
                "allow-extra-parameters": False,  # parameters of other names are passed over
            },
            "checks": {
                "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", *unavailable]},
                # What is out of the run's bounds the document cannot know.
                "positive_data_acceptance": {"expected-statuses": [*ACCEPTED, *unavailable]},
                "negative_data_rejection": {"expected-statuses": ["4xx", *unavailable]},
                # `/api/sessions/<id>.safetensors` can be deleted as little as any other id that there is not.
                "allow_header_conformance": {"enabled": False},
            },
        }
    )


def ask_everything(
    app: Flask, known: dict[str, list[str]], unavailable: tuple[str, ...] = (OTHER_FORM,)
) -> Counter[tuple[str, int]]:
    """Boundary values, made-up requests and chains of them, good and bad, most about what exists: how often each
    operation answered with each status. Fails unless all is as documented.
    """
    published = app.test_client().get("/api/openapi.json").json
    for operation in (operation for methods in published["paths"].values() for operation in methods.values()):
        for parameter in operation["parameters"]:
            if parameter["name"] in known:
                parameter["schema"] = {"enum": [*known[parameter["name"]], "nobody"]}
    schema = schemathesis.openapi.from_dict(published, config=configuration(unavailable))
    schema.app = app
    answered, found = Counter[tuple[str, int]](), []
    for event in schemathesis.engine.from_schema(schema).execute():
        if isinstance(event, NonFatalError | FatalError):
            found.append(repr(event))
        if isinstance(event, ScenarioFinished):
            found += list(failures(event.recorder))
            for case, interaction in event.recorder.interactions.items():
                if interaction.response is not None:
                    answered[event.recorder.cases[case].value.operation.label, interaction.response.status_code] += 1
    assert not found, "\n\n".join(found)
    assert {label for label, _ in answered} == {operation.ok().label for operation in schema.get_all_operations()}
    return answered


def failures(recorder: ScenarioRecorder) -> Iterator[str]:
    for case, checks in recorder.checks.items():
        sent = recorder.interactions[case].request
        for check in checks:
            if check.failure_info:
                failure = check.failure_info.failure
                yield f"{sent.method} {sent.uri} {sent.body!r}: {failure.title} {failure.message}"


@pytest.mark.processes
@pytest.mark.timeout(600)
def test_any_request_is_answered_as_the_document_says(filled: Filled) -> None:
    answered = ask_everything(filled.app, filled.known)
    without = {label for label, _ in answered} - {label for label, status in answered if status < 400}
    no_token = {"DELETE /api/sessions/{session}", "DELETE /api/runs/{run}"}  # no made-up one is right
    # Of some rooms, the secret comes from an answer to an earlier request of the chain.
    of_rooms = {label for label in without if "/api/rooms/" in label}
    from_elsewhere = {"GET /api/engines", "POST /api/engines", "POST /api/engines/{name}/drain"}
    assert without - of_rooms == no_token | from_elsewhere


@pytest.mark.processes
@pytest.mark.timeout(600)
def test_so_it_is_while_the_model_loads(filled: Filled) -> None:
    with serving(replace(filled.settings, model="load=600"), ready=False) as app:
        answered = ask_everything(app, filled.known, (OTHER_FORM, "503"))
    assert answered["POST /api/runs", 503]
    assert answered["GET /readyz", 503]
    assert answered["GET /api/sessions/{session}/frames", 200]
