"""Reads JSON from clients and files into pydantic models.

A mistake raises Refused with the field and the limit. The limit comes from the model's JSON Schema, which is also
published, or from the bounds of the run that is asked about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from kvscope.model.api import Refused
from kvscope.model.log.untrusted import marks
from kvscope.model.settings import Settings

Bounds = Mapping[str, tuple[int, int]]
"""Lowest and highest value by the name of a member, at any depth."""

BOUNDS = "{name} is {value}; it must be from {low} to {high}"
ABOVE = "{name} is {value}; it must be a number above {low}, at most {high}"
SENTENCES = {
    "missing": "{name} is missing",
    "int_type": "{name} is {value}; it must be an integer",
    "greater_than_equal": BOUNDS,
    "less_than_equal": BOUNDS,
    "out_of_bounds": BOUNDS,
    "nowhere": "{name} does not exist in this log; leave it out",
    "float_type": ABOVE,
    "finite_number": ABOVE,
    "greater_than": ABOVE,
    "bool_type": "{name} is {value}; it must be true or false",
    "literal_error": "{name} is {value}; it must be one of {choices}",
    "string_type": "{name} is {value}; it must be text",
    "string_too_short": "{name} is empty; it must have at least one character",
    "string_too_long": "{name} has {length:,} characters; it must have at most {high}",
    "string_unicode": "{name} is not valid Unicode: it contains half of a surrogate pair",
    "string_pattern_mismatch": "{name} contains a control character, or one that changes the text direction; remove it",
    "list_type": "{name} must be a list of at most {high} items",
    "too_long": "{name} must be a list of at most {high} items",
    "model_type": "{name} is {value}; it must be a JSON object",
    "head_of_no_layer": "{name} is missing; a head needs its layer",
    "keeps_nothing": "{name} belongs to the caches window, sinks and heavy; leave it out",
    "not_of_change": "{name} does not belong to a change of this site and op; leave it out",
    "not_a_page": "{name} is {value}; it must be the address of a page of this server, such as /learn/cache#3",
    "few_choices": "{name} must be at least two different answers, and only of a question of the kind choice",
    "not_an_id": "{name} must be 32 hexadecimal digits in small letters",
    "not_of_expert": "{name} of an expert must be zero or scale",
    "small_budget": "{name} must be from {low} to {high}: every pass has a row for each of the requests that at_once "
    "allows, and for each guess of theirs",
    "not_with_blocks": '{name} does not go with "prefix": "blocks": requests share full blocks, keep all their rows, '
    "and get one block after the other; leave it out",
    "only_with_blocks": '{name} goes only with "prefix": "blocks": it needs blocks that are found by their content',
    "prefill_engines": "{name} must be from {low} to {high}: of the engines, at least one must decode",
    "prefill_of_stages": "{name} does not go with two stages, which have one half of the layers each; leave it out",
    "draft_of_stages": "{name} does not go with two stages: the first layers alone would compute it; leave it out",
    "tier_of_engines": "{name} does not go with engines of the round's own; their clocks count passes; leave it out",
    "prompt_or_messages": "{name} is missing; a request has a prompt, or messages",
    "prompt_and_messages": "{name} does not go with messages, which are the whole conversation; leave out one of them",
    "not_with_engines": "{name} cannot be cancelled or retried in a round with engines of its own; leave out "
    "cancel_ms, cancel_tokens and retry_of",
}
"""Messages by pydantic's kind of error; its own are for programmers and name only one bound. Other kinds keep theirs.
"""
MOST_MARKS, MOST_MEMBERS = 120_000, 1000
"""Most commas and brackets of a body (the longest notes may have as many), and most members of an object. More would
block the process for half a second."""
MOST_SHOWN = 40
"""Most characters of a value that a message repeats."""
UNBOUNDED = (
    *("nowhere", "string_unicode", "string_pattern_mismatch", "string_type"),
    *("head_of_no_layer", "keeps_nothing", "not_of_change", "not_of_expert", "not_a_page", "not_an_id", "few_choices"),
    *(
        "not_with_blocks",
        "only_with_blocks",
        "not_with_engines",
        "prompt_or_messages",
        "prompt_and_messages",
        "prefill_of_stages",
        "draft_of_stages",
        "tier_of_engines",
    ),
)
"""Kinds of errors that break no limit."""
STATUSES = {"extra_forbidden": 400, "string_unicode": 400, "string_too_long": 413}
"""Statuses by kind; all others are 422."""


class Body(Settings):
    """An object that a client sends."""


NOWHERE = (0, -1)
"""Bounds of something that does not exist."""
Model = TypeVar("Model", bound=BaseModel)


def _within(value: int, info: ValidationInfo) -> int:
    bounds: Bounds = info.context or {}
    low, high = bounds.get(str(info.field_name), (value, value))
    if (low, high) == NOWHERE:
        raise PydanticCustomError("nowhere", "nowhere")
    if not low <= value <= high:
        raise PydanticCustomError("out_of_bounds", "out of bounds")
    return value


Index = Annotated[int, Field(ge=0), AfterValidator(_within)]
"""A step, layer, head or position; the context of validation has its bounds."""
PositiveIndex = Annotated[int, Field(ge=1), AfterValidator(_within)]


def read(model: type[Model], body: bytes, bounds: Bounds | None = None) -> Model:
    """Parses a JSON object. Raises Refused."""
    if marks(body) > MOST_MARKS:
        raise Refused("body", f"The body has more than {MOST_MARKS:,} values.", limit=MOST_MARKS, status=413)
    try:
        parsed = json.loads(body.decode("utf-8"), object_pairs_hook=_members)
    except UnicodeDecodeError as error:
        raise Refused("body", f"The body is not valid UTF-8 at byte {error.start:,}.", status=400) from None
    except (ValueError, RecursionError) as error:
        what = str(error) or "nested too deeply"
        raise Refused("body", f"The body is not valid JSON: {what}.", status=400) from None
    if not isinstance(parsed, dict):
        raise Refused("body", "The body must be a JSON object.", status=400)
    return check(model, parsed, bounds)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members with names that an answer can repeat: half of a surrogate pair is replaced."""
    if len(pairs) > MOST_MEMBERS:
        raise ValueError(f"an object has more than {MOST_MEMBERS:,} members")
    return {name.encode("utf-8", "replace").decode(): value for name, value in pairs}


