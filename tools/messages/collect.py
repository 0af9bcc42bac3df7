"""Collects what people read on the pages from scripts, templates, and the tables of pages, terms and ideas."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment

from kvscope.app.page_table import READ
from tests.page_tools import node

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "kvscope" / "static"

Messages = dict[str, str | None]
"""English messages in alphabetical order, each with the second form of a plural, or None."""


def collect() -> Messages:
    """Returns all messages. Raises CalledProcessError if a script cannot be read."""
    scripts = subprocess.run(
        [*node(), "tools/messages/extract.js"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found: Messages = json.loads(scripts.stdout)
    for text in (*in_templates(), *in_python(), *in_tables()):
        found.setdefault(text, None)
    return dict(sorted(found.items()))


def in_templates() -> Iterator[str]:
    environment = Environment(extensions=["jinja2.ext.i18n"])
    for path in sorted((ROOT / "kvscope" / "templates").glob("*.html")):
        for _line, _function, found in environment.extract_translations(path.read_text("utf-8")):  # type: ignore[attr-defined]
            # A message with placeholders is a tuple (text, None, …).
            yield found if isinstance(found, str) else found[0]


def in_python() -> Iterator[str]:
    for path in sorted((ROOT / "kvscope" / "app").rglob("*.py")):
        for found in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and found.func.id == "gettext":
                [text] = found.args
                if isinstance(text, ast.Constant):
                    yield str(text.value)


def in_tables() -> Iterator[str]:
    for page in json.loads((STATIC / "pages.json").read_text("utf-8")):
        yield from (page[field] for field in READ if page.get(field))
    words = STATIC / "shared" / "words"
    terms = json.loads((words / "glossary.json").read_text("utf-8")).values()
    figures = json.loads((STATIC / "shared" / "figures" / "figures.json").read_text("utf-8"))
    for entries in (terms, figures, *json.loads((words / "find.json").read_text("utf-8")).values()):
        for entry in entries:
            yield from (entry["name"], entry["text"])
