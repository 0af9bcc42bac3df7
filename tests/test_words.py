"""The words that docs/style.md replaces appear in no message, document, help text, comment, docstring or name.

Docstrings of functions are in the third person.
"""

import ast
import io
import json
import re
import tokenize
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
    "document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
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


NAMES = set(re.findall(r"\*(\w+)\*", STYLE.split("## Names", 1)[1].split("as names", 1)[0]))
"""Participles that name no value."""
JS_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`\w])//[^\n]*", re.DOTALL)
JS_NAMES = re.compile(r"\b(?:const|let|function|class)\s+(\w+)")


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each comment and docstring: of a module, class, function or attribute."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from comments_of(source)
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield node.lineno, text
    else:
        yield from ((source.count("\n", 0, match.start()) + 1, match[0]) for match in JS_COMMENT.finditer(source))


def names_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each function, class, argument and variable; fields of classes may be names of the contract."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        tree = ast.parse(source)
        classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        fields = {part.target for node in classes for part in node.body if isinstance(part, ast.AnnAssign)}
        for node in ast.walk(tree):
            if node in fields:
                continue
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.lineno, node.name
            elif isinstance(node, ast.arg):
                yield node.lineno, node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id
    else:
        yield from ((source.count("\n", 0, match.start()) + 1, match[1]) for match in JS_NAMES.finditer(source))


SOURCES = [
    path
    for path in sorted(ROOT.rglob("kvscope/**/*"))
    if path.suffix in (".py", ".js") and not {"vendor", "node_modules"} & set(path.parts)
]


def test_comments_and_docstrings_have_none() -> None:
    assert len(SOURCES) > 700
    private = [
        f"{path.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for path in SOURCES
        for line, text in texts_of(path)
        if (words := found_in(" ".join(text.split())))
    ]
    assert private == []


def test_names_have_none() -> None:
    private = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        for line, name in names_of(path)
        if found_in(name.replace("_", " ")) or name in NAMES
    ]
    assert private == []


IMPERATIVES = set(
    re.findall(
        r"\w+",
        """
    Accept Add Admit Advance Allocate Answer Append Arrange Ask Begin Break Build Cache Call Cancel Check Close Compile
    Compress Compute Copy Count Create Cut Declare Decode Delete Dequantize Describe Disable Do Download Draw Drop
    Encode End Estimate Evict Explain Fail Fill Follow Forget Format Free Give Have Hold Identify Insert Install Keep
    Kill Leave Let List Load Lock Log Lower Make Map Mark Measure Move Name Note Open Parse Pass Pause Place Prevent
    Print Queue Raise Read Record Refuse Release Remove Render Reorder Replace Report Reserve Reshape Restore Return
    Rotate Run Save Say Send Serve Set Show Split Start Stop Store Take Tokenize Truncate Try Turn Undo Unpack Update
    Use Validate Wait Wake Watch Wrap Write Yield
    """,
    )
)
"""Base forms of verbs that begin no docstring; nouns such as Number and Query may."""


def imperatives_in(source: str) -> Iterator[tuple[int, str]]:
    """Line and first word of the docstring of each function, if it is an imperative."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = re.match(r"\w*", ast.get_docstring(node) or "")
            if first and first[0] in IMPERATIVES:
                yield node.lineno, first[0]


def test_docstrings_say_what_a_function_does() -> None:
    """In the third person, so that all read alike."""
    source = 'def a():\n    """Return 1."""\n\n\ndef b():\n    """Returns 1."""\n'
    assert list(imperatives_in(source)) == [(1, "Return")]
    imperative = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in SOURCES
        if path.suffix == ".py"
        for line, word in imperatives_in(path.read_text("utf-8"))
    ]
    assert imperative == []


def test_names_and_comments_are_read(tmp_path: Path) -> None:
    """In both languages, wherever they stand."""
    module, script = tmp_path / "a.py", tmp_path / "a.js"
    module.write_text('"""Module."""\nA = 1\n"""Attribute."""\ndef b(c):\n    """Function."""\n    d = c  # comment\n')
    assert sorted(text for _, text in texts_of(module)) == ["# comment", "Attribute.", "Function.", "Module."]
    assert sorted(name for _, name in names_of(module)) == ["A", "b", "c", "d"]
    script.write_text("/** Module. */\nconst a = 1; // comment\nfunction b() {}\n")
    assert [text for _, text in texts_of(script)] == ["/** Module. */", "// comment"]
    assert [name for _, name in names_of(script)] == ["a", "b"]
