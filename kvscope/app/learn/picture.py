"""What a lesson may name of the pages that it shows: static/embed/picture.json.

Each page has its parts, which a step can light, and its state, which a task can ask for and partly an address can set.
Tests hold the table against the page's code.
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
"""How many names are listed at most: where one of them is meant, and where none is."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a page's state. `below`: the count of a run that it stays below; `from_`, `to`, `by`: the values
    that the page's control gives; `of`: the values of a choice; `none`: it may be null; `setting`: of the sampling, so
    a run of the reader's own can have any; `place`: the part of an address that sets it, empty if none does;
    `reported`: whether the page says it, so that a task can ask for it.
    """

    kind: Literal["whole", "number", "choice", "flag", "text"]
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
    """A view of the Stage. `name`: how a reader finds it."""

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A page. `parts`: those that are there whatever it shows."""

    paths: tuple[str, ...]
    state: Mapping[str, Field]
    parts: tuple[str, ...] = ()
    views: Mapping[str, View] = field(default_factory=dict)

    @property
    def reported(self) -> Mapping[str, Field]:
        """Fields that a task can ask for."""
        return {name: value for name, value in self.state.items() if value.reported}

    def set_by(self, place: Literal["search", "hash"]) -> tuple[str, ...]:
        """Fields that this part of an address sets."""
        return tuple(name for name, value in self.state.items() if value.place == place)

    def lights(self, view: str | None) -> tuple[str, ...]:
        """Names of the parts that can be lit, in one view or, without one, in any."""
        shown = [item for name, item in self.views.items() if view in (None, name)]
        return tuple(dict.fromkeys([*self.parts, *(part for item in shown for part in item.parts)]))


@cache
def pictures() -> Mapping[str, Picture]:
    """All pages by path."""
    pages = json.loads((STATIC / "embed" / "picture.json").read_text("utf-8"))
    return {path: page for page in map(_picture, pages) for path in page.paths}


def _picture(page: Mapping[str, Any]) -> Picture:
    views = {name: View(view["name"], tuple(view["parts"])) for name, view in page.get("views", {}).items()}
    state = {name: _field(name, value, tuple(views)) for name, value in page["state"].items()}
    return Picture(tuple(page["paths"]), state, tuple(page.get("parts", ())), views)


def _field(name: str, fields: Mapping[str, Any], views: tuple[str, ...]) -> Field:
    """`view` is one of the page's views."""
    renamed = {{"from": "from_", "in": "place"}.get(key, key): value for key, value in fields.items()}
    return Field(**renamed | {"of": views if name == "view" else tuple(fields.get("of", ()))})


def unknown(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that refuses a name: what may be meant, and what there is unless that is long."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.75)
    if not names:
        return "there is none"
    if not near:
        return f"there are {', '.join(names)}" if len(names) <= LONG else "docs/lessons.md lists them"
    return f"did you mean {near[0]}?" + (f" There are {', '.join(names)}" if len(names) <= SHORT else "")
