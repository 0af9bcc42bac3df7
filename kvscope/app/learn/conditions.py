"""Checks that a reader can fulfil the conditions of a task, and that they do not hold before the task begins.

static/learn/player/conditions.js decides on the page whether they hold. tests/fixtures/conditions.json has the cases
that both must decide alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any

from kvscope.app.learn.picture import Field, unknown

Bounds = Mapping[str, Any]
"""The value of each bound by the bound's name; `equals` is one of them."""
ORDER = {"above": gt, "below": lt, "at_least": ge, "at_most": le}
OWN_RUN = ("prompt", "branched_at", "run")
"""A task with a condition on one of these asks for a run of the reader, of any length and with any settings."""
WORDS = {"equals": "", "one_of": "one of", "differs_from": "other than", "at_least": "at least", "at_most": "at most"}
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def holds(bounds: Bounds, value: Any) -> bool:
    """Returns whether a value is within all bounds. A number equals a text that spells it."""
    return all(_holds(name, value, bound) for name, bound in bounds.items())


def _holds(name: str, value: Any, bound: Any) -> bool:
    if name == "equals":
        return _same(value, bound)
    if name == "one_of":
        return any(_same(value, option) for option in bound)
    if name == "differs_from":
        return value is not None and not _same(value, bound)
    one, other = _number(value), _number(bound)
    return one is not None and other is not None and bool(ORDER[name](one, other))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    """Returns the value, or the number that a text spells, to 12 digits. None for anything else."""
    plain = float(value) if isinstance(value, str) and NUMBER.fullmatch(value) else value
    return float(f"{plain:.12g}") if _is_number(plain) else None


def _same(value: Any, other: Any) -> bool:
    if not _is_number(value) and not _is_number(other):
        return _written(value) == _written(other)
    return _number(value) is not None and _number(value) == _number(other)


def _written(value: Any) -> str:
    """Returns a value as JSON has it, a text without quotes, a number to 12 digits."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:.12g}" if _is_number(value) else str(value)


def wrong(conditions: Mapping[str, Bounds], state: Mapping[str, Field], counts: Mapping[str, int]) -> Iterator[str]:
    """Why nobody can fulfil these conditions on a page with this state, one sentence per condition.

    `counts`: of the run, by the names in `Field.below`.
    """
    own_run = any(name in conditions for name in OWN_RUN)
    for name, bounds in conditions.items():
        field = state.get(name)
        if field is None:
            yield f"the page has no state {name}; {unknown(name, state)}"
            continue
        below = counts.get(field.below)
        if own_run and field.below in ("steps", "positions"):
            below = None
        if not (own_run and field.setting) and (why := _impossible(name, bounds, field, below)):
            yield why


def _impossible(name: str, bounds: Bounds, field: Field, below: int | None) -> str | None:
    if field.kind == "text":
        ordered = [bound for bound in bounds if bound in ORDER]
        return f"{name} is a text, which is never {_phrase(ordered[0], bounds[ordered[0]])}" if ordered else None
    values = list(_values(bounds, field, below))
    named = [bounds["equals"]] if "equals" in bounds else list(bounds.get("one_of", ()))
    if field.kind in ("choice", "flag") and "differs_from" in bounds:
        named.append(bounds["differs_from"])
    for value in named:
        if not any(holds({"equals": value}, possible) for possible in values):
            return f"{name} is never {_quoted(value)}; it is {_range(field, below)}"
    if not any(holds(bounds, possible) for possible in values):
        phrase = " and ".join(_phrase(bound, value) for bound, value in bounds.items())
        return f"{name} is never {phrase}; it is {_range(field, below)}"
    return None


def _values(bounds: Bounds, field: Field, below: int | None) -> Iterator[Any]:
    """Values that the field can have, among them at least one for each outcome of the bounds."""
    if field.none:
        yield None
    if field.kind == "choice":
        yield from field.of
    elif field.kind == "flag":
        yield from (True, False)
    else:
        by = field.by or 1
        least = field.from_ or 0
        most = field.to if field.to is not None else below - 1 if below is not None else None
        near = [least, *([most] if most is not None else [])]
        for bound in bounds.values():
            for value in bound if isinstance(bound, list) else [bound]:
                if (number := _number(value)) is not None:
                    nearest = round((number - least) / by)
                    near += [least + by * (nearest + offset) for offset in (-1, 0, 1)]
        yield from (value for value in near if value >= least - by / 2 and (most is None or value <= most + by / 2))


def _range(field: Field, below: int | None) -> str:
    if field.kind == "choice":
        return f"one of {', '.join(field.of)}"
    if field.kind == "flag":
        return "true or false"
    least = _written(field.from_ or 0)
    most = field.to if field.to is not None else below - 1 if below is not None else None
    whole = "a whole number " if field.kind == "whole" else ""
    limits = f"{whole}from {least}" + ("" if most is None else f" to {_written(most)}")
    return limits + (f" in steps of {_written(field.by)}" if field.by else "") + (", or none" if field.none else "")


def _phrase(bound: str, value: Any) -> str:
    return f"{WORDS.get(bound, bound)} {_quoted(value)}".strip()


def _quoted(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_quoted, value))
    return '""' if value == "" else _written(value)


def hold_already(conditions: Mapping[str, Bounds], known: Mapping[str, Any]) -> bool:
    """Returns whether all conditions hold when a step begins. `known`: the page's state then, if it is certain."""
    return all(name in known and holds(bounds, known[name]) for name, bounds in conditions.items())
