"""Infer from the model's source which tensor each name refers to, so that the result is always up to date.

A tensor has the name of the hook point that it passes, relative to its block (`attn.q_rot`, `mlp.hidden`, `resid_in`;
`embedded` and `final` outside), or `cache.k`, `cache.v`, `tokens`, `logits`, `choice`. Only assignments, calls and
annotations are read; nothing is imported.

The source also states shapes: of a hook point by its axes, `HookPoint("T D")`, and of the variables that a statement
assigns by a comment at its end, `# T D -> T (H+2Hkv)*Dh`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import NoneType

HOOK, CACHE = "HookPoint", "KVCache"
STORES, POOL = "write", "by_layer"
"""The cache's method whose last two parameters are K and V, and its attribute that contains K, then V."""
KV = ("cache.k", "cache.v")
ONLY_WITH: dict[str, tuple[tuple[str, bool], ...]] = {"MLP": (("experts", False),), "Experts": (("experts", True),)}
"""Classes that only some models use, and the property of a model that decides."""
IN_WORDS = {"logits": ("logits",), "choice": ("choice",), "Choice": ("choice",), "ids": ("tokens",)}
"""Names that refer to the same tensor everywhere."""
SAME_VALUES = frozenset(("view", "reshape", "permute", "transpose", "flatten"))
"""Methods whose result is the same tensor in another shape."""

AXES = frozenset(("T", "N", "D", "F", "H", "Hkv", "G", "Dh", "V", "B", "Q", "K"))
"""The letters of shapes (transformer.py)."""

Names = tuple[str, ...]
Axes = tuple[str, ...]
"""A shape in letters: "T", "H*Dh", "(H+2Hkv)*Dh"."""


@dataclass(slots=True)
class Mark:
    """A name in the source and the tensors that it refers to. Columns count characters."""

    line: int
    start: int
    end: int
    names: Names
    hook: bool = False
    """Whether it is a call of a hook point or of the cache."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A tensor whose shape the source states: a variable, or the value of a hook point."""

    of: str
    hook: bool
    axes: Axes


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that computes something. `first`, `last`: its lines."""

    first: int
    last: int
    targets: tuple[str, ...]
    """Variables that it assigns, except those that are just a hook point's value."""
    hooks: tuple[str, ...]
    """Hook points in it, in the order of evaluation."""
    arguments: tuple[str, ...]
    """Variables that it passes to a call, if it assigns nothing."""
    returns: bool
    """Whether it returns a value that is in no variable."""
    shaped: tuple[Shaped, ...]
    """The tensors in `hooks`, `targets` and `arguments` whose shape the source states."""
    when: tuple[tuple[str, bool], ...]
    """Properties of a model and the value that each must have for the statement to run: ("gated", True)."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    first: int
    last: int
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """The marks of one file, in the order of the text, and its functions."""

    marks: tuple[Mark, ...]
    functions: tuple[Function, ...]


def hooks_of(tree: ast.Module) -> dict[str, dict[str, str]]:
    """Returns for each class its hook points and the name of the tensor that passes each.

    `self.q = HookPoint(…)` in a class that another class stores as `self.attn` is `attn.q`. Classes stored in a list
    (the blocks) add no prefix.
    """
    points = {each.name: {point for point, _ in _points(each)} for each in tree.body if isinstance(each, ast.ClassDef)}
    points = {name: own for name, own in points.items() if own}
    prefix = dict.fromkeys(points, "")
    for part, attribute, listed in _parts(tree, points.keys()):
        prefix[part] = "" if listed else f"{attribute}."
    return {name: {point: prefix[name] + point for point in own} for name, own in points.items()}


def axes_of(tree: ast.Module) -> dict[str, Axes]:
    """Returns the shape of each tensor that passes a hook point."""
    hooks = hooks_of(tree)
    return {
        hooks[owner.name][point]: axes
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        for point, axes in _points(owner)
    }


def named(text: str) -> Named:
    """Returns the names in the text of a file of the model's source. Raises SyntaxError."""
    tree = ast.parse(text)
    hooks, axes = hooks_of(tree), axes_of(tree)
    parts = {attribute: part for part, attribute, _ in _parts(tree, hooks.keys())}
    lines = [line.encode() for line in text.split("\n")]
    arguments: dict[str, list[Names]] = {}
    walks: dict[str, _Walk] = {}
    for _ in range(2):  # a function's arguments are known only after its callers are read
        for owner, definition in _functions(tree):
            calls = {
                name: f"{parts[name]}.forward" if name in parts else f"{owner}.{name}" for name in _methods(tree, parts)
            }
            values = {name: walks[each].returned for name, each in calls.items() if each in walks}
            name = f"{owner}.{definition.name}" if owner else definition.name
            walk = walks[name] = _Walk(
                hooks.get(owner, {}), axes, values, _parameters(owner, definition, arguments.get(name, [])), lines
            )
            walk.body(definition.body, ONLY_WITH.get(owner, ()))
            arguments |= {calls[called]: names for called, names in walk.arguments.items() if called in calls}
    functions = [
        Function(name, definition.lineno, definition.end_lineno or 0, tuple(walk.statements))
        for (_, definition), (name, walk) in zip(_functions(tree), walks.items(), strict=True)
    ]
    marks = [mark for walk in walks.values() for mark in walk.marks if mark.names]
    return Named(tuple(sorted(marks, key=lambda mark: (mark.line, mark.start))), tuple(functions))


