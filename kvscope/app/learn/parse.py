"""Reads a lesson file. A mistake in one step leaves the others readable."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it.token import Token

from kvscope.app.learn.faults import Fault
from kvscope.app.learn.nodes import Node, Unsupported, blocks, markdown
from kvscope.app.learn.schema import BLOCKS, Do, Front, Predict, StepBlock
from kvscope.app.learn.yaml_block import allowed, read_block, readable
from kvscope.app.text_files import NotUtf8, text_of

STEP_LEVEL = "h2"
PREDICT = "predict"


@dataclass(slots=True)
class Step:
    """`line`: of the heading, from 1. `after`: the prose below the block `predict`, which gives its answer away.
    `blocks`: line of each block by kind.
    """

    title: list[Node]
    line: int
    prose: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    block: StepBlock = field(default_factory=lambda: StepBlock.model_validate({}))
    predict: Predict | None = None
    do: Do | None = None
    blocks: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def text(self) -> list[Node]:
        """All prose."""
        return [*self.prose, *self.after]


@dataclass(slots=True)
class Lesson:
    """`id`: the file's name without its ending. `front`: None if it has mistakes."""

    id: str
    file: str
    front: Front | None
    steps: list[Step]
    faults: list[Fault]
    """Mistakes of the file as a whole and of all steps."""
    unreadable: bool = False
    """The file as a whole has mistakes."""
    readable: Front | None = None
    """The correct members of the front matter, so that a check does not report consequences of a mistake."""
    text: str = ""


def read(path: Path) -> Lesson:
    """Reads a lesson. A file that is not UTF-8 has that mistake and no step. Raises OSError."""
    try:
        return parse(text_of(path.read_bytes()), id_of(path), path.name)
    except NotUtf8 as error:
        return Lesson(id_of(path), path.name, None, [], [Fault(path.name, error.line, str(error))], unreadable=True)


def id_of(path: Path) -> str:
    """Returns the id of the lesson in a file: the name without its ending, in NFC (macOS may decompose it)."""
    return unicodedata.normalize("NFC", path.stem)


def read_front(path: Path) -> Front | None:
    """Reads only the front matter, in a tenth of the time. Raises OSError, NotUtf8."""
    tokens = markdown().parse(text_of(path.read_bytes()))
    return (
        read_block(Front, tokens[0].content, path.name, 1)[0] if tokens and tokens[0].type == "front_matter" else None
    )


def parse(text: str, id: str, file: str) -> Lesson:
    """Parses the text of a lesson."""
    tokens = markdown().parse(text)
    lesson = Lesson(id, file, None, [], [], text=text)
    if tokens and tokens[0].type == "front_matter":
        lesson.front, faults = read_block(Front, tokens[0].content, file, 1)
        lesson.readable = lesson.front or readable(tokens[0].content)
        lesson.faults += faults
        tokens = tokens[1:]
    else:
        lesson.faults.append(Fault(file, 1, f"the file must begin with ---; {allowed(Front)}"))
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
    """Splits tokens at the steps' headings: those before; then each heading's inline token with the tokens after it."""
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
    after: list[Token] = []
    for token in tokens:
        if token.type == "fence":
            _take_block(step, token, file)
        else:
            (after if PREDICT in step.blocks else prose).append(token)
    try:
        step.title = blocks([heading])
        step.prose = blocks(prose)
        step.after = blocks(after)
    except Unsupported as error:
        step.faults.append(Fault(file, error.line + 1, str(error)))
    return step


def _take_block(step: Step, token: Token, file: str) -> None:
    kind, line = token.info.strip(), _line(token)
    model = {str(name): schema for name, schema in BLOCKS.items()}.get(kind)
    if model is None:
        step.faults.append(Fault(file, line, f"the block {kind or 'without a name'!r} is none of {', '.join(BLOCKS)}"))
    elif kind in step.blocks:
        step.faults.append(Fault(file, line, f"the step has a second block {kind}; it may have one"))
    else:
        step.blocks[kind] = line
        block, faults = read_block(model, token.content, file, line)
        step.faults += faults
        if block is not None:
            setattr(step, "block" if kind == "step" else kind, block)


def _line(token: Token) -> int:
    return (token.map[0] if token.map else 0) + 1
