"""Record the function calls of one prefill and of one decode step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from types import FrameType
from typing import Any

from kvscope.model.engine.engine import Engine
from kvscope.model.pieces import pause_alone, unbroken
from kvscope.model.settings import Sampling

KEY = "calls"
"""Key of the recorded run; no user's run has it."""
NESTED = "<"
"""The first character in the name of a comprehension or lambda, which counts as a part of its function."""


@dataclass(slots=True)
class Call:
    """A function of `model/`, how often one caller called it, and the calls that it made. Equal calls are merged."""

    name: str
    path: str
    line: int
    count: int = 0
    calls: dict[tuple[str, int], Call] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        inner = [each.as_json() for each in self.calls.values()]
        return {"name": self.name, "path": self.path, "line": self.line, "count": self.count, "calls": inner}


def step_calls(engine: Engine, ids: list[int], sampling: Sampling) -> dict[str, Any]:
    """Records the calls of `Engine.advance` in prefill of `ids` and in the decode step after it, as JSON-able data by
    phase, with the number of calls of each function. All other runs must be paused.

    Raises CacheFull, and Interrupted if another run continued.
    """
    engine.admit(KEY, ids, sampling, 2, changes=engine.changes)
    try:
        prefill, decode = _advanced(engine, 1), _advanced(engine, 2)
    finally:
        if engine.active(KEY):
            engine.stop(KEY)
        if KEY in engine.scheduler.kept:
            engine.scheduler.forget(KEY)
    return {"prefill": prefill, "decode": decode}


def _advanced(engine: Engine, step: int) -> dict[str, Any] | None:
    """Records the calls until the run has chosen `step` tokens; None if it has already ended."""
    run = engine.scheduler.runs.get(KEY)
    if run is None:
        return None
    root = Call("", "", 0)
    with recording(root):
        while run.step < step and engine.active(KEY):
            _pause(engine)
            with unbroken():
                engine.advance()
    (advance,) = (call for call in root.calls.values() if call.name == "Engine.advance")
    return advance.as_json()


def _pause(engine: Engine) -> None:
    """Pauses. Meanwhile no pass of other runs includes the recorded run, and its blocks stay promised."""
    scheduler = engine.scheduler
    run = scheduler.runs.pop(KEY)
    scheduler.promised[KEY] = run.blocks_promised
    try:
        pause_alone()
    finally:
        del scheduler.promised[KEY]
        scheduler.runs[KEY] = run


@contextmanager
def recording(root: Call) -> Iterator[None]:
    """Adds the calls of the model's own functions below `root`."""
    folder = str(resources.files("kvscope.model")) + "/"
    stack: list[Call | None] = []
    """One entry per active frame: its call, or None for a function outside the model."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and stack:
            stack.pop()
        elif event == "call":
            code = frame.f_code
            own = code.co_filename.startswith(folder) and not code.co_name.startswith(NESTED)
            stack.append(_called(_caller(stack, root), frame, folder) if own else None)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


def _caller(stack: list[Call | None], root: Call) -> Call:
    return next((call for call in reversed(stack) if call is not None), root)


def _called(caller: Call, frame: FrameType, folder: str) -> Call:
    code = frame.f_code
    path = "model/" + code.co_filename.removeprefix(folder)
    call = caller.calls.setdefault((path, code.co_firstlineno), Call(code.co_qualname, path, code.co_firstlineno))
    call.count += 1
    return call
