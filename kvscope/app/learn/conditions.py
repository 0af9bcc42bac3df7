"""Whether a reader can fulfil what a task asks for, and has not done so before it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from kvscope.app.learn.picture import Field, unknown

Bounds = Mapping[str, Any]
"""By name of a bound, its value; `equals` is one of them."""
ORDER = {"above": gt, "below": lt, "at_least": ge, "at_most": le}
OWN_RUN = ("prompt", "branched_at", "run")
"""Fields that a task asks for to have a run of the reader's own, which may have any length and settings."""
WORDS = {"equals": "", "one_of": "one of", "differs_from": "other than", "at_least": "at least", "at_most": "at most"}


def holds(bounds: Bounds, value: Any) -> bool:
    """Whether a value is within bounds, as static/learn/player/conditions.js decides it."""
    return all(_holds(name, value, wanted) for name, wanted in bounds.items())


def _holds(name: str, value: Any, wanted: Any) -> bool:
    if name == "equals":
        return _written(value) == _written(wanted)
    if name == "one_of":
        return any(_written(value) == _written(each) for each in wanted)
    if name == "differs_from":
        return value is not None and _written(value) != _written(wanted)
    numbers = not any(isinstance(each, str | bool) or each is None for each in (value, wanted))
    return numbers and bool(ORDER[name](value, wanted))


def _written(value: Any) -> str:
    """A value as the page compares it: the number 1.0 is the number 1."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)


def wrong(conditions: Mapping[str, Bounds], state: Mapping[str, Field], counts: Mapping[str, int]) -> Iterator[str]:
    """Why nobody can fulfil these conditions on a page with this state, one sentence each.

    `counts`: of the run, by the names that `Field.below` has.
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
        if not (own_run and field.setting) and (why := _impossible(name, _numbers(bounds, field), field, below)):
            yield why


def _numbers(bounds: Bounds, field: Field) -> Bounds:
    """Bounds of a number, with the numbers that are written as texts, which the page compares as numbers too."""
    if field.kind not in ("whole", "number"):
        return bounds
    return {
        name: [_number(each) for each in value] if isinstance(value, list) else _number(value)
        for name, value in bounds.items()
    }


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _impossible(name: str, bounds: Bounds, field: Field, below: int | None) -> str | None:
    if field.kind == "text":
        ordered = [each for each in bounds if each in ORDER]
        return f"{name} is a text, which is never {_said(ordered[0], bounds[ordered[0]])}" if ordered else None
    values = list(_values(bounds, field, below))
    named = [bounds["equals"]] if "equals" in bounds else list(bounds.get("one_of", ()))
    if field.kind in ("choice", "flag") and "differs_from" in bounds:
        named.append(bounds["differs_from"])
    for each in named:
        if not any(holds({"equals": each}, value) for value in values):
            return f"{name} is never {_quoted(each)}; it is {_range(field, below)}"
    if not any(holds(bounds, value) for value in values):
        asked = " and ".join(_said(bound, value) for bound, value in bounds.items())
        return f"{name} is never {asked}; it is {_range(field, below)}"
    return None


def _values(bounds: Bounds, field: Field, below: int | None) -> Iterator[Any]:
    """Values of the field, among them one for each outcome of the bounds."""
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
        wanted = [each for value in bounds.values() for each in (value if isinstance(value, Sequence) else [value])]
        near = [least, *([most] if most is not None else [])]
        for each in wanted:
            if isinstance(each, int | float):
                nearest = round((each - least) / by)
                near += [least + by * (nearest + off) for off in (-1, 0, 1)]
        yield from (value for value in near if value >= least - by / 2 and (most is None or value <= most + by / 2))


def _range(field: Field, below: int | None) -> str:
    if field.kind == "choice":
        return f"one of {', '.join(field.of)}"
    if field.kind == "flag":
        return "true or false"
    least = _written(field.from_ or 0)
    most = field.to if field.to is not None else below - 1 if below is not None else None
    whole = "a whole number " if field.kind == "whole" else ""
    said = f"{whole}from {least}" + ("" if most is None else f" to {_written(most)}")
    return said + (f" in steps of {_written(field.by)}" if field.by else "") + (", or none" if field.none else "")


def _said(bound: str, value: Any) -> str:
    return f"{WORDS.get(bound, bound)} {_quoted(value)}".strip()


def _quoted(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_quoted, value))
    return '""' if value == "" else _written(value)


def hold_already(conditions: Mapping[str, Bounds], known: Mapping[str, Any]) -> bool:
    """Whether all conditions hold where a step begins. `known`: what is certain of the page's state there."""
    return all(name in known and holds(bounds, known[name]) for name, bounds in conditions.items())
