"""Record the shape of every tensor that each line of the model's source computes in one pass."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from types import FrameType
from typing import Any

from torch import Tensor

from kvscope.model.source.listing import FILES, named_of
from kvscope.model.source.names import Function, Statement

PASS, BLOCK = "Transformer.forward", "Block.forward"
IN_BLOCK = ("Block", "Attention", "MLP", "Experts", "KVCache")
"""Classes that are recorded only in one layer."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a tensor. `of`: a variable, a hook point's name relative to its block, or "" for a returned value."""

    of: str
    hook: bool
    shape: tuple[int, ...]
    dtype: str
    bytes: int

    @classmethod
    def of_tensor(cls, name: str, value: Tensor, *, hook: bool = False) -> Facts:
        dtype = str(value.dtype).removeprefix("torch.")
        return cls(name, hook, tuple(value.shape), dtype, value.nbytes)


class Lines:
    """Records the lines that run, by file and line; inside the blocks, only those of `layer`."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.ran: dict[str, set[int]] = {path: set() for path in FILES}
        self.assigned: dict[str, dict[int, tuple[Facts, ...]]] = {path: {} for path in FILES}
        """By file and a statement's first line: the variables that it assigned, or passed on if it assigns none."""
        self._inside = False
        folder = resources.files("kvscope.model")
        self._paths = {str(folder.joinpath(path)): path for path in FILES}
        self._functions = {(path, each.name): each for path in FILES for each in named_of(path).functions}
        self._calls: Counter[str] = Counter()

    @contextmanager
    def recording(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        path = self._paths.get(frame.f_code.co_filename)
        function = None if path is None else self._functions.get((path, frame.f_code.co_qualname))
        if path is None or function is None:
            return None
        if function.name == PASS:  # drop the passes of rows before the step
            self._forget()
        if function.name == BLOCK:
            self._inside = frame.f_locals["layer"] == self.layer
        if not self._inside and function.name.split(".")[0] in IN_BLOCK:
            return None
        self._calls[function.name] += 1
        return _Frame(self, path, function)

    def _forget(self) -> None:
        self._calls.clear()
        for records in (self.ran, self.assigned):
            for each in records.values():
                each.clear()

    def once(self, function: Function) -> bool:
        """Returns whether the function was called exactly once. Facts about one of several calls would mislead."""
        return self._calls[function.name] == 1


class _Frame:
    """Follows one call of a function."""

    def __init__(self, lines: Lines, path: str, function: Function):
        self._lines, self._path, self._function = lines, path, function
        self._statement: Statement | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> _Frame:
        if event not in ("line", "return"):
            return self
        statement = self._at(frame.f_lineno) if event == "line" else None
        if self._statement is not None and statement is not self._statement:
            returned = argument if event == "return" else None
            self._note(self._statement, frame.f_locals, returned)
        if event == "line":
            self._lines.ran[self._path].add(frame.f_lineno)
        self._statement = statement
        if event == "return" and self._function.name == BLOCK:
            self._lines._inside = False
        return self

    def _at(self, line: int) -> Statement | None:
        return next((each for each in self._function.statements if each.first <= line <= each.last), None)

    def _note(self, statement: Statement, values: Mapping[str, Any], returned: Any) -> None:
        names = statement.targets or statement.arguments
        facts = tuple(fact for name in names for fact in _facts(name, values.get(name)))
        if statement.returns:
            facts = tuple(_facts("", returned))
        if facts:
            self._lines.assigned[self._path][statement.first] = facts


def _facts(name: str, value: Any) -> Iterator[Facts]:
    """Yields the facts about a tensor, or about each tensor in a list."""
    if isinstance(value, Tensor):
        yield Facts.of_tensor(name, value)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            if isinstance(each, Tensor):
                yield Facts.of_tensor(f"{name}[{index}]" if name else "", each)
