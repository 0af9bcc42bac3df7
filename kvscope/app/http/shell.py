"""The HTML around each page: made of the table of pages, with the import map and the nonce that lets it in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from flask import g, render_template

from kvscope.app.http.languages import gettext, language
from kvscope.app.http.root import root
from kvscope.app.page_table import READ, Page, links, page_of
from kvscope.app.paths import STATIC

SHELL = "shell.html"


def renderer(id: str, template: str = SHELL) -> Callable[..., str]:
    """What renders the page of this id. The import map is read once."""
    page, places = page_of(id), links()
    libraries = json.loads((STATIC / "importmap.json").read_text("utf-8"))["imports"]

    def render(bootstrap: Mapping[str, Any], **named: Any) -> str:
        """`bootstrap`: what the page's script starts from. `title` replaces the window's; `card` is of a saved run."""
        imports = {name: root() + path.removeprefix("/") for name, path in libraries.items()}
        importmap, nonce, translated = {"imports": imports}, g.csp_nonce, _translated(page)
        given = {"title": translated.title, "bootstrap": bootstrap, **named}
        return render_template(
            template, page=translated, pages=names_here(places), importmap=importmap, csp_nonce=nonce, **given
        )

    return render


def _translated(page: Page) -> Page:
    words: dict[str, Any] = {field: gettext(getattr(page, field)) for field in READ}
    return replace(page, **words)


def names_here(places: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Links to pages, in the language of the page that the request asks for."""
    return [_in_this_language(place) for place in places]


def _in_this_language(place: dict[str, str]) -> dict[str, str]:
    """A link of the navigation, which leads on in the page's language."""
    lang = f"?lang={language()}" if language() else ""
    return {**place, "name": gettext(place["name"]), "address": place["address"] + lang}
