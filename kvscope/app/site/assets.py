"""The files that a site's pages share: modules and style sheets, each named by its content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import chain
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from kvscope.app.http.site import Assets
from kvscope.app.page_table import pages
from kvscope.app.paths import LESSONS, STATIC, TEMPLATES
from kvscope.app.travel import page_source
from kvscope.app.travel.file_page import packed_modules

FOLDER = "assets"
MESSAGE = "message"
"""The page of a message, which has no script."""
ALL_LETTERS = "".join(map(chr, chain(range(0x20, 0x530), range(0x1E00, 0x2600))))
"""Selects all files of the fonts."""
HASH_CHARS = 12


def build_assets() -> tuple[Mapping[str, Assets], Mapping[str, bytes]]:
    """Returns the assets by page, and the content of their files."""
    static, files = STATIC, dict[str, bytes]()

    def file(name: str, suffix: str, content: str) -> str:
        named = f"{FOLDER}/{name}-{_hash(content.encode())}.{suffix}"
        files[named] = content.encode()
        return named

    # The template renders a script, with its values quoted as JSON.
    start = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=False).get_template("start.jinja")
    fonts = file("fonts", "css", "\n".join(page_source.faces(static, ALL_LETTERS)))
    assets = {MESSAGE: Assets([file(MESSAGE, "css", page_source.joined(static / "message.css"))])}
    for page in pages():
        sheet = file(page.id, "css", page_source.joined(static / page.style))
        code = start.render(packed=json.dumps(packed_modules(page)), entry=page_source.name_of(page.script))
        assets[page.id] = Assets([fonts, sheet], file(page.id, "js", code))
    files |= {name: (STATIC.parent / name).read_bytes() for name in ("static/icon.svg", "static/embed.js")}
    return assets, files


def version_of(recordings: Path, lessons: Path | None) -> str:
    """Returns a version that changes with the code, the styles, the recordings and the lessons of a site's pages."""
    folders = [Path(__file__).parents[1], STATIC, TEMPLATES, LESSONS, recordings, lessons]
    digest = sha256(page_source.own_version().encode())
    for path in _files(folder for folder in folders if folder is not None):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:HASH_CHARS]


def _files(folders: Iterator[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc")


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:HASH_CHARS]
