"""What the lines of the model's source computed in one pass: every tensor's shape, recorded while they ran."""

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
"""What is recorded of one layer alone."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of a tensor. `of`: a variable, or a hook point by its name relative to its block; "" of what is returned."""

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
    """Records the lines that run, of `layer` alone among the layers. By file and line."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.ran: dict[str, set[int]] = {path: set() for path in FILES}
        self.assigned: dict[str, dict[int, tuple[Facts, ...]]] = {path: {} for path in FILES}
        """By the first line of a statement, the variables that it assigned, or handed on where it assigns none."""
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
        if function.name == PASS:  # rows that were computed before the step are no part of it
            self._forget()
        if function.name == BLOCK:
            self._inside = frame.f_locals["layer"] == self.layer
        if not self._inside and function.name.split(".")[0] in IN_BLOCK:
            return None
        self._calls[function.name] += 1
        return _Frame(self, path, function)

    def _forget(self) -> None:
        self._calls.clear()
        for found in (self.ran, self.assigned):
            for each in found.values():
                each.clear()

    def once(self, function: Function) -> bool:
        """Whether it was called once: of several calls, none stands for all."""
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
        wanted = statement.targets or statement.arguments
        found = tuple(fact for name in wanted for fact in _facts(name, values.get(name)))
        if statement.returns:
            found = tuple(_facts("", returned))
        if found:
            self._lines.assigned[self._path][statement.first] = found


def _facts(name: str, value: Any) -> Iterator[Facts]:
    """Of a tensor, or of each in a list."""
    if isinstance(value, Tensor):
        yield Facts.of_tensor(name, value)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            if isinstance(each, Tensor):
                yield Facts.of_tensor(f"{name}[{index}]" if name else "", each)
