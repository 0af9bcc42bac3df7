"""Reads the body of a request to share a run: its title, its notes and what to open first.

Everything a client can get wrong ends in a Problem that names the field and the limit.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import choice, integer, members, read_object, valid_text
from kvscope.app.store.values import LEVELS

MAX_TITLE_CHARS = 200
MAX_NOTES = 50
MAX_NOTE_CHARS = 2000
MAX_SHARE_BYTES = 1536 * 1024
"""All notes at their longest still fit when every character is written as two escapes of six bytes."""
VIEWS = ("model", "block", "head", "pair", "tokens", "cache", "time")
BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Embeddings, overrides and isolates: one left open changes the order of what follows it."""

FIELDS = ("title", "notes", "open", "values")
PLACE = ("step", "layer", "head")
POINT = (*PLACE, "query", "key")


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of each a run has."""

    steps: int
    layers: int
    heads: int
    positions: int

    def highest(self, name: str) -> int:
        """The largest value of a place's coordinate."""
        sizes = {"step": self.steps, "layer": self.layers, "head": self.heads}
        return sizes.get(name, self.positions) - 1


def read_share(body: bytes, extent: Extent) -> dict[str, Any]:
    """`title`, `notes` and `open` of a session, absent members filled in, so that the same words are the same value."""
    fields = read_object(body, FIELDS)
    given = {"title": "", "notes": [], "open": {}} | {
        name: value for name, value in fields.items() if value is not None
    }
    title, notes = _text(given["title"], "title", 0, MAX_TITLE_CHARS, lines=False), given["notes"]
    if not isinstance(notes, list) or len(notes) > MAX_NOTES:
        raise Problem(422, f"notes must be a list of at most {MAX_NOTES}.", field="notes", limit=MAX_NOTES)
    return {
        "title": title,
        "notes": [_note(note, f"notes[{index}]", extent) for index, note in enumerate(notes)],
        "open": _opening(given["open"], extent),
    }


def read_level(body: bytes) -> str:
    """Which of session_values.LEVELS the session is to have."""
    return choice(read_object(body, FIELDS), "values", LEVELS, LEVELS[0])


def _note(value: Any, name: str, extent: Extent) -> dict[str, Any]:
    fields = members(value, (*PLACE, "text"), name)
    place = {part: _coordinate(fields, f"{name}.{part}", extent.highest(part)) for part in PLACE}
    if place["step"] is None:
        raise Problem(422, f"{name}.step is missing.", field=f"{name}.step", limit=[0, extent.highest("step")])
    if place["head"] is not None and place["layer"] is None:
        raise Problem(422, f"{name} names a head of no layer.", field=f"{name}.layer")
    return {**place, "text": _text(fields.get(f"{name}.text"), f"{name}.text", 1, MAX_NOTE_CHARS, lines=True)}


def _opening(value: Any, extent: Extent) -> dict[str, Any]:
    fields = members(value, (*POINT, "view"), "open")
    point = {part: _coordinate(fields, f"open.{part}", extent.highest(part)) for part in POINT}
    view = fields.get("open.view")
    return {**point, "view": None if view is None else choice(fields, "open.view", VIEWS, None)}


def _coordinate(fields: dict[str, Any], name: str, highest: int) -> int | None:
    return None if fields.get(name) is None else integer(fields, name, 0, highest)


def _text(value: Any, name: str, shortest: int, longest: int, *, lines: bool) -> str:
    """Text that reads the same wherever it is shown: no control characters, but for newlines where there are lines."""
    limit = [shortest, longest]
    if value is None:
        raise Problem(422, f"{name} is missing.", field=name, limit=limit)
    text = valid_text(value, name)
    if len(text) > longest:
        raise Problem(413, f"{name} has {len(text)} characters; at most {longest} are taken.", field=name, limit=limit)
    if len(text) < shortest:
        raise Problem(422, f"{name} is empty.", field=name, limit=limit)
    for character in text:
        if character in BIDI_CONTROLS or (
            unicodedata.category(character) == "Cc" and not (lines and character == "\n")
        ):
            detail = f"{name} has the control character U+{ord(character):04X}, which is not taken."
            raise Problem(422, detail, field=name)
    return text
