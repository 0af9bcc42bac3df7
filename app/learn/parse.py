"""Reads a lesson file. What is wrong in one step leaves the others readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from markdown_it.token import Token
from pydantic import ValidationError

from kvscope.app.learn.faults import Fault
from kvscope.app.learn.nodes import Node, Unsupported, blocks, markdown
from kvscope.app.learn.schema import BLOCKS, Do, Front, Predict, StepBlock, Strict

Model = TypeVar("Model", bound=Strict)
STEP_LEVEL = "h2"
PLAIN_TYPES = ("str", "int", "float", "bool")


@dataclass(slots=True)
class Step:
    """`line`: of its heading, counted from 1; `blocks`: lines of its blocks by kind."""

    title: list[Node]
    line: int
    prose: list[Node] = field(default_factory=list)
    block: StepBlock = field(default_factory=lambda: StepBlock.model_validate({}))
    predict: Predict | None = None
    do: Do | None = None
    blocks: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class Lesson:
    """`id`: the file's name without its ending; `front`: None where it cannot be read."""

    id: str
    file: str
    front: Front | None
    steps: list[Step]
    faults: list[Fault]
    """Of the file as a whole and of all its steps."""
    unreadable: bool = False
    """Whether the file as a whole has faults."""


def read(path: Path) -> Lesson:
    """The lesson of a file. Raises OSError."""
    return parse(path.read_text("utf-8", errors="replace"), path.stem, path.name)


def parse(text: str, id: str, file: str) -> Lesson:
    """The lesson that a text holds."""
    tokens = markdown().parse(text)
    lesson = Lesson(id, file, None, [], [])
    if tokens and tokens[0].type == "front_matter":
        lesson.front, found = _block(Front, tokens[0].content, file, 1)
        lesson.faults += found
        tokens = tokens[1:]
    else:
        lesson.faults.append(Fault(file, 1, f"the file must begin with --- and {_allowed(Front)}"))
    before, parts = _split(tokens)
    if before:
        lesson.faults.append(
            Fault(file, _line(before[0]), "text before the first step: a step begins with ## and its title")
        )
    if not parts:
        lesson.faults.append(Fault(file, 1, "the file has no step: a step begins with ## and its title"))
    lesson.unreadable = bool(lesson.faults)
    lesson.steps = [_step(heading, rest, file) for heading, rest in parts]
    lesson.faults += [fault for step in lesson.steps for fault in step.faults]
    return lesson


def _split(tokens: Sequence[Token]) -> tuple[list[Token], list[tuple[Token, list[Token]]]]:
    """What stands before the first heading of a step; then each heading's inline token with what follows it."""
    before: list[Token] = []
    parts: list[tuple[Token, list[Token]]] = []
    rest = iter(tokens)
    for token in rest:
        if token.type == "heading_open" and token.tag == STEP_LEVEL:
            parts.append((next(rest), []))
            next(rest)
        else:
            (parts[-1][1] if parts else before).append(token)
    return before, parts


def _step(heading: Token, tokens: list[Token], file: str) -> Step:
    step = Step([], _line(heading))
    prose: list[Token] = []
    for token in tokens:
        if token.type == "fence":
            _take_block(step, token, file)
        else:
            prose.append(token)
    try:
        step.title = blocks([heading])
        step.prose = blocks(prose)
    except Unsupported as error:
        step.faults.append(Fault(file, error.line + 1, str(error)))
    return step


def _take_block(step: Step, token: Token, file: str) -> None:
    kind, line = token.info.strip(), _line(token)
    model = {str(name): each for name, each in BLOCKS.items()}.get(kind)
    if model is None:
        step.faults.append(Fault(file, line, f"the block {kind or 'without a name'!r} is none of {', '.join(BLOCKS)}"))
    elif kind in step.blocks:
        step.faults.append(Fault(file, line, f"the step has a second block {kind}; it may have one"))
    else:
        step.blocks[kind] = line
        found, faults = _block(model, token.content, file, line)
        step.faults += faults
        if found is not None:
            setattr(step, "block" if kind == "step" else kind, found)


def _block(model: type[Model], text: str, file: str, line: int) -> tuple[Model | None, list[Fault]]:
    """What a block of YAML says. `line`: the one before its first, counted from 1."""
    try:
        given = yaml.safe_load(text) or {}
        return model.model_validate(given), []
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else 0
        return None, [Fault(file, line + at, f"this is not YAML: {error.problem}")]
    except yaml.YAMLError as error:
        return None, [Fault(file, line, f"this is not YAML: {error}")]
    except ValidationError as error:
        found = [Fault(file, line + _line_of(each["loc"], text), _said(each, model)) for each in _telling(error)]
        return None, found


def _telling(error: ValidationError) -> list[Any]:
    """Its errors. Of a condition that is given as bounds, those about other types of values say nothing."""
    errors = error.errors()
    bounds = {each["loc"][:2] for each in errors if any("Bounds" in str(part) for part in each["loc"])}
    return [each for each in errors if each["loc"][:2] not in bounds or each["loc"][-1] not in PLAIN_TYPES]


def _said(error: Any, model: type[Strict]) -> str:
    name = ".".join(str(part) for part in error["loc"] if "Bounds" not in str(part)) or "this block"
    if error["type"] == "extra_forbidden":
        return f"{name} is unknown; {_allowed(model)}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}"


def _allowed(model: type[Strict]) -> str:
    return f"allowed are {', '.join(model.model_fields)}"


def _line_of(place: tuple[int | str, ...], text: str) -> int:
    """The line of a block on which a member begins, counted from 1; 0 where it is not in the text."""
    name = next((str(part) for part in place), "")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.lstrip("- ").startswith(f"{name}:"))
    return next(lines, 0)


def _line(token: Token) -> int:
    return (token.map[0] if token.map else 0) + 1
