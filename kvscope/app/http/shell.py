"""The HTML around each page, from the table of pages, and what the page's script starts from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from flask import g, render_template

from kvscope.app.bodies import limits_of
from kvscope.app.http.languages import gettext, language
from kvscope.app.http.questions import Candidate, Effect
from kvscope.app.http.requests import Beam
from kvscope.app.http.root import root
from kvscope.app.http.site import site
from kvscope.app.page_table import READ, Page, links, page_of
from kvscope.app.paths import GPUS, STATIC
from kvscope.app.run_bodies import ChangeRun, NewRun
from kvscope.app.travel.importing import MAX_FILE_BYTES
from kvscope.app.travel.page_source import own_version
from kvscope.app.travel.words import Share
from kvscope.model.api import MAX_COMPARED
from kvscope.model.settings import MAX_ASKS, Workload

SHELL = "shell.html"
LEFT_OUT = {"stage": ("room",)}
"""Pages to which a page's navigation does not lead. The Stage has the most controls: there *Share* leads to them."""
LIMITS = {
    "run": limits_of(NewRun),
    "beam": limits_of(Beam),
    "change": limits_of(ChangeRun),
    "candidates": limits_of(Candidate),
    "effects": limits_of(Effect),
    "workload": limits_of(Workload),
    "share": limits_of(Share),
    "workload_states": MAX_ASKS,
    "compared_positions": MAX_COMPARED,
    "file_bytes": MAX_FILE_BYTES,
}
"""Limits of what a page sends, from the models that check requests: least and most, by thing and member
(static/shared/log/limits.js); the last three are numbers. `workload_states`: most requests of a workload whose passes
record the state of each."""


def bootstrap_of_runs(**more: Any) -> dict[str, Any]:
    """Returns what the script of a page that starts runs or workloads starts from, with `more`."""
    return {"version": own_version(), "limits": LIMITS, **more}


def bootstrap_of_workloads(**more: Any) -> dict[str, Any]:
    """Returns what the script of the Serving page starts from, with the peaks of GPUs and with `more`."""
    return bootstrap_of_runs(gpus=_gpus(), **more)


@cache
def _gpus() -> list[dict[str, Any]]:
    gpus = json.loads(GPUS.read_text("utf-8"))
    return [{name: gpu[name] for name in ("id", "name", "flops")} for gpu in gpus]


def renderer(id: str, template: str = SHELL) -> Callable[..., str]:
    """Returns the function that renders the page of this id. The import map is read once."""
    page = page_of(id)
    libraries = json.loads((STATIC / "importmap.json").read_text("utf-8"))["imports"]

    def render(bootstrap: Mapping[str, Any], **named: Any) -> str:
        """Renders the page. `bootstrap`: what its script starts from. `named`: the template's variables; `title` is the
        window's title, `card` a saved session's.
        """
        listed = [place for place in links(served=site() is None) if place["id"] not in LEFT_OUT.get(id, ())]
        places = names_here(listed)
        imports = {name: root() + path.removeprefix("/") for name, path in libraries.items()}
        importmap, nonce, translated = {"imports": imports}, g.csp_nonce, _translated(page)
        variables = {"title": translated.title, "bootstrap": bootstrap, **named}
        return render_template(
            template, page=translated, pages=places, importmap=importmap, csp_nonce=nonce, **variables
        )

    return render


def _translated(page: Page) -> Page:
    words: dict[str, Any] = {field: gettext(getattr(page, field)) for field in READ}
    return replace(page, **words)


def names_here(places: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Returns links to pages with names in the request's language, which they keep."""
    lang = f"?lang={language()}" if language() else ""
    return [{**place, "name": gettext(place["name"]), "address": place["address"] + lang} for place in places]
