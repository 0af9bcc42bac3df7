"""Addresses that a step may show. app.learn.picture has the pages, fields and values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from kvscope.app.learn.picture import STAGE, Field, Picture, pictures, unknown
from kvscope.model.log.reader import LogReader

Place = Literal["search", "hash"]
SIGNS: Mapping[Place, str] = {"search": "?", "hash": "#"}
NUMBER = re.compile(r"-?\d+(\.\d+)?")


class BadAddress(ValueError):
    """An address that KVScope does not have; the message names what is allowed."""


@dataclass(frozen=True, slots=True)
class Address:
    """`path`: the page's path. `state`: the fields that the address sets, numbers as numbers."""

    path: str
    state: Mapping[str, Any]

    @property
    def is_stage(self) -> bool:
        return self.path == STAGE

    @property
    def page(self) -> Picture:
        return pictures()[self.path]


def address_of(text: str) -> Address:
    """Parses an address. Raises BadAddress."""
    parts = urlsplit(text)
    page = pictures().get(parts.path)
    if page is None:
        raise BadAddress(f"{parts.path or text} is no page; {unknown(parts.path, pictures())}")
    state = _set(parts.path, page, "search", parts.query)
    # A fragment without values names a place on a page, such as a heading.
    if parts.path == STAGE or "=" in parts.fragment:
        state |= _set(parts.path, page, "hash", parts.fragment)
    for name in str(state.get("focus", "")).split(",") if page.page_parts and "focus" in state else ():
        if name not in (known := page.focuses(state.get("view"))):
            raise BadAddress(f"focus: no part is named {name} there; {unknown(name, known)}")
    return Address(parts.path, state)


def _set(path: str, page: Picture, place: Place, text: str) -> dict[str, Any]:
    return {
        name: _value(name, value, _field(path, page, place, name))
        for name, value in parse_qsl(text, keep_blank_values=True)
    }


def _field(path: str, page: Picture, place: Place, name: str) -> Field:
    sign, names = SIGNS[place], page.set_by(place)
    if name in names:
        return page.state[name]
    for other, its_sign in SIGNS.items():
        if name in page.set_by(other):
            raise BadAddress(f"{path} reads {name} after {its_sign}, not after {sign}")
    if name in page.reported:
        raise BadAddress(f"an address of {path} cannot set {name}; {unknown(name, names)}")
    raise BadAddress(f"{path} has no {name} after {sign}; {unknown(name, names)}")


def _value(name: str, text: str, field: Field) -> Any:
    if field.kind == "choice" and text not in field.of:
        raise BadAddress(f"{name} is {text}; {unknown(text, field.of)}")
    if field.kind == "flag" and text not in ("0", "1"):
        raise BadAddress(f"{name} is {text}; it must be 0 or 1")
    least = int(field.from_ or 0)
    if field.kind == "whole" and not (text.isdecimal() and int(text) >= least):
        raise BadAddress(f"{name} is {text or 'empty'}; it must be a whole number from {least}")
    return (float(text) if "." in text else int(text)) if NUMBER.fullmatch(text) else text


def counts_of(run: LogReader) -> Mapping[str, int]:
    """Returns a run's counts by the names in `Field.below`, and `prompt`: its prompt tokens."""
    model = run.open["model"]
    sizes = {name: int(model[name]) for name in ("layers", "heads", "vocab")}
    return {**sizes, "steps": len(run.steps), "positions": len(run.tokens), "prompt": run.prompt_length}


def outside(state: Mapping[str, Any], counts: Mapping[str, int]) -> str | None:
    """Names the first field of a Stage address that a run does not have, in a sentence. None if it has all.

    `counts`: the run's (`counts_of`).
    """
    step = min(state.get("step", 0), counts["steps"] - 1)
    positions = counts["prompt"] + max(step, 0)
    below = {**counts, "positions": positions}
    for name, field in pictures()[STAGE].state.items():
        last = below[field.below] - 1 if field.below else None
        if name == "key":
            last = min(state.get("query", positions - 1), positions - 1)
        if last is not None and name in state and state[name] > last:
            return f"{name} is {state[name]}; on this run it is at most {last}"
    return None
