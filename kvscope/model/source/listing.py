"""List the installed source of the model by line: its syntax colours, and the tensors that its names refer to.

Imports no torch, so that the web process can use it too.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from kvscope.model.source.names import Mark, Named, named

FILES = ("transformer.py", "kv_cache.py", "engine/sampling.py")
"""Listed files, relative to `model/`: the layers, the cache and the choice of a token."""
KINDS = {tokenize.COMMENT: "comment", tokenize.STRING: "string", tokenize.NUMBER: "number"}

Part = list[Any]
"""Text; then its kind, "" if plain; then the tensors that it refers to."""


@cache
def text_of(path: str) -> str:
    """Returns the text of a file of the installed package. `path`: relative to `model/`."""
    return resources.files("kvscope.model").joinpath(path).read_text("utf-8")


@cache
def named_of(path: str) -> Named:
    return named(text_of(path))


@cache
def listing() -> dict[str, Any]:
    """Returns the files, each {path, lines, functions, shapes}, and their version, as JSON-able data.

    A line is a list of parts: [text], [text, kind] or [text, kind, names]. `functions`: {name, first, last}, with line
    numbers from 1. `shapes`: {line, when, tensors}, for statements whose shapes the source states in letters; a tensor
    is {of, hook, axes}; `when`: the properties that a model must have for the statement to run.
    """
    return {"version": version(), "files": [_file(path) for path in FILES]}


@cache
def version() -> str:
    """Returns the version of the files, a hash. Facts about lines are valid only for the same version."""
    return sha256("".join(map(text_of, FILES)).encode()).hexdigest()[:16]


def _file(path: str) -> dict[str, Any]:
    functions = [{"name": each.name, "first": each.first, "last": each.last} for each in named_of(path).functions]
    shapes = [
        {"line": each.first, "when": dict(each.when), "tensors": [asdict(tensor) for tensor in each.shaped]}
        for function in named_of(path).functions
        for each in function.statements
        if each.shaped
    ]
    lines = _lines(text_of(path), named_of(path))
    return {"path": f"model/{path}", "lines": lines, "functions": functions, "shapes": shapes}


def _lines(text: str, names: Named) -> list[list[Part]]:
    """Splits each line into parts; joined, they are the line."""
    marks = {(mark.line, mark.start): mark for mark in names.marks}
    lines = text.removesuffix("\n").split("\n")
    parts: list[list[Part]] = [[] for _ in lines]
    ends = [0] * len(lines)
    for (row, start), end, kind, mark in _coloured(text, marks):
        line = lines[row - 1]
        if start > ends[row - 1]:
            _add(parts[row - 1], line[ends[row - 1] : start])
        _add(parts[row - 1], line[start:end], kind, mark)
        ends[row - 1] = end
    for line, line_parts, end in zip(lines, parts, ends, strict=True):
        if end < len(line):
            _add(line_parts, line[end:])
    return parts


def _add(parts: list[Part], text: str, kind: str = "", mark: Mark | None = None) -> None:
    if mark:
        parts.append([text, kind, list(mark.names)])
    elif kind:
        parts.append([text, kind])
    elif parts and len(parts[-1]) == 1:
        parts[-1][0] += text
    else:
        parts.append([text])


def _coloured(text: str, marks: dict[tuple[int, int], Mark]) -> Iterator[tuple[tuple[int, int], int, str, Mark | None]]:
    """Yields start (row, column), end column, kind and mark of each part that is not plain; no part spans two lines."""
    lines = text.split("\n")
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = KINDS.get(token.type, "")
        if token.type == tokenize.NAME:
            kind = "keyword" if keyword.iskeyword(token.string) else "defined" if before in ("def", "class") else ""
        mark = marks.get(token.start) if token.type == tokenize.NAME else None
        if mark and mark.hook:
            kind = "hook"
        if kind or mark:
            (first, start), (last, end) = token.start, token.end
            for row in range(first, last + 1):
                stop = end if row == last else len(lines[row - 1])
                yield (row, start if row == first else 0), stop, kind, mark
        if token.string.strip():
            before = token.string
