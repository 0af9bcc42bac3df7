"""Runs that many tests look at, and what is done with one without the page: shared, exported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.support.server import Server

SMALL_RUN = "The animal didn't cross the street because it was too"
PLACE = "#step=3&layer=13&head=8&query=8&key=1&view="
"""A place in a run of SMALL_RUN: “it” and “animal”."""
HOSTILE = '<img src=x onerror="alert(1)"></bdi><script>alert(2)</script> “it” שלום'
LEVELS = ("attention", "qkv", "block")
"""What a shared run may keep of the model's numbers, each more than the one before."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the server answered to a sharing."""

    id: str
    delete_token: str


def share(server: Server, run: str, **words: Any) -> Shared:
    """Share a run."""
    response = requests.post(f"{server.url}api/runs/{run}/share", json=words, timeout=60)
    assert response.status_code == 201, response.text
    answer = response.json()
    return Shared(answer["id"], answer["delete_token"])


def imported(server: Server, file: bytes) -> Shared:
    """Store a session from its file."""
    headers = {"Content-Type": "application/octet-stream"}
    response = requests.post(f"{server.url}api/sessions", data=file, headers=headers, timeout=60)
    assert response.status_code == 201, response.text
    return Shared(response.json()["id"], response.json()["delete_token"])


def carried(session: str, here: Server, there: Server) -> str:
    """Store a shared run on another server too; its id there."""
    return imported(there, requests.get(f"{here.url}api/sessions/{session}.safetensors", timeout=60).content).id


def note(step: int, text: str, layer: int | None = None, head: int | None = None) -> dict[str, Any]:
    return {"step": step, "layer": layer, "head": head, "text": text}


WORDS: dict[str, Any] = {
    "title": "What “it” means",
    "notes": [note(3, "Look at the row of it.", 13, 8)],
    "open": {"step": 3, "layer": 13, "head": 8, "query": 8, "key": 1, "view": "head"},
}


def export(server: Server, session: str, folder: Path) -> Path:
    """A shared run's HTML file, written where nothing else is."""
    response = requests.get(f"{server.url}api/sessions/{session}.html", timeout=60)
    assert response.status_code == 200, response.text
    path = folder / f"{session}.html"
    path.write_bytes(response.content)
    return path
