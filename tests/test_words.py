"""No private words: those that docs/style.md replaces appear in no message, document, help text or name."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kvscope.app.commands.cli import main

ROOT = Path(__file__).resolve().parent.parent
STYLE = (ROOT / "docs" / "style.md").read_text("utf-8")
PHRASES = re.findall(r"`([^`]+)`", STYLE.split("## Private words\n", 1)[1].split("\n## ", 1)[0])
PRIVATE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)


def found_in(text: str) -> list[str]:
    return sorted({match[0] for match in PRIVATE.finditer(text)})


def test_the_style_page_lists_them() -> None:
    assert len(PHRASES) > 5
    assert found_in("A run stands in line.") == ["stands in line"]


def test_the_messages_of_the_pages_have_none() -> None:
    messages = json.loads((ROOT / "kvscope" / "static" / "languages" / "xx.json").read_text("utf-8"))["messages"]
    assert {message: found_in(message) for message in messages if found_in(message)} == {}


@pytest.mark.parametrize(
    "document", ["README.md", "CHANGELOG.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_documents_have_none(document: str) -> None:
    path = ROOT / document if (ROOT / document).exists() else ROOT / "docs" / document
    text = path.read_text("utf-8")
    if path.name == "style.md":
        text = text.split("## Terms", 1)[0]  # the rest lists the words
    assert found_in(text) == []


def helps(command: click.Command) -> Iterator[str]:
    yield command.help or ""
    for option in command.params:
        yield getattr(option, "help", None) or ""
    for other in getattr(command, "commands", {}).values():
        yield from helps(other)


def test_help_has_none() -> None:
    assert [found_in(text) for text in helps(main) if found_in(text)] == []


@pytest.mark.parametrize("folder", ["app", "model", "kvscope"])
def test_names_and_docstrings_have_none(folder: str) -> None:
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                words = found_in(f"{node.name.replace('_', ' ')} {ast.get_docstring(node) or ''}")
                if words:
                    found[f"{path.relative_to(ROOT)}:{node.lineno}"] = words
    assert found == {}
