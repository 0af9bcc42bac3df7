"""What a lesson may name of the pages that it shows: static/embed/picture.json and page-parts.json.

Each page has parts, which a step can light, and a state: tasks can ask for it, and addresses can set some of it. Tests
compare the table with the page's code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal

from kvscope.app.paths import STATIC

STAGE = "/"
SHORT, LONG = 12, 60
"""Most names that a message lists: with a suggestion, and without."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a page's state. `below`: the run's count that it stays below. `from_`, `to`, `by`: range and step of
    the page's control. `of`: values of a choice. `none`: it may be null. `setting`: of the sampling, so a reader's own
    run may have any value. `place`: the part of an address that sets it; empty if none does. `reported`: the page
    reports it, so a task can ask for it.
    """

    kind: Literal["whole", "number", "choice", "flag", "text", "parts"]
    below: str = ""
    from_: float | None = None
    to: float | None = None
    by: float | None = None
    of: tuple[str, ...] = ()
    none: bool = False
    setting: bool = False
    place: Literal["", "search", "hash"] = ""
    reported: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """A view of the Stage. `name`: its name on the page."""

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A page. `parts`: its parts in every view. `page_parts`: those around a view, which a focus can name."""

    paths: tuple[str, ...]
    state: Mapping[str, Field]
    parts: tuple[str, ...] = ()
    views: Mapping[str, View] = field(default_factory=dict)
    page_parts: tuple[str, ...] = ()

    @property
    def reported(self) -> Mapping[str, Field]:
        """The fields that a task can ask for."""
        return {name: value for name, value in self.state.items() if value.reported}

    def set_by(self, place: Literal["search", "hash"]) -> tuple[str, ...]:
        """Returns the fields that this part of an address sets."""
        return tuple(name for name, value in self.state.items() if value.place == place)

    def focuses(self, view: str | None) -> tuple[str, ...]:
        """Returns the parts that a focus can name in a view, or in any."""
        return (*self.page_parts, *self.lights(view))

    def lights(self, view: str | None) -> tuple[str, ...]:
        """Returns the parts that can be lit in a view, or in any."""
        shown = [item for name, item in self.views.items() if view in (None, name)]
        return tuple(dict.fromkeys([*self.parts, *(part for item in shown for part in item.parts)]))


@cache
def pictures() -> Mapping[str, Picture]:
    """Returns all pages by path."""
    pages, around = (_table(name) for name in ("picture", "page-parts"))
    return {path: page for page in (_picture(each, tuple(around)) for each in pages) for path in page.paths}


def _table(name: str) -> list[Any]:
    table: list[Any] = json.loads((STATIC / "embed" / f"{name}.json").read_text("utf-8"))
    return table


def _picture(page: Mapping[str, Any], around: tuple[str, ...]) -> Picture:
    """Reads a page; only one with views has parts `around` them."""
    views = {name: View(view["name"], tuple(view["parts"])) for name, view in page.get("views", {}).items()}
    state = {name: _field(name, value, tuple(views)) for name, value in page["state"].items()}
    return Picture(tuple(page["paths"]), state, tuple(page.get("parts", ())), views, around if views else ())


def _field(name: str, fields: Mapping[str, Any], views: tuple[str, ...]) -> Field:
    """Reads a field; the values of `view` are the page's views."""
    renamed = {{"from": "from_", "in": "place"}.get(key, key): value for key, value in fields.items()}
    return Field(**renamed | {"of": views if name == "view" else tuple(fields.get("of", ()))})


def unknown(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message that refuses a name: a suggestion, and the known names if they are few."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.75)
    if not names:
        return "there is none"
    if not near:
        return f"there are {', '.join(names)}" if len(names) <= LONG else "docs/lessons.md lists them"
    return f"did you mean {near[0]}?" + (f" There are {', '.join(names)}" if len(names) <= SHORT else "")
