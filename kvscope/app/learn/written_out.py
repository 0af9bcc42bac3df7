"""A lesson for its writer: the text of each step with its numbers, and every answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvscope.app.learn.nodes import Node
from kvscope.app.numbers import percent, short

MARKS = {"strong": "**", "em": "*"}


def lines_of(lesson: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of a lesson as `rendered` returns it."""
    yield f"=== {lesson['id']}: {lesson['title']}"
    for number, step in enumerate(lesson["steps"], 1):
        yield ""
        yield f"--- {number}. {_line(step['title'])}"
        yield from _of(("shows", step["at"]), ("lit", ", ".join(step["lit"])), ("problem", step.get("problem")))
        yield from filter(None, _text(step["prose"]).split("\n"))
        yield from (f"instead: {_line(line)}" for line in step["untrue"])
        if step["predict"]:
            yield from _predict(step["predict"])
        yield from filter(None, _text(step["after"]).split("\n"))
        if step["do"]:
            task = step["do"]
            yield f"task: {_line(task['task'])}"
            yield from _of(("done when", _asked(task["check"])))
            yield from _hints(task["hints"])
            yield f"done: {_line(task['done'])}"


def _predict(block: Mapping[str, Any]) -> Iterator[str]:
    yield f"ask: {_line(block['ask'])}"
    for choice in block["choices"]:
        yield f"  ( ) {choice['text']}" + (f": {_line(choice['why'])}" if choice["why"] else "")
        yield from _of(("      shows", choice["shows"]))
    yield from _hints(block["hints"])
    if block["number"] is not None:
        right = f"{short(block['number'])} {block['unit']}".strip()
        room = f" (within {percent(block['within'], 0)})" if block["within"] else ""
        yield f"answer: It is {right}.{room}"
    yield from _of(("answer", block["answer"]))
    yield from _of(("answer: the place", block["cell"] and _asked(block["cell"])), ("then shows", block["shows"]))
    yield f"because: {_line(block['because'])}"


def _hints(hints: Sequence[Sequence[Node]]) -> Iterator[str]:
    return (f"hint {number}: {_line(hint)}" for number, hint in enumerate(hints, 1))


def _of(*members: tuple[str, str | None]) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in members if value)


def _asked(conditions: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{name} {bound.replace('_', ' ')} {value!r}"
        for name, bounds in conditions.items()
        for bound, value in bounds.items()
    )


def _line(nodes: Sequence[Node]) -> str:
    return " ".join(_text(nodes).split())


def _text(nodes: Sequence[Node]) -> str:
    return "".join(map(_node, nodes))


def _node(node: Node) -> str:
    """Returns a node as Markdown, without the targets of links."""
    inside = _text(node.get("children", ()))
    if node["t"] in ("text", "value"):
        return str(node.get("text") or f"(not on this run: {node.get('problem')})")
    if node["t"] == "code":
        return f"`{node['text']}`"
    if node["t"] == "break":
        return "\n"
    if node["t"] in ("paragraph", "list", "steps"):
        return f"{inside}\n"
    if node["t"] == "item":
        return f"- {inside}"
    mark = MARKS.get(node["t"], "")
    return f"{mark}{inside}{mark}"
