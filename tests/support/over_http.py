"""An application with the fake model in this process, and what its client asks of it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.settings import Settings
from kvscope.app.store.sessions import parts_table, sessions_table
from kvscope.model.log.frames import from_stream
from tests.support.contract import ContractClient
from tests.support.stored import change
from tests.support.waiting import eventually


def started(settings: Settings, ready: bool = True) -> Flask:
    """An application with its engine started and, if asked for, loaded."""
    app = create_app(settings)
    app.test_client_class = ContractClient
    app.extensions["kvscope"].start()
    if ready:
        eventually(lambda: app.extensions["kvscope"].engine.readiness.state == "ready")
    return app


@contextmanager
def serving(settings: Settings, ready: bool = True) -> Iterator[Flask]:
    """A started application, closed afterwards."""
    app = started(settings, ready)
    try:
        yield app
    finally:
        app.extensions["kvscope"].close()


NewClient = Callable[..., FlaskClient]
"""Of a started application of its own; `ready`: whether its model is to be loaded. All other options are settings."""


def start(client: FlaskClient, **fields: Any) -> str:
    response = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 3, **fields})
    assert response.status_code == 201, response.text
    return str(response.json["id"])


def frames(client: FlaskClient, run: str, query: str = "") -> list[bytes]:
    return list(from_stream(client.get(f"/api/runs/{run}/frames{query}").data))


def ended(client: FlaskClient, run: str) -> str:
    """The id of a run, once that has ended."""
    eventually(lambda: client.get(f"/api/runs/{run}").json["status"] == "closed")
    return run


def finished(client: FlaskClient, **fields: Any) -> str:
    return ended(client, start(client, **fields))


def control(client: FlaskClient, run: str, action: str) -> str:
    """The status that the answer states."""
    return str(client.post(f"/api/runs/{run}/control", json={"action": action}).json["status"])


def derived(client: FlaskClient, run: str, kind: str, **body: Any) -> str:
    """A branch, a study or a changed run of the run, once it has ended; its id."""
    response = client.post(f"/api/runs/{run}/{kind}", json=body)
    assert response.status_code == 201, response.text
    assert response.json["url"] == f"/?run={response.json['id']}"
    return ended(client, response.json["id"])


def problem(response: Any, status: int, field: str | None = None) -> dict[str, Any]:
    """The response is a problem document with this status about this field."""
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    document: dict[str, Any] = response.json
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert document.get("field") == field
    return document


WORDS = {
    "title": "Where it looks",
    "notes": [{"step": 2, "layer": 1, "head": 2, "text": "Here.\nAnd there."}, {"step": 0, "text": "Prefill"}],
    "open": {"step": 2, "layer": 1, "head": 0, "query": 4, "key": 1, "view": "pair"},
}


def share(client: FlaskClient, run: str | None = None, **words: Any) -> dict[str, str]:
    response = client.post(f"/api/runs/{run or finished(client)}/share", json=words)
    assert response.status_code == 201, response.text
    return response.json


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def delete(client: FlaskClient, shared: dict[str, str]) -> None:
    response = client.delete(f"/api/sessions/{shared['id']}", headers=bearer(shared["delete_token"]))
    assert response.status_code == 204, response.text
    assert response.data == b""


def damage(app: Flask, session: str, part: int | None) -> None:
    """Change the stored bytes of a part, of the manifest for None."""
    store = app.extensions["kvscope"].sessions
    if part is None:
        change(store, sessions_table, "manifest", 50, id=session)
    else:
        change(store, parts_table, "payload", 50, session=session, seq=part)


def bootstrap(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="bootstrap">(.*?)</script>', page, re.DOTALL)
    return json.loads(match[1])
