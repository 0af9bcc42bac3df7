"""The prose of a lesson as a tree of plain objects, which the page draws without ever reading HTML.

A node is {"t": kind} with `text` or `children`: paragraph, list, steps, item, text, strong, em, code, break; value
(`expr`, and `text` once it is computed); term (`id`); show (`names`, `place`); page (`address`); lesson (`id`); link
(`href`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

Node = dict[str, Any]
BLOCKS = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "steps",
    "list_item_open": "item",
}
SPANS = {"strong_open": "strong", "em_open": "em"}
ALLOWED = "headings of level 2, paragraphs, lists, **strong**, *emphasis*, `code`, links and {expressions}"
PLACE = re.compile(r"[a-z_]+=")
NEXT_PLACE = re.compile(r"[,&](?=[a-z_]+=(?!=))")
"""The comma or & between two fields of a place, not between arguments of a function."""


class Unsupported(ValueError):
    """Markdown that a lesson may not have. `line`: of the file, from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def markdown() -> MarkdownIt:
    """Returns a parser of CommonMark with front matter and {expressions}. It parses HTML so that HTML can be refused by
    name.
    """
    parser = MarkdownIt("commonmark", {"html": True}).use(front_matter_plugin)
    parser.inline.ruler.before("text", "value", _value)
    return parser


def _value(state: StateInline, silent: bool) -> bool:
    """Parses {expression}. The library's rule `text` stops at braces."""
    if state.src[state.pos] != "{":
        return False
    end = state.src.find("}", state.pos)
    if end < 0:
        return False
    if not silent:
        state.push("value", "", 0).content = state.src[state.pos + 1 : end].strip()
    state.pos = end + 1
    return True


def inline(text: str) -> list[Node]:
    """Parses one line of prose, such as a hint. Raises Unsupported."""
    tokens = markdown().parseInline(text)
    return _spans(iter(tokens[0].children or ()), 0)


def blocks(tokens: Sequence[Token], offset: int = 0) -> list[Node]:
    """Returns the nodes of block tokens. `offset`: lines of the file before them. Raises Unsupported."""
    root: list[Node] = []
    open_lists = [root]
    for token in tokens:
        line = (token.map[0] if token.map else 0) + offset
        if token.type in BLOCKS:
            node: Node = {"t": BLOCKS[token.type], "children": []}
            open_lists[-1].append(node)
            open_lists.append(node["children"])
        elif token.type.endswith("_close") and token.type.replace("_close", "_open") in BLOCKS:
            open_lists.pop()
        elif token.type == "inline":
            open_lists[-1].extend(_spans(iter(token.children or ()), line))
        else:
            raise Unsupported(_refusal(token), line)
    return root


def _spans(tokens: Iterator[Token], line: int, until: str | None = None) -> list[Node]:
    nodes: list[Node] = []
    for token in tokens:
        if token.type == until:
            return nodes
        if token.type == "text":
            if token.content:
                nodes.append({"t": "text", "text": token.content})
        elif token.type == "softbreak":
            nodes.append({"t": "text", "text": " "})
        elif token.type == "hardbreak":
            nodes.append({"t": "break"})
        elif token.type == "code_inline":
            nodes.append({"t": "code", "text": token.content})
        elif token.type == "value":
            nodes.append({"t": "value", "expr": token.content})
        elif token.type in SPANS:
            end = token.type.replace("_open", "_close")
            nodes.append({"t": SPANS[token.type], "children": _spans(tokens, line, end)})
        elif token.type == "link_open":
            nodes.append(_link(str(token.attrs["href"]), line) | {"children": _spans(tokens, line, "link_close")})
        else:
            raise Unsupported(_refusal(token), line)
    return nodes


def _link(href: str, line: int) -> Node:
    kind, _, rest = href.partition(":")
    if kind == "term":
        return {"t": "term", "id": rest}
    if kind == "lesson":
        return {"t": "lesson", "id": rest}
    if kind == "show":
        if PLACE.match(rest):
            return {"t": "show", "names": [], "place": _place(rest)}
        return {"t": "show", "names": rest.split(","), "place": {}}
    if href.startswith("/"):
        return {"t": "page", "address": href}
    if kind == "https":
        return {"t": "link", "href": href}
    raise Unsupported(f"the link {href!r} is none of term:ID, show:NAME, show:key=4, lesson:ID, /address, https:", line)


def _place(text: str) -> dict[str, str]:
    """Parses the fields of query=8,key=1, as text."""
    fields = (part.partition("=") for part in NEXT_PLACE.split(text))
    return {name: unquote(value) for name, _, value in fields}


def _refusal(token: Token) -> str:
    if token.type in ("html_block", "html_inline"):
        return f"HTML is not allowed ({token.content.strip()[:40]!r}); a lesson may have {ALLOWED}"
    return f"{token.type.removesuffix('_open').replace('_', ' ')} is not allowed; a lesson may have {ALLOWED}"


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yields all nodes, each before its children."""
    for node in nodes:
        yield node
        yield from walk(node.get("children", ()))


def text_of(nodes: Sequence[Node]) -> str:
    """Returns the words of a tree; an expression counts as one."""
    return "".join(
        " \n" if node["t"] in ("paragraph", "item", "break") else node.get("text", "0" if node["t"] == "value" else "")
        for node in walk(nodes)
    )
