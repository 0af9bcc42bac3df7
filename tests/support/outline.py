"""An outline of a page without what it says twice, and without marks that only separate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

WRAPPERS = re.compile(r"(rowgroup|cell\b.*|paragraph):")
"""What has its parts below it and says nothing else: a cell's name is in that of its row."""
NAMED = re.compile(r"""(?P<role>\w+)(?: "(?P<name>(?:[^"\\]|\\.)*)")?""")
QUOTED = re.compile(r"'((?:[^']|'')*)'(:.*)?")


class Node:
    """A line of Playwright's ARIA snapshot, without its dash, and the lines below it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.children: list[Node] = []

    @property
    def plain(self) -> str:
        """The line without the quotes that YAML puts around it."""
        quoted = QUOTED.fullmatch(self.text)
        return quoted[1].replace("''", "'") + (quoted[2] or "") if quoted else self.text


def condense(snapshot: str) -> str:
    """Shorten an ARIA snapshot. Each table row keeps its name, and counts the roles of the parts that this name repeats."""
    return "".join(f"{'  ' * depth}- {text}\n" for depth, text in _lines(_tree(snapshot)))


def _tree(snapshot: str) -> Node:
    root = Node("")
    branch = [root]
    for line in snapshot.splitlines():
        text = line.lstrip()
        node = Node(text.removeprefix("- "))
        del branch[(len(line) - len(text)) // 2 + 1 :]
        branch[-1].children.append(node)
        branch.append(node)
    return root


def _lines(node: Node, depth: int = 0) -> Iterator[tuple[int, str]]:
    for child in _flat(node):
        text, parts = child.plain, list(_flat(child))
        if text.startswith("text:") and not re.search(r"\w", text[5:]):
            continue
        if not text.startswith("row "):
            yield depth, child.text
            yield from _lines(_above(parts), depth + 1)
            continue
        repeated = [part for part in parts if _is_repeated(part, text)]
        roles = Counter(role for part in repeated for role in _roles(part) if role != "cell")
        yield depth, child.text.removesuffix(":") + "".join(f" +{count} {role}" for role, count in roles.items())
        yield from _lines(_above([part for part in parts if part not in repeated]), depth + 1)


def _flat(node: Node) -> Iterator[Node]:
    """The lines below a line, with those of a wrapper in its place."""
    for child in node.children:
        if child.children and WRAPPERS.fullmatch(child.plain):
            yield from _flat(child)
        else:
            yield child


def _above(children: list[Node]) -> Node:
    node = Node("")
    node.children = children
    return node


def _roles(part: Node) -> Iterator[str]:
    named = NAMED.match(part.plain)
    yield named["role"] if named else ""
    for child in part.children:
        yield from _roles(child)


def _is_repeated(part: Node, row: str) -> bool:
    """Whether the name of a row has the name of a part and of all parts below it."""
    named = NAMED.match(part.plain)
    name = (named["name"] or "") if named else None
    return name is not None and name in row and all(_is_repeated(child, row) for child in part.children)
