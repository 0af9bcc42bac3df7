"""The code and styles of a page as text, for a page that must contain them.

Modules are collected from the entry on, as the browser would load them: from a checkout, or the bundle of a wheel. Each
gets a name without an address, for an import map.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from posixpath import normpath

FONTS = ("@fontsource-variable/inter/wght.css", "@fontsource-variable/jetbrains-mono/wght.css")
"""Style sheets under static/vendor with the faces of the page's fonts."""


_SPECIFIER = re.compile(r"""(\b(?:from|import)\s*\(?\s*)(["'])([^"'\s]+)\2(?:\s*with\s*\{ type: "json" \})?""")
_IMPORTED = re.compile(r'@import "([^"]+)";')
_FACE = re.compile(r"@font-face\s*\{[^}]*\}")
_ADDRESS = re.compile(r"url\(([^)]+)\)")
_RANGES = re.compile(r"unicode-range:\s*([^;]+);")


def own_version() -> str:
    """Returns the installed version of KVScope."""
    try:
        return version("kvscope")
    except PackageNotFoundError:
        return "unpackaged"


def name_of(path: str) -> str:
    """Returns the import name of the module at `path` below static/."""
    return f"kvscope/{path}"


def modules(static: Path, entry: str) -> dict[str, str]:
    """Returns the source of every module that `entry` imports, by name, with imports by name. Raises OSError.

    A JSON file becomes a script: a file's modules have addresses of scripts.
    """
    imports: dict[str, str] = json.loads((static / "importmap.json").read_text("utf-8"))["imports"]
    known = {name: address.removeprefix("/static/") for name, address in imports.items()}
    sources: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if name_of(path) in sources:
            continue

        def renamed(match: re.Match[str], importer: str = path) -> str:
            target = known.get(match[3]) or _beside(static, importer, match[3])
            if target is None:
                return match[0]
            waiting.append(target)
            return f"{match[1]}{match[2]}{name_of(target)}{match[2]}"

        text = (static / path).read_text("utf-8")
        is_script = not path.endswith(".json")
        sources[name_of(path)] = _SPECIFIER.sub(renamed, text) if is_script else f"export default {text}"
    return sources


def _beside(static: Path, importer: str, specifier: str) -> str | None:
    """Returns the path below static/ of a relative import; None for text that only looks like one."""
    if not specifier.startswith("."):
        return None
    path = normpath(
        PurePosixPath(importer).parent / specifier
    )  # not resolved: a table may be a link to one of the model's
    return path if (static / path).is_file() else None


def styles(static: Path, sheet: str, text: str) -> str:
    """Returns `sheet` with its imports, and the font files that `text` and the page's Latin words need."""
    return "\n".join([*faces(static, text), joined(static / sheet)])


def joined(sheet: Path) -> str:
    """Returns a style sheet with its imports in place."""
    return _IMPORTED.sub(lambda match: joined(sheet.parent / match[1]), sheet.read_text("utf-8"))


def faces(static: Path, text: str) -> Iterator[str]:
    """Yields the font faces that `text` and the page's Latin words need, each with its file inside."""
    needed = {ord(character) for character in text} | {ord("a")}
    for font in FONTS:
        sheet = static / "vendor" / font
        for face in _FACE.findall(sheet.read_text("utf-8")):
            ranges, address = _RANGES.search(face), _ADDRESS.search(face)
            if ranges and address and _covers(ranges[1], needed):
                yield face.replace(address[0], f"url({_inside(sheet.parent / address[1])})")


def _inside(path: Path) -> str:
    return f'"data:font/woff2;base64,{base64.b64encode(path.read_bytes()).decode()}"'


def _covers(ranges: str, needed: set[int]) -> bool:
    """Returns whether a CSS unicode-range, such as `U+0-FF,U+131`, has any of the code points."""
    for item in ranges.split(","):
        low, _, high = item.strip().removeprefix("U+").partition("-")
        first, last = int(low, 16), int(high or low, 16)
        if any(first <= point <= last for point in needed):
            return True
    return False
