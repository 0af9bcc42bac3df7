"""Builds a page with a snippet by each tool. A maker takes a folder and the snippet; it returns the page."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BEFORE, AFTER = "# A lesson\n\nText *before*.\n\n", "\n\nText **after**.\n"


@dataclass(frozen=True, slots=True)
class Tools:
    """Where the tools are installed. `python`: of their virtual environment; `node`: folder with node_modules."""

    python: Path
    node: Path

    def run(self, *command: str | Path, cwd: Path) -> None:
        """Runs a tool. Raises CalledProcessError with its output."""
        environment = {**os.environ, "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=True, capture_output=True)

    def module(self, *arguments: str | Path, cwd: Path) -> None:
        """Runs `python -m` of the virtual environment."""
        self.run(self.python, "-m", *arguments, cwd=cwd)


def html(folder: Path, text: str, tools: Tools) -> Path:
    """Writes a page by hand."""
    return _written(
        folder / "page.html", f"<!doctype html><meta charset=utf-8><title>Page</title><p>Before\n{text}\n<p>After"
    )


def markdown(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a page with markdown-it: CommonMark with HTML allowed."""
    return _by_node("markdown", folder, BEFORE + text + AFTER, tools)


def docusaurus(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a page with the MDX compiler and React, which Docusaurus uses."""
    return _by_node("docusaurus", folder, BEFORE + text + AFTER, tools)


def jupyter(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a notebook as HTML, after its cell has run."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}
    _written(folder / "page.ipynb", json.dumps(notebook))
    tools.module("nbconvert", "--to", "html", "--execute", "page.ipynb", cwd=folder)
    return folder / "page.html"


def mkdocs(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a site with its own theme."""
    (folder / "docs").mkdir()
    _written(folder / "docs" / "index.md", BEFORE + text + AFTER)
    _written(folder / "mkdocs.yml", "site_name: Course\nuse_directory_urls: false\n")
    tools.module("mkdocs", "build", "-q", cwd=folder)
    return folder / "site" / "index.html"


def quarto(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a page with Pandoc, which Quarto uses."""
    _written(folder / "page.qmd", BEFORE + text + AFTER)
    convert = (
        "import pypandoc; pypandoc.convert_file('page.qmd', 'html', 'markdown', "
        "['--standalone', '--metadata=title:Page'], outputfile='page.html')"
    )
    tools.run(tools.python, "-c", convert, cwd=folder)
    return folder / "page.html"


def sphinx(folder: Path, text: str, tools: Tools) -> Path:
    """Builds a page with Sphinx and MyST-Parser, which Jupyter Book 1 uses."""
    _written(folder / "conf.py", "extensions = ['myst_parser']\nproject = 'Course'\n")
    _written(folder / "index.md", BEFORE + text + AFTER)
    tools.module("sphinx", "-q", "-b", "html", ".", "site", cwd=folder)
    return folder / "site" / "index.html"


def jupyter_book(folder: Path, text: str, tools: Tools) -> dict[str, str]:
    """Builds a page from the properties of the frame that Jupyter Book 2 reads, without its theme, which comes from a
    server.
    """
    (folder / "theme").mkdir()
    _written(
        folder / "theme" / "template.yml",
        "myst: v1\nversion: '1'\ntitle: none\nbuild:\n  install: 'true'\n  start: 'true'\n",
    )
    site = {"version": 1, "project": {"toc": [{"file": "index.md"}]}, "site": {"template": str(folder / "theme")}}
    _written(folder / "myst.yml", json.dumps(site))
    _written(folder / "index.md", BEFORE + text + AFTER)
    tools.module("jupyter_book", "build", "--site", cwd=folder)
    tree = json.loads((folder / "_build" / "site" / "content" / "index.json").read_text("utf-8"))["mdast"]
    (found,) = [node for node in _nodes(tree) if node["type"] == "iframe"]
    return {name: found[name] for name in ("src", "title", "width")}


def _nodes(tree: dict) -> list[dict]:
    return [tree, *(node for child in tree.get("children", []) for node in _nodes(child))]


def _by_node(kind: str, folder: Path, source: str, tools: Tools) -> Path:
    page = folder / "page.html"
    tools.run("node", tools.node / "pages.mjs", kind, _written(folder / "page.md", source), page, cwd=tools.node)
    return page


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


Maker = Callable[[Path, str, Tools], Path]
PAGES: list[tuple[str, Maker, str]] = [
    ("html", html, "by hand"),
    ("markdown", markdown, "markdown-it"),
    ("markdown", sphinx, "Sphinx, MyST-Parser (Jupyter Book 1)"),
    ("jupyter", jupyter, "nbconvert --execute"),
    ("mkdocs", mkdocs, "MkDocs"),
    ("quarto", quarto, "Pandoc"),
    ("docusaurus", docusaurus, "MDX, React"),
    ("moodle", html, "by hand; not in a Moodle"),
    ("canvas", html, "by hand; not in a Canvas"),
]
"""The kind of snippet, the function that builds a page with it, and the tool's name. The last two use no such system.
"""
