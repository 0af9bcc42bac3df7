"""A page of KVScope as one file that works without a server and without a network."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, select_autoescape

from kvscope.app.page_table import Page, links
from kvscope.app.paths import STATIC, TEMPLATES
from kvscope.app.travel import page_source
from kvscope.app.travel.card import Card

TEMPLATE = "file.html"
Part = tuple[str, str, str]
"""Id, type and text of a script element."""


def file_page(
    page: Page,
    *,
    title: str,
    text: str,
    data: Mapping[str, Any],
    parts: Iterable[Part],
    nonces: Sequence[str],
    code: str,
    card: Card | None = None,
) -> Iterator[bytes]:
    """Returns the encoded text of the file, in pieces.

    `text`: all text that its fonts must cover. `data`: JSON by the id of its element. `nonces`: of its scripts, then of
    a page inside it. `card`: shown without scripts. `code`: from `packed_modules`.
    """
    static = STATIC
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_null_translations(newstyle=True)  # type: ignore[attr-defined]
    glossary = json.loads((static / "shared" / "words" / "glossary.json").read_text("utf-8"))
    pieces = environment.get_template(TEMPLATE).generate(
        title=f"{title} · KVScope",
        version=page_source.own_version(),
        icon=f"data:image/svg+xml,{quote((static / 'icon.svg').read_text('utf-8'))}",
        styles=page_source.styles(static, page.style, text),
        data={"pages": links(), "glossary": glossary, **data},
        card=card,
        code=code,
        entry=page_source.name_of(page.script),
        parts=parts,
        nonces=nonces,
    )
    return (piece.encode() for piece in pieces if piece)


@cache
def packed_modules(page: Page) -> str:
    """Returns all modules of a page, packed once per process: packing takes longer than the rest of a file."""
    return packed(json.dumps(page_source.modules(STATIC, page.script), ensure_ascii=False).encode())


def packed(payload: bytes) -> str:
    """Returns bytes deflated (zlib, RFC 1950), in base64."""
    return base64.b64encode(zlib.compress(payload)).decode()
