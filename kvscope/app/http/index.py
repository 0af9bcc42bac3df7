"""`GET /api/index`: what the search of the pages finds, each entry with the address of the place that shows it.

The entries are written once, in the tables of static/: ideas, views, settings, figures and names printed elsewhere, and
what is not here in find.json and figures.json, terms in glossary.json, pages in pages.json; recordings and lessons
say themselves what they are. An address names a recording by the name of its file, `/s/animal#step=3`, since the id of
a session follows from its content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Blueprint, Response

from kvscope.app.http.access import SENDS
from kvscope.app.http.answers import Index, IndexEntry, IndexKind
from kvscope.app.http.caching import json_response
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.site import site
from kvscope.app.learn.library import Library
from kvscope.app.page_table import pages
from kvscope.app.paths import STATIC
from kvscope.app.store.gallery import Card, Recording

FIGURES = STATIC / "shared" / "figures" / "figures.json"
RECORDING = re.compile(r"(?<=^/s/)[a-z-]+")
"""The name of a recording in an address."""


def blueprint(recorded: Sequence[Recording], library: Library) -> Blueprint:
    """Returns the route. It reads the lessons of `library` at each request."""
    routes = Blueprint("index", __name__)
    cards = {
        recording.path.stem: recording.card
        for recording in sorted(recorded, key=lambda recording: recording.order)
        if recording.card
    }
    tables, recordings = [*of_tables(cards)], [*of_recordings(cards)]

    @routes.get("/api/index")
    @describe(SENDS, "Everything that the search of the pages finds", {200: json_answer("all entries", Index)})
    def all_entries() -> Response:
        written = site()
        saved = [*of_sessions(written.sessions)] if written else []
        missing = {page.id for page in pages() if page.server} if written else set[str]()
        listed = [entry for entry in tables if entry["kind"] != "page" or entry["id"] not in missing]
        return json_response({"entries": [*listed, *of_lessons(library), *recordings, *saved]}, "no-cache")

    return routes


def of_tables(cards: dict[str, Card]) -> Iterator[IndexEntry]:
    """Yields terms, ideas, views, settings, things elsewhere and pages, without addresses of missing recordings."""
    for id, term in _table("glossary").items():
        yield _entry("term", {**term, "id": id, "address": _opened(term.get("show"), cards)})
    for kind, entries in _table("find").items():
        yield from (_entry(kind, {**entry, "address": _opened(entry["address"], cards)}) for entry in entries)
    for figure in json.loads(FIGURES.read_text("utf-8")):
        yield _entry("printed", {**figure, "address": f"/learn/figures?figure={figure['id']}"})
    for page in pages():
        yield _entry("page", {"id": page.id, "name": page.name, "text": page.description, "address": page.address})


def of_lessons(library: Library) -> Iterator[IndexEntry]:
    """Yields the lessons. All names of a lesson's ideas, the titles of its steps and the questions that lead to it find
    it; its text names the ideas.
    """
    ideas = {idea["id"]: idea for idea in _table("find")["idea"]}
    questions, titles = library.paths.questions, library.titles
    times = Counter(title for each in titles.values() for title in each)
    for lesson in library.listed:
        shown = [ideas[id] for id in lesson.ideas if id in ideas]
        also = [
            *(name for idea in shown for name in idea.get("also", [])),
            *(question.ask for question in questions if question.leads.partition("#")[0] == lesson.id),
            *(title for title in titles.get(lesson.id, ()) if times[title] == 1),
        ]
        words = {"name": lesson.title, "text": ". ".join(idea["name"] for idea in shown), "also": also}
        yield _entry("lesson", {"id": lesson.id, **words, "address": f"/learn/{lesson.id}"})


def of_recordings(cards: dict[str, Card]) -> Iterator[IndexEntry]:
    """Yields the recordings in the order of the gallery."""
    for name, card in cards.items():
        words = {"name": card.title, "text": card.sentence, "also": [card.shows, name]}
        yield _entry("recording", {"id": card.id, **words, "address": f"/s/{card.id}"})


def of_sessions(sessions: Sequence[Mapping[str, Any]]) -> Iterator[IndexEntry]:
    """Yields the saved sessions, which only a static site lists."""
    for session in sessions:
        words = {"name": session["title"] or session["prompt"], "text": session["prompt"], "also": []}
        yield _entry("recording", {"id": session["id"], **words, "address": f"/s/{session['id']}"})


def _entry(kind: IndexKind, fields: dict[str, Any]) -> IndexEntry:
    plain = {field: fields[field] for field in ("id", "name", "text", "address")}
    return IndexEntry(kind=kind, also=fields.get("also", []), **plain)  # type: ignore[typeddict-item]


def _opened(address: str | None, cards: dict[str, Card]) -> str | None:
    """Replaces the name of a recording with the id of its session. None if this installation lacks the recording."""
    named = RECORDING.search(address or "")
    if address is None or named is None:
        return address
    return RECORDING.sub(cards[named[0]].id, address) if named[0] in cards else None


def _table(name: str) -> dict[Any, Any]:
    table: dict[Any, Any] = json.loads((STATIC / "shared" / "words" / f"{name}.json").read_text("utf-8"))
    return table
