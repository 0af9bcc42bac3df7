"""A lesson with its expressions as syntax trees, which a page computes over a run of its own device
(static/learn/over/).

An expression is {"expr": its text, "tree": its tree}, a text with expressions in it {"parts": [texts and expressions]}.
A tree is a list: its kind, then what belongs to it; static/learn/over/evaluate.js says how each kind is computed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kvscope.app.learn.compute import BRACES, Computer, NotComputed
from kvscope.app.learn.facts import Facts
from kvscope.app.learn.nodes import Node
from kvscope.app.learn.parse import Lesson
from kvscope.app.learn.render import rendered
from kvscope.app.learn.schema import Claim

Tree = list[Any]
NO_FACTS = Facts({}, {})


def template_of(lesson: Lesson) -> dict[str, Any]:
    """Returns the lesson as `rendered` does, with expressions in place of values. Each step has `claims`, with `holds`
    and `otherwise`, in place of `untrue`.
    """
    compiler = Compiler()
    template = rendered(lesson, compiler)
    for step, source in zip(template["steps"], lesson.steps, strict=True):
        del step["untrue"]
        step["claims"] = [_claim(claim, compiler) for claim in source.block.claims]
    return template


class Compiler(Computer):
    """Reads expressions in place of computing them. No claim is false."""

    def __init__(self) -> None:
        super().__init__(NO_FACTS)

    def value(self, expression: str) -> Any:
        """Returns an expression with its tree. Raises NotComputed."""
        try:
            return {"expr": expression, "tree": _tree(self.parsed(expression).body)}
        except (SyntaxError, RecursionError, ValueError) as error:
            raise NotComputed(f"{{{expression}}} cannot be computed: {error}") from None

    def filled(self, value: Any) -> Any:
        """Returns a value of a block with its expressions. Raises NotComputed."""
        if not isinstance(value, str) or not BRACES.search(value):
            return value
        if whole := BRACES.fullmatch(value.strip()):
            return self.value(whole[1])
        texts = BRACES.split(value)
        return {"parts": [self.value(text) if at % 2 else text for at, text in enumerate(texts) if at % 2 or text]}

    def text(self, template: str | float) -> Any:
        return self.filled(template)

    def address(self, template: str) -> Any:
        return self.filled(template)

    def _compute(self, node: Node) -> None:
        try:
            node |= self.value(node["expr"])
        except NotComputed as error:
            node |= error.as_json


def _claim(claim: Claim, compiler: Compiler) -> dict[str, Any]:
    try:
        return {"holds": compiler.value(claim.holds), "otherwise": compiler.line(claim.otherwise)}
    except NotComputed as error:
        return {"holds": error.as_json, "otherwise": []}


def _tree(node: ast.AST) -> Tree:
    """Returns the tree of an expression. Raises ValueError for what a page does not compute."""
    read = _KINDS.get(type(node))
    if read is None:
        raise ValueError(f"{type(node).__name__} needs a server")
    return read(node)


def _trees(nodes: Sequence[ast.AST]) -> list[Tree]:
    return [_tree(node) for node in nodes]


def _constant(node: ast.Constant) -> Tree:
    if not isinstance(node.value, bool | int | float | str | None):
        raise ValueError(f"{node.value!r} is neither a number nor a text")
    return ["constant", node.value]


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _call(node: ast.Call) -> Tree:
    if not isinstance(node.func, ast.Name) or node.keywords:
        raise ValueError("only the functions of docs/lessons.md can be called, with arguments by their places")
    return ["call", node.func.id, *_trees(node.args)]


def _comprehension(node: ast.ListComp) -> Tree:
    loop = node.generators[0]
    if len(node.generators) > 1 or not isinstance(loop.target, ast.Name):
        raise ValueError("a list of several loops needs a server")
    return ["for", loop.target.id, _tree(loop.iter), _trees(loop.ifs), _tree(node.elt)]


_KINDS: Mapping[type[ast.AST], Callable[[Any], Tree]] = {
    ast.Constant: _constant,
    ast.Name: lambda node: ["name", node.id],
    ast.Attribute: lambda node: ["member", _tree(node.value), node.attr],
    ast.Subscript: lambda node: ["at", _tree(node.value), _tree(node.slice)],
    ast.Call: _call,
    ast.BinOp: lambda node: ["binary", _name(node.op), _tree(node.left), _tree(node.right)],
    ast.UnaryOp: lambda node: ["unary", _name(node.op), _tree(node.operand)],
    ast.BoolOp: lambda node: ["logic", _name(node.op), *_trees(node.values)],
    ast.Compare: lambda node: ["compare", [_name(op) for op in node.ops], *_trees([node.left, *node.comparators])],
    ast.IfExp: lambda node: ["if", _tree(node.test), _tree(node.body), _tree(node.orelse)],
    ast.List: lambda node: ["list", *_trees(node.elts)],
    ast.Tuple: lambda node: ["list", *_trees(node.elts)],
    ast.ListComp: _comprehension,
}
