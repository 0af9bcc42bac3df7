"""The language of a page: the one that `?lang=` names, if static/languages/ has it, otherwise English.

The English text in templates and scripts is the key of its translation, as in gettext. A catalogue is one JSON file for
both; `python -m tools.messages` describes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from flask import Flask, has_request_context, request

from kvscope.app.paths import STATIC


def init_app(app: Flask) -> None:
    """Gives the templates `language`, `messages` (for the page's script; None in English) and gettext's functions."""
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    app.context_processor(lambda: {"language": language() or "en", "messages": catalogue(language())})


def language() -> str | None:
    """Returns the language that the request asks for; None for English."""
    tag = request.args.get("lang", "") if has_request_context() else ""
    return tag if tag in languages() else None


@cache
def languages() -> frozenset[str]:
    """Returns the languages that have a catalogue, as BCP 47 tags."""
    return frozenset(path.stem for path in (STATIC / "languages").glob("*.json"))


@cache
def catalogue(language: str | None) -> Mapping[str, Any] | None:
    """Returns `{"language": …, "messages": {English: translation}}`; None for English."""
    if language is None:
        return None
    content: dict[str, Any] = json.loads((STATIC / "languages" / f"{language}.json").read_text("utf-8"))
    return content


def gettext(text: str) -> str:
    """Returns the translation of a text, or the text if it has none."""
    translations = catalogue(language())
    return str(translations["messages"].get(text) or text) if translations else text


def ngettext(one: str, other: str, count: int) -> str:
    """Refuses plurals in templates: Python has no plural rules. Writes the count behind its label."""
    raise NotImplementedError("write the count behind a label, such as “Steps: 4”")
