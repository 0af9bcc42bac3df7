"""Computes expressions over the facts of a run, in limited time: `{kv.bytes_per_token * 16}`.

A single unlimited operation on numbers would block every thread of the process. Therefore each operation has a limited
result, and the clock is checked between operations.
"""

from __future__ import annotations

import ast
import copy
import operator
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simpleeval import DEFAULT_OPERATORS, AttributeDoesNotExist, EvalWithCompoundTypes, InvalidExpression

from kvscope.app import numbers
from kvscope.app.learn.addresses import address_of
from kvscope.app.learn.facts import Facts, Pending
from kvscope.app.learn.nodes import Node, inline, walk

BRACES = re.compile(r"\{([^{}]+)\}")
MOST_CHARACTERS = 200
SECONDS = 0.5
"""Processor time for one expression."""
LARGEST_BITS, LONGEST = 128, 100_000
"""Most bits of a whole number; most characters or items of a text or list made by +."""
PLAIN = (bool, int, float, str, list, dict, tuple)
"""Types that an expression may return."""


def plain(value: object) -> str:
    """Writes a value as in prose: 46,080; 0.25; “yes” for True."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return numbers.integer(value)
    if isinstance(value, float):
        return numbers.fixed(value, 3).rstrip("0").rstrip(".") if abs(value) < 1000 else numbers.integer(value)
    return str(value)


def _number(value: Any) -> Any:
    """Returns the value if it is a number in range. Raises TypeError, ArithmeticError."""
    if not isinstance(value, int | float):
        raise TypeError("only numbers can be computed with; texts and lists can be joined with +")
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        raise ArithmeticError(f"a whole number may have at most {LARGEST_BITS} bits")
    return value


def _of_numbers(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the operation with its arguments and its result checked."""
    return lambda *arguments: _number(compute(*map(_number, arguments)))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > 2 * LARGEST_BITS:
        raise ArithmeticError(f"a whole number may have at most {LARGEST_BITS} bits")
    return base**exponent


def _sum(one: Any, other: Any) -> Any:
    if type(one) is not type(other) or type(one) not in (str, list, tuple):
        return _of_numbers(operator.add)(one, other)
    if len(one) + len(other) > LONGEST:
        raise ArithmeticError(f"a text or list may have at most {LONGEST:,} characters or items")
    return one + other


OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    **{kind: DEFAULT_OPERATORS[kind] for kind in (ast.Eq, ast.NotEq, ast.Gt, ast.Lt, ast.GtE, ast.LtE)},
    **{kind: DEFAULT_OPERATORS[kind] for kind in (ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Not)},
    **{kind: _of_numbers(DEFAULT_OPERATORS[kind]) for kind in (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)},
    **{kind: _of_numbers(DEFAULT_OPERATORS[kind]) for kind in (ast.USub, ast.UAdd)},
    ast.Mult: _of_numbers(operator.mul),
    ast.Pow: _of_numbers(_power),
    ast.Add: _sum,
}
WITHOUT = (ast.JoinedStr, ast.FormattedValue)
"""A number with a format can become a text of any length."""


class _Bounded(EvalWithCompoundTypes):  # type: ignore[misc]
    """The library's evaluator with `OPERATORS` and a clock, and without methods: `.name` is a member of a fact."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(operators=dict(OPERATORS), names=dict(facts.names), functions=dict(facts.functions))
        for kind in WITHOUT:
            del self.nodes[kind]
        self._until = 0.0

    def eval(self, expr: str, previously_parsed: Any = None) -> Any:
        self._until = time.thread_time() + SECONDS  # does not advance while other threads compute
        return super().eval(expr, previously_parsed)

    def _eval(self, node: ast.AST) -> Any:
        if time.thread_time() > self._until:
            raise ArithmeticError(f"it takes longer than {SECONDS:g} s")
        return super()._eval(node)

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        whole = self._eval(node.value)
        if not (isinstance(whole, Mapping) and node.attr in whole):
            raise AttributeDoesNotExist(node.attr, self.expr)
        return whole[node.attr]


class NotComputed(ValueError):
    """An expression without a value; the message names it and the reason. `pending`: it will have one later."""

    def __init__(self, message: str, *, pending: bool = False) -> None:
        super().__init__(message)
        self.pending = pending

    @property
    def as_json(self) -> dict[str, Any]:
        """The members that stand in place of its value."""
        return {"problem": str(self)} | ({"pending": True} if self.pending else {})


class Computer:
    """Computes over one run's facts. No expression can change them or reach anything else."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._engine = _Bounded(facts)

    def value(self, expression: str) -> Any:
        """Returns the value of an expression. Raises NotComputed."""
        try:
            if any(
                isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
                for node in ast.walk(self.parsed(expression))
            ):
                raise NotComputed(
                    f"{{{expression}}} cannot be computed: only the functions of docs/lessons.md can be called"
                )
            result = self._engine.eval(expression)
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
            RecursionError,
            MemoryError,
        ) as error:
            raise NotComputed(f"{{{expression}}} cannot be computed: {self._reason(error)}") from None
        if not isinstance(result, PLAIN):
            raise NotComputed(f"{{{expression}}} cannot be computed: it is neither a number nor a text")
        return result

    def parsed(self, expression: str) -> ast.Expression:
        """Parses an expression. Raises NotComputed if it is too long, and what `ast.parse` raises."""
        if len(expression) > MOST_CHARACTERS:
            raise NotComputed(
                f"{expression[:40]}… has {len(expression)} characters; at most {MOST_CHARACTERS} are read"
            )
        return ast.parse(expression.strip(), mode="eval")

    def _reason(self, error: Exception) -> str:
        name = getattr(error, "name", None) or getattr(error, "func_name", None)
        if name is not None and isinstance(error, InvalidExpression):
            known = sorted({*self._facts.names, *self._facts.functions})
            return f"{name} is unknown here; known are {', '.join(known)}"
        return str(error.args[0] if error.args else error)

    def filled(self, value: Any) -> Any:
        """Computes the expressions in a value of a block. A text that is one expression becomes its value. Raises
        NotComputed.
        """
        if not isinstance(value, str):
            return value
        whole = BRACES.fullmatch(value.strip())
        if whole:
            return self.value(whole[1])
        return BRACES.sub(lambda match: plain(self.value(match[1])), value)

    def text(self, template: str | float) -> Any:
        """Returns a text with its expressions computed. Raises NotComputed."""
        return str(self.filled(template))

    def address(self, template: str) -> Any:
        """Returns an address with its expressions computed. Raises NotComputed, BadAddress."""
        text = self.text(template)
        address_of(text)
        return text

    def line(self, text: str) -> list[Node]:
        """Returns one line of prose, such as a hint, with its expressions computed. Raises Unsupported."""
        return self.prose(inline(text))

    def prose(self, nodes: Sequence[Node]) -> list[Node]:
        """Returns a copy of a tree with `text` at each value, or `problem` if it has none."""
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
