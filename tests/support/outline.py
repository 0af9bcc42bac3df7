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
    def addresses(self) -> list[Node]:
        """The line with the address of a link."""
        return [child for child in self.children if child.text.startswith("/url:")]

    @property
    def plain(self) -> str:
        """The line without the quotes that YAML puts around it."""
        quoted = QUOTED.fullmatch(self.text)
        return quoted[1].replace("''", "'") + (quoted[2] or "") if quoted else self.text


def condense(snapshot: str) -> str:
    """Shorten an ARIA snapshot: a row or heading keeps its name and counts the roles of the parts that it repeats.

    A list of options keeps the selected one, and counts the others.
    """
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
        if child.text.startswith("text:") and not re.search(r"\w", child.text[5:]):
            continue
        parts = list(_flat(child))
        counted = [part for part in parts if _is_counted(part, child.plain)]
        roles = Counter(role for part in counted for role in _roles(part) if role != "cell")
        others = [part for part in parts if part not in counted] + [at for part in counted for at in part.addresses]
        end = ":" if others and not roles else ""
        yield depth, child.text.removesuffix(":") + "".join(f" +{n} {role}" for role, n in roles.items()) + end
        yield from _lines(_above(others), depth + 1)


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
    if named:
        yield named["role"]
    for child in part.children:
        yield from _roles(child)


def _is_counted(part: Node, above: str) -> bool:
    """Whether a line repeats the names of a part and of all parts below it, or has it as an option that is not selected."""
    named = NAMED.match(part.plain)
    if above.startswith("combobox"):
        return named is not None and named["role"] == "option" and "[selected]" not in part.plain
    if not named or not above.startswith(("row ", "heading ")) or (named["name"] or "") not in above:
        return False
    return all(_is_counted(child, above) for child in part.children if child not in part.addresses)
