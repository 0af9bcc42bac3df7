"""Reads a block of YAML into its schema. Each mistake is reported once, with its line and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kvscope.app.learn.faults import Fault
from kvscope.app.learn.picture import unknown
from kvscope.app.learn.schema import Bounds, Choice, Claim, Front, Strict

Model = TypeVar("Model", bound=Strict)
INSIDE: dict[str, type[Strict]] = {"check": Bounds, "cell": Bounds, "claims": Claim, "choices": Choice}
"""Schemas of nested members."""
KINDS = ("str", "constrained-str", "int", "float", "bool", "Bounds", "Choice")
"""Names that pydantic adds to the place of a mistake in a value of several types."""
QUOTE = 'put a text in quotes that has ": " in it or begins with one of { [ & * ! % @ ` > | or a quote'
MUST_BE = {
    "list_type": "must be a list, such as [a, b]",
    "dict_type": "must be members with values, such as {view: head}",
    "model_type": "must be members with values, such as title: A title",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be a text",
}
"""By pydantic's name of the mistake."""
RANKS = {
    "string_type": 1,
    "model_type": 2,
    "int_type": 2,
    "float_type": 2,
    "bool_type": 2,
    "int_parsing": 2,
    "float_parsing": 2,
    "bool_parsing": 2,
}
"""Which mistake is reported for a value of several types: the one with the smallest rank."""
READ_AS = {dict: "a mapping", list: "a list", bool: "yes or no", int: "a number", float: "a number"}


def read_block(model: type[Model], text: str, file: str, line: int) -> tuple[Model | None, list[Fault]]:
    """Reads a block. `line`: the line before its first, from 1."""
    try:
        content = yaml.safe_load(text)
        return model.model_validate({} if content is None else content), []
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else 0
        return None, [Fault(file, line + at, f"this is not YAML: {error.problem}; {QUOTE}")]
    except yaml.YAMLError as error:
        return None, [Fault(file, line, f"this is not YAML: {error}; {QUOTE}")]
    except ValidationError as error:
        return None, [
            Fault(file, line + _line_of(_place(mistake), text), _said(mistake, model)) for mistake in _causes(error)
        ]


def readable(text: str) -> Front | None:
    """Returns the correct members of front matter; None if it is not a mapping."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    if not isinstance(content, dict):
        return None
    whole = {"title": "-", "minutes": 1} | content
    try:
        return Front.model_validate(whole)
    except ValidationError as error:
        wrong = {mistake["loc"][0] for mistake in error.errors() if mistake["loc"]}
        return Front.model_validate({"title": "-", "minutes": 1} | {n: v for n, v in content.items() if n not in wrong})


def allowed(model: type[Strict]) -> str:
    """Returns the names of a block's members, in a sentence."""
    return f"allowed are {', '.join(model.model_fields)}"


def _causes(error: ValidationError) -> Iterator[ErrorDetails]:
    """Yields one mistake per place. A member that is missing because another is misspelt is not reported."""
    errors = error.errors()
    strangers = [str(mistake["loc"][-1]) for mistake in errors if mistake["type"] == "extra_forbidden"]
    reported = set[tuple[int | str, ...]]()
    # In a value of several types, a mistake inside a mapping says more than that it is not a text.
    for mistake in sorted(errors, key=lambda mistake: (-len(_place(mistake)), RANKS.get(mistake["type"], 0))):
        place = _place(mistake)
        misspelt = mistake["type"] == "missing" and any(
            "did you mean" in unknown(name, [str(place[-1])]) for name in strangers
        )
        if not misspelt and not any(other[: len(place)] == place for other in reported):
            reported.add(place)
            yield mistake


def _place(error: ErrorDetails) -> tuple[int | str, ...]:
    """Returns the place of a mistake, without the names of types that pydantic adds."""
    first, *rest = error["loc"] or ("",)
    place = [part for part in rest if not (str(part) in KINDS or "Bounds" in str(part) or "[" in str(part))]
    return (first, *place) if first != "" else ()


def _said(error: ErrorDetails, model: type[Strict]) -> str:
    place = _place(error)
    name = ".".join(map(str, place)) or "this block"
    if error["type"] == "extra_forbidden":
        inside = INSIDE.get(str(place[0]), model) if len(place) > 1 else model
        return f"{name} is unknown; {allowed(inside)}"
    if error["type"] == "missing":
        return f"{name} is missing"
    value = error["input"]
    if len(place) == 2 and place[0] in ("check", "cell") and error["type"] in RANKS:
        return f"{name} must be a value, or bounds: {', '.join(Bounds.model_fields)}"
    if error["type"] == "string_type" and type(value) in READ_AS:
        return f"{name} is read as {READ_AS[type(value)]}: put the text in quotes"
    if error["type"] in MUST_BE:
        return f"{name} {MUST_BE[error['type']]}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}"


def _line_of(place: tuple[int | str, ...], text: str) -> int:
    """Returns the line of a block on which a member begins, from 1; 0 if the text does not have it."""
    name = next((str(part) for part in place), "")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.lstrip("- ").startswith(f"{name}:"))
    return next(lines, 0)
