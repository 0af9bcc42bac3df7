"""Computes expressions over the facts of a run, within bounds of time: `{kv.bytes_per_token * 16}`."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Sequence
from typing import Any

from simpleeval import EvalWithCompoundTypes, InvalidExpression

from kvscope.app.learn.facts import Facts, Pending
from kvscope.app.learn.nodes import Node, walk
from kvscope.app.learn.wording import plain

BRACES = re.compile(r"\{([^{}]+)\}")
MOST_CHARACTERS = 200
PLAIN = (bool, int, float, str, list, dict, tuple)
"""Types of what an expression may give."""


class NotComputed(ValueError):
    """An expression that cannot be computed; the message names it and the reason. `pending`: it can be later."""

    def __init__(self, message: str, *, pending: bool = False) -> None:
        super().__init__(message)
        self.pending = pending

    @property
    def as_json(self) -> dict[str, Any]:
        """The members that it leaves where its value would be."""
        return {"problem": str(self)} | ({"pending": True} if self.pending else {})


class Computer:
    """Computes over one run's facts. Nothing that an expression names can change them or reach outside."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._engine = EvalWithCompoundTypes(names=dict(facts.names), functions=dict(facts.functions))

    def value(self, expression: str) -> Any:
        """The value. Raises NotComputed."""
        if len(expression) > MOST_CHARACTERS:
            raise NotComputed(
                f"{expression[:40]}… has {len(expression)} characters; at most {MOST_CHARACTERS} are read"
            )
        try:
            if any(
                isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
                for node in ast.walk(ast.parse(expression))
            ):
                raise NotComputed(
                    f"{{{expression}}} cannot be computed: only the functions of docs/lessons.md can be called"
                )
            found = self._engine.eval(expression)
        except Pending as error:
            raise NotComputed(f"{{{expression}}}: {error}", pending=True) from None
        except (
            InvalidExpression,
            SyntaxError,
            LookupError,
            ArithmeticError,
            TypeError,
            ValueError,
            AttributeError,
        ) as error:
            raise NotComputed(f"{{{expression}}} cannot be computed: {self._reason(error)}") from None
        if not isinstance(found, PLAIN):
            raise NotComputed(f"{{{expression}}} cannot be computed: it is neither a number nor a text")
        return found

    def _reason(self, error: Exception) -> str:
        name = getattr(error, "name", None) or getattr(error, "func_name", None)
        if name is not None and isinstance(error, InvalidExpression):
            known = sorted({*self._facts.names, *self._facts.functions})
            return f"{name} is unknown here; known are {', '.join(known)}"
        return str(error.args[0] if error.args else error)

    def filled(self, given: Any) -> Any:
        """A value of a block: a text that is one expression becomes its value, others have theirs written inside.
        Raises NotComputed.
        """
        if not isinstance(given, str):
            return given
        whole = BRACES.fullmatch(given.strip())
        if whole:
            return self.value(whole[1])
        return BRACES.sub(lambda match: plain(self.value(match[1])), given)

    def prose(self, nodes: Sequence[Node]) -> list[Node]:
        """A copy of a tree with `text` at each value, or `problem` where it cannot be computed."""
        tree = copy.deepcopy(list(nodes))
        for node in walk(tree):
            if node["t"] == "value":
                self._compute(node)
            elif node["t"] == "show":
                self._place(node)
            elif node["t"] == "page":
                self._address(node)
        return tree

    def _compute(self, node: Node) -> None:
        try:
            node["text"] = plain(self.value(node["expr"]))
        except NotComputed as error:
            node |= error.as_json

    def _place(self, node: Node) -> None:
        try:
            node["place"] = {name: self.filled(value) for name, value in node["place"].items()}
        except NotComputed as error:
            node |= error.as_json

    def _address(self, node: Node) -> None:
        try:
            node["address"] = self.filled(node["address"])
        except NotComputed as error:
            node |= error.as_json
