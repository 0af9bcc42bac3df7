"""Addresses that a step may show: one table of the pages that have a picture, and the fields of the Stage's hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

from kvscope.app.travel.words import View
from kvscope.model.log.reader import LogReader

VIEWS = (*get_args(View), "intro")
STAGE_FIELDS = ("step", "layer", "head", "query", "key", "view", "code")
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "/": (),
    "/by-hand/a": (),
    "/by-hand/b": (),
    "/memory": (
        "model",
        "config",
        "requests",
        "context",
        "prefix",
        "cache",
        "weights",
        "gpu",
        "gpus",
        "run",
        "session",
    ),
    "/serving": ("run", "experiment"),
    "/learn/reference": (),
    "/learn/loop": ("n", "k", "run"),
    "/learn/state": ("n", "gbit", "run"),
    "/learn/words": ("words",),
    "/gallery": (),
}
"""Pages by path, with the parameters that they read; those with none named read others that only they can check."""


class BadAddress(ValueError):
    """An address that leads nowhere; the message names what is allowed."""


@dataclass(frozen=True, slots=True)
class Address:
    """`page`: "stage", or the first part of the path; `place`: of the Stage, what the hash says."""

    page: str
    path: str
    search: str
    fragment: str
    place: Mapping[str, Any]


def address_of(text: str) -> Address:
    """Reads an address. Raises BadAddress."""
    parts = urlsplit(text)
    if parts.path not in PARAMETERS:
        raise BadAddress(f"{parts.path or text} is no page; pages are {', '.join(PARAMETERS)}")
    page = parts.path.split("/")[1] or "stage"
    allowed = PARAMETERS[parts.path]
    for name, _ in parse_qsl(parts.query):
        if allowed and name not in allowed:
            raise BadAddress(f"{parts.path} has no parameter {name}; it has {', '.join(allowed)}")
    place = dict(_field(name, value) for name, value in parse_qsl(parts.fragment)) if page == "stage" else {}
    return Address(page, parts.path, parts.query, parts.fragment, place)


def _field(name: str, text: str) -> tuple[str, Any]:
    if name not in STAGE_FIELDS:
        raise BadAddress(f"the Stage has no {name}; it has {', '.join(STAGE_FIELDS)}")
    if name == "view":
        if text not in VIEWS:
            raise BadAddress(f"view is {text}; it must be one of {', '.join(VIEWS)}")
        return name, text
    if not text.isdecimal():
        raise BadAddress(f"{name} is {text}; it must be a whole number from 0")
    return name, int(text)


def outside(place: Mapping[str, Any], run: LogReader) -> str | None:
    """What a place of the Stage names that the run does not have, in a sentence; None where it has all of it."""
    model = run.open["model"]
    step = place.get("step", 0)
    positions = run.prompt_length + min(step, max(len(run.steps) - 1, 0))
    most: Mapping[str, Callable[[], int]] = {
        "step": lambda: len(run.steps) - 1,
        "layer": lambda: model["layers"] - 1,
        "head": lambda: model["heads"] - 1,
        "query": lambda: positions - 1,
        "key": lambda: place.get("query", positions - 1),
    }
    for name, last in most.items():
        if name in place and place[name] > last():
            return f"{name} is {place[name]}; on this run it is at most {last()}"
    return None