def _methods(tree: ast.Module, parts: Iterable[str]) -> set[str]:
    return {definition.name for owner, definition in _functions(tree) if owner} | set(parts)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for each in tree.body:
        if isinstance(each, ast.FunctionDef):
            yield "", each
        elif isinstance(each, ast.ClassDef):
            yield from ((each.name, inner) for inner in each.body if isinstance(inner, ast.FunctionDef))


def _points(owner: ast.ClassDef) -> Iterator[tuple[str, Axes]]:
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) == HOOK:
            axes = [each.value for each in node.value.args if isinstance(each, ast.Constant)]
            shape = tuple(str(axes[0]).split()) if axes else ()
            yield from ((target.attr, shape) for target in node.targets if isinstance(target, ast.Attribute))


def _parts(tree: ast.Module, classes: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """Yields each class, the attribute that stores an instance of it, and whether that is a list."""
    known = set(classes)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        for inner in ast.walk(node.value):
            if (part := _called(inner)) in known:
                yield str(part), node.targets[0].attr, _called(node.value) == "ModuleList"


def _called(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)


def _parameters(owner: str, definition: ast.FunctionDef, arguments: list[Names]) -> dict[str, Names]:
    """Returns the tensors of each parameter: the cache, its K and V, or the callers' arguments."""
    parameters = definition.args.args
    names = [each.arg for each in parameters]
    tensors = {name: tensor for name, tensor in zip(names[1:], arguments, strict=False) if tensor}
    tensors |= {
        each.arg: KV for each in parameters if isinstance(each.annotation, ast.Name) and each.annotation.id == CACHE
    }
    if owner == CACHE and definition.name == STORES:
        tensors |= {name: (tensor,) for name, tensor in zip(names[-2:], KV, strict=True)}
    return tensors


@dataclass(slots=True)
class _Walk:
    """Walks through a function's statements in order and tracks which tensor each variable is."""

    hooks: dict[str, str]
    axes: dict[str, Axes]
    calls: dict[str, Names]
    """The names of the methods and parts of the class, and the tensors that each returns."""
    known: dict[str, Names]
    lines: list[bytes]
    marks: list[Mark] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    returned: Names = ()
    arguments: dict[str, list[Names]] = field(default_factory=dict)
    """The arguments of the first call of each method or part of the class."""
    _open: dict[str, list[Mark]] = field(default_factory=dict)
    """Marks of variables without a tensor yet; the next hook point that they pass names it."""
    _passed: dict[str, Axes] = field(default_factory=dict)
    """Variables that are the value of a hook point, with its shape."""

    def body(self, statements: list[ast.stmt], when: tuple[tuple[str, bool], ...] = ()) -> None:
        for each in statements:
            if isinstance(each, ast.If | ast.For | ast.While | ast.With | ast.Try):
                self._expression(getattr(each, "test", None) or getattr(each, "iter", None))
                if isinstance(each, ast.For | ast.While):  # each round assigns other values to its variables
                    for target in [inner for part in ast.walk(each) for inner in _targets(part)]:
                        self.known.pop(target.id, None)
                tested = _property(each.test) if isinstance(each, ast.If) else None
                for inner in ("body", "orelse", "finalbody"):
                    more = ((tested, inner == "body"),) if tested else ()
                    self.body(getattr(each, inner, []), when + more)
            elif isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
                self._statement(each, when)

    def _statement(
        self,
        node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return,
        when: tuple[tuple[str, bool], ...],
    ) -> None:
        hooks = self._expression(node.value)
        targets = _targets(node)
        bound = self._bound(targets, node.value)
        for (target, names), value in zip(bound, _values(targets, node.value), strict=True):
            mark = self._mark(target, names)
            if names:
                self.known[target.id] = names
                self._open.pop(target.id, None)
            else:
                self.known.pop(target.id, None)
                self._open.setdefault(target.id, []).append(mark)
            self._passed.pop(target.id, None)
            if value is not None and (hook := self._hook(value)):
                bound = [each for each in bound if each[0] is not target]
                self._passed[target.id] = self.axes[hook]
        if isinstance(node, ast.Return) and node.value is not None:
            self.returned = self._names(node.value)
        arguments = [] if targets or not isinstance(node, ast.Expr) else _names_in(node.value)
        assigned = [target.id for target, _ in bound]
        self.statements.append(
            Statement(
                node.lineno,
                node.end_lineno or node.lineno,
                tuple(assigned),
                tuple(hooks),
                tuple(arguments),
                isinstance(node, ast.Return) and not isinstance(node.value, ast.Name | ast.Constant | NoneType),
                tuple(self._shaped(node, hooks, assigned, arguments)),
                when,
            )
        )

    def _shaped(self, node: ast.stmt, hooks: list[str], assigned: list[str], arguments: list[str]) -> Iterator[Shaped]:
        yield from (Shaped(name, True, self.axes[name]) for name in hooks if self.axes[name])
        shapes = _comment(self.lines[(node.end_lineno or node.lineno) - 1].decode(), len(assigned))
        yield from (Shaped(name, False, axes) for name, axes in zip(assigned, shapes, strict=False))
        yield from (Shaped(name, False, self._passed[name]) for name in arguments if name in self._passed)

    def _bound(self, targets: list[ast.Name], value: ast.expr | None) -> list[tuple[ast.Name, Names]]:
        if value is None:
            return []
        if len(targets) == 2 and not isinstance(value, ast.Tuple) and (pair := self._names(value)) == KV:
            return [(target, (name,)) for target, name in zip(targets, pair, strict=True)]
        values = _values(targets, value)
        return [
            (target, IN_WORDS.get(target.id, ()) or (self._names(each) if each is not None else ()))
            for target, each in zip(targets, values, strict=True)
        ]

    def _expression(self, node: ast.AST | None) -> list[str]:
        """Marks the names of an expression and returns its hook points, in the order of evaluation."""
        hooks: list[str] = []
        if node is None:
            return hooks
        for child in ast.iter_child_nodes(node):
            hooks += self._expression(child)
        if (hook := self._hook(node)) is not None:
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            hooks.append(hook)
            self._mark(node.func, (hook,), hook=True)
            if len(node.args) == 1 and (passed := _same(node.args[0])) is not None:
                self._passes(passed, hook)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _of_self(node.func):
            self.arguments.setdefault(node.func.attr, [self._names(each) for each in node.args])
        elif isinstance(node, ast.Attribute) and (names := self._attribute(node)):
            self._mark(node, names, hook=names == KV and node.attr != POOL)
        elif isinstance(node, ast.Name) and (names := self._names(node)):
            self._mark(node, names)
        return hooks

    def _attribute(self, node: ast.Attribute) -> Names:
        if node.attr == POOL:
            return KV
        if isinstance(node.value, ast.Name) and self.known.get(node.value.id) == KV:
            return KV
        return IN_WORDS.get(node.attr, ())

    def _passes(self, variable: ast.Name, hook: str) -> None:
        """Names a variable after the hook point that it passes, in all marks since its assignment."""
        if not any((mark.line, mark.start) == self._place(variable)[:2] for mark in self.marks):
            self._mark(variable, (hook,))
        for mark in self._open.get(variable.id, []):
            mark.names += (hook,) if hook not in mark.names else ()

    def _hook(self, node: ast.AST) -> str | None:
        """Returns the hook point that a call invokes, or None."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        return self.hooks.get(node.func.attr) if _of_self(node.func) else None

    def _names(self, node: ast.expr) -> Names:
        """Returns the tensors that an expression's value is."""
        if (hook := self._hook(node)) is not None:
            return (hook,)
        if isinstance(node, ast.Name):
            return self.known.get(node.id, IN_WORDS.get(node.id, ()))
        if isinstance(node, ast.IfExp):
            either = (*self._names(node.body), *self._names(node.orelse))
            return tuple(dict.fromkeys(either))
        if isinstance(node, ast.Subscript):
            return self._names(node.value)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if _of_self(node.func):
                return self.calls.get(node.func.attr, ())
            if isinstance(of, ast.Name) and self.known.get(of.id) == KV:
                return KV
            if node.func.attr in SAME_VALUES:
                return self._names(of)
        return ()

    def _mark(self, node: ast.Name | ast.Attribute, names: Names, *, hook: bool = False) -> Mark:
        mark = Mark(*self._place(node), names, hook)
        self.marks.append(mark)
        return mark

    def _place(self, node: ast.Name | ast.Attribute) -> tuple[int, int, int]:
        line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        end = len(self.lines[line - 1][:end].decode())
        return line, end - len(node.attr if isinstance(node, ast.Attribute) else node.id), end


def _property(test: ast.expr) -> str | None:
    """Returns the property of a model that `if config.x` or `if self.x` tests."""
    return test.attr if isinstance(test, ast.Attribute) else None


def _comment(line: str, count: int) -> list[Axes]:
    """Returns the shapes of `count` variables from the comment that ends a line, such as `T D -> T F, T F`, or []."""
    _, _, comment = line.partition("  # ")
    text = comment.rpartition("->")[2].strip()
    each = text.removeprefix("each ")
    shapes = [tuple(shape.split()) for shape in each.split(",")] * (count if each != text else 1)
    letters = {word for axes in shapes for axis in axes for word in re.split(r"[*+()]+\d*|^\d+", axis) if word}
    return shapes if len(shapes) == count and letters and letters <= AXES else []


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _same(node: ast.expr) -> ast.Name | None:
    """Returns the variable that has the same values as an expression, in any shape, or None."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME_VALUES:
        node = node.func.value
    return node if isinstance(node, ast.Name) else None


def _targets(node: ast.AST) -> list[ast.Name]:
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    flat = [inner for each in targets for inner in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return [each for each in flat if isinstance(each, ast.Name)]


def _values(targets: list[ast.Name], value: ast.expr | None) -> list[ast.expr | None]:
    """Returns the expression of each target; None for targets that share one expression."""
    if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
        return list(value.elts)
    return [value] if len(targets) == 1 else [None for _ in targets]


def _names_in(node: ast.expr | None) -> list[str]:
    arguments = node.args if isinstance(node, ast.Call) else []
    return [each.id for argument in arguments if (each := _same(argument)) is not None]