def check(model: type[Model], members: Mapping[str, Any], bounds: Bounds | None = None) -> Model:
    """Validates members. Raises Refused."""
    try:
        return model.model_validate(members, context=bounds or {})
    except ValidationError as error:
        raise _refused(model, error.errors(include_url=False), bounds or {}) from None


def _refused(model: type[BaseModel], errors: list[ErrorDetails], bounds: Bounds) -> Refused:
    """Returns the first mistake as Refused. In each object, an unknown member comes first."""
    first = errors[0]["loc"]

    def order(error: ErrorDetails) -> tuple[bool, int, str]:
        place = error["loc"]
        before = error["type"] == "extra_forbidden" and place[:-1] == first[: len(place) - 1]
        return (not before, len(place), str(place[-1])) if before else (True, 0, "")

    error = min(errors, key=order)
    place, kind, context = error["loc"], _kind(model, error), error.get("ctx", {})
    name, status = f"{_name(place)[:80]}{context.get('member', '')}", STATUSES.get(kind, 422)
    if kind == "extra_forbidden":
        known = [_name((*place[:-1], member)) for member in _schema_at(model, place[:-1])["properties"]]
        return Refused(
            name, f"The field {name!r} is unknown. Known fields: {', '.join(known)}.", limit=known, status=status
        )
    limit = None if kind in UNBOUNDED else context.get("limit", limit_of(model, place, bounds))
    return Refused(name, _sentence(kind, name, limit, error), limit=limit, status=status)


def _kind(model: type[BaseModel], error: ErrorDetails) -> str:
    """Returns pydantic's kind of an error, corrected where this contract differs."""
    kind = error["type"]
    if error["input"] is None and kind != "extra_forbidden":
        return "missing"
    if kind == "string_unicode" and "enum" in _schema_at(model, error["loc"]):
        return "literal_error"
    return "greater_than" if isinstance(error.get("ctx", {}).get("le"), float) else kind


def _sentence(kind: str, name: str, limit: Any, error: ErrorDetails) -> str:
    low, high = limit if isinstance(limit, list) and len(limit) == 2 else (0, limit)
    value = error["input"]
    sentence = SENTENCES.get(kind) or f"{name}: {error['msg']}".replace("{", "{{").replace("}", "}}")
    length = len(value) if isinstance(value, str) else 0
    choices = ", ".join(map(str, limit)) if isinstance(limit, list) else ""
    values = {"value": _shown(value), "low": _shown(low), "high": _shown(high)}
    return f"{sentence.format(name=name, length=length, choices=choices, **values)}."


def _shown(value: Any) -> str:
    """Writes a value for a message. Text is escaped and cut, since a client sent it."""
    if isinstance(value, str):
        return json.dumps(value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}…")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) < 10**MOST_SHOWN else f"a number of more than {MOST_SHOWN} digits"
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    return "a list" if isinstance(value, list | tuple) else "an object"


def _name(place: tuple[int | str, ...]) -> str:
    """`notes[1].layer` for ("notes", 1, "layer")."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def limit_of(model: type[BaseModel], place: tuple[int | str, ...], bounds: Bounds) -> Any:
    """Returns the limit of a member: least and most of a number or of a text's length, most items of a list, or its
    possible values. None if it has no limit.
    """
    if place and place[-1] in bounds:
        return list(bounds[str(place[-1])])
    schema = _schema_at(model, place)
    if "properties" in schema:
        return list(schema["properties"])
    return schema.get("enum") or schema.get("maxItems") or _limits(schema)


def _limits(schema: Mapping[str, Any]) -> list[int] | None:
    low = schema.get("minimum", schema.get("exclusiveMinimum", schema.get("minLength", schema.get("minItems", 0))))
    high = schema.get("maximum", schema.get("exclusiveMaximum", schema.get("maxLength", schema.get("maxItems"))))
    return None if high is None else [low, high]


def _schema_at(model: type[BaseModel], place: tuple[int | str, ...]) -> dict[str, Any]:
    whole = schema_of(model)
    schema = whole
    for part in place:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
        schema = schema.get("anyOf", [schema])[0]
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Returns a model's JSON Schema."""
    return model.model_json_schema()


def limits_of(model: type[BaseModel]) -> dict[str, list[int]]:
    """Returns the least and most of each member of an object and of nested objects, by name."""
    whole, limits_by_name = schema_of(model), {}
    for schema in (whole, *whole.get("$defs", {}).values()):
        for name, member in schema.get("properties", {}).items():
            limits = _limits(member.get("anyOf", [member])[0])
            if limits:
                limits_by_name[name] = limits
    return limits_by_name
