"""`GET /api/index`: what the search of the pages finds, each entry with the address of the place that shows it.

The entries are written once, in the tables of static/: ideas, views, settings and what is not here in find.json, terms
in glossary.json, pages in pages.json; recordings say themselves what they are. An address names a recording by the name
of its file, `/s/animal#step=3`, since the id of a session follows from its content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, jsonify

from kvscope.app.http.access import SENDS
from kvscope.app.http.answers import Index, IndexEntry
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.learn.library import Listed
from kvscope.app.page_table import pages
from kvscope.app.paths import static_dir
from kvscope.app.store.gallery import Recording

RECORDING = re.compile(r"(?<=^/s/)[a-z-]+")
"""The name of a recording in an address."""


def blueprint(recorded: Sequence[Recording], lessons: Sequence[Listed] = ()) -> Blueprint:
    """The route. `lessons`: in the order of the course."""
    routes = Blueprint("index", __name__)
    entries = [*map(_of_lesson, lessons), *index(recorded, lessons)]

    @routes.get("/api/index")
    @describe(SENDS, "Everything that the search of the pages finds", {200: json_answer("all entries", Index)})
    def all_entries() -> Response:
        response = jsonify(entries=entries)
        response.headers["Cache-Control"] = "no-cache"
        return response

    return routes


def index(recorded: Sequence[Recording], lessons: Sequence[Listed] = ()) -> Iterator[IndexEntry]:
    """The entries of the tables and of the recordings. An address that names none of the recordings is left out. An
    idea leads to its lesson, if it has one.
    """
    taught = {idea: _of_lesson(each)["address"] for each in reversed(lessons) for idea in each.ideas}
    sessions = {each.path.stem: each.card.id for each in recorded if each.card}
    for id, term in _table("glossary").items():
        yield _entry("term", {"id": id, **term, "address": term.get("show")}, sessions)
    for kind, entries in _table("find").items():
        for entry in entries:
            yield _entry(kind, {**entry, "address": taught.get(entry["id"], entry["address"])}, sessions)
    for page in pages():
        yield IndexEntry(kind="page", id=page.id, name=page.name, text=page.description, also=[], address=page.address)
    for card in sorted((each for each in recorded if each.card), key=lambda each: each.order):
        yield _of_recording(card)


def _entry(kind: Any, entry: Mapping[str, Any], sessions: Mapping[str, str]) -> IndexEntry:
    address = entry.get("address")
    named = RECORDING.search(address) if address else None
    if address and named:
        address = RECORDING.sub(sessions[named[0]], address) if named[0] in sessions else None
    also = list(entry.get("also", []))
    return IndexEntry(kind=kind, id=entry["id"], name=entry["name"], text=entry["text"], also=also, address=address)


def _of_lesson(lesson: Listed) -> IndexEntry:
    also, address = [lesson.id, *lesson.ideas, *lesson.introduces], f"/learn/{lesson.id}"
    return IndexEntry(kind="lesson", id=lesson.id, name=lesson.title, text=lesson.about, also=also, address=address)


def _of_recording(recording: Recording) -> IndexEntry:
    card = recording.card
    assert card is not None
    also, address = [card.shows, recording.path.stem], f"/s/{card.id}"
    return IndexEntry(kind="recording", id=card.id, name=card.title, text=card.sentence, also=also, address=address)


def _table(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((static_dir() / "shared" / "words" / f"{name}.json").read_text("utf-8"))
    return found
