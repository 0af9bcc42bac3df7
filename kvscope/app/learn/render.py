"""A lesson over the facts of a run, for the player: expressions computed, false claims with their alternative text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvscope.app.learn.addresses import BadAddress
from kvscope.app.learn.compute import Computer, NotComputed
from kvscope.app.learn.faults import Fault
from kvscope.app.learn.nodes import Node, Unsupported
from kvscope.app.learn.parse import Lesson, Step
from kvscope.app.learn.schema import Bounds, Choice, Conditions, Do, Predict, Value

FAULTY = "This step has a mistake in its file and cannot be shown whole: "


def rendered(lesson: Lesson, computer: Computer) -> dict[str, Any]:
    """Returns the lesson as JSON. `problem` gives the reason for anything that cannot be computed."""
    front = lesson.front
    steps: list[dict[str, Any]] = []
    for step in lesson.steps:
        before = steps[-1]["at"] if steps else None
        steps.append(_step(step, lesson.file, computer, before))
    return {
        "id": lesson.id,
        "title": front.title if front else lesson.id,
        "minutes": front.minutes if front else None,
        "ideas": front.ideas if front else [],
        "steps": steps,
    }


def _step(step: Step, file: str, computer: Computer, before: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "title": computer.prose(step.title),
        "prose": computer.prose(step.prose),
        "after": computer.prose(step.after),
        "at": before if step.block.at is None else step.block.at,
        "lit": step.block.lit,
        "untrue": _untrue(step, computer),
        "predict": None,
        "do": None,
    }
    problems, pending = [str(fault) for fault in step.faults], False
    try:
        shown["at"] = shown["at"] and computer.address(shown["at"])
        shown["predict"] = step.predict and _predict(step.predict, computer)
        shown["do"] = step.do and _do(step.do, computer)
    except (NotComputed, Unsupported, BadAddress) as error:
        pending = getattr(error, "pending", False)
        if not pending:
            problems.append(str(Fault(file, step.line, str(error))))
    return shown | {"pending": pending} | ({"problem": FAULTY + "; ".join(problems)} if problems else {})


def _untrue(step: Step, computer: Computer) -> list[list[Node]]:
    """Returns the alternative text of each claim that is false on this run."""
    lines = []
    for claim in step.block.claims:
        try:
            if not computer.value(claim.holds):
                lines.append(computer.line(claim.otherwise))
        except NotComputed as error:
            if not error.pending:
                lines.append([{"t": "text", "text": str(error)}])
    return lines


def _predict(block: Predict, computer: Computer) -> dict[str, Any]:
    return {
        "ask": computer.line(block.ask),
        "number": computer.filled(block.number),
        "unit": block.unit,
        "within": block.within,
        "choices": choices_of(block, computer),
        "answer": None if block.answer is None else computer.text(block.answer),
        "cell": block.cell and conditions_of(block.cell, computer),
        "shows": block.shows and computer.address(block.shows),
        "because": computer.line(block.because),
        "hints": [computer.line(hint) for hint in block.hints],
    }


def choices_of(block: Predict, computer: Computer) -> list[dict[str, Any]]:
    """Returns the choices, each text once.

    On a reader's run the right one may differ from those in the file; one that names what the run lacks is left out.
    """
    choices: list[dict[str, Any]] = []
    for choice in block.choices:
        written = choice if isinstance(choice, Choice) else Choice.model_validate({"text": choice})
        try:
            choices.append(_choice(written.text, computer, written.why, written.shows))
        except NotComputed as error:
            if error.pending:
                raise
    if block.answer is not None:
        choices.append(_choice(block.answer, computer))
    texts = [choice["text"] for choice in choices]
    return [choice for at, choice in enumerate(choices) if choice["text"] not in texts[:at]]


def _choice(text: Value, computer: Computer, why: str | None = None, shows: str | None = None) -> dict[str, Any]:
    return {
        "text": computer.text(text),
        "why": computer.line(why) if why else [],
        "shows": shows and computer.address(shows),
    }


def _do(block: Do, computer: Computer) -> dict[str, Any]:
    return {
        "task": computer.line(block.task),
        "check": conditions_of(block.check, computer),
        "done": computer.line(block.done),
        "hints": [computer.line(hint) for hint in block.hints],
    }


def conditions_of(conditions: Conditions, computer: Computer) -> Mapping[str, Mapping[str, Any]]:
    """Returns the bounds with their values, by field: {"step": {"equals": 3}}."""
    return {
        name: {
            bound: [computer.filled(item) for item in value] if isinstance(value, list) else computer.filled(value)
            for bound, value in (
                condition.model_dump(exclude_none=True) if isinstance(condition, Bounds) else {"equals": condition}
            ).items()
        }
        for name, condition in conditions.items()
    }
