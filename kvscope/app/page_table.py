"""The table of pages, static/pages.json.

Everything that serves, bundles, lists or tests pages reads it: app.http.shell, app.travel.page, hatch_build.py, and
static/shared/ui/places.js through the page that contains it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from kvscope.app.paths import STATIC

READ = ("name", "title", "description", "without_scripts", "pictured")
"""Fields with text for readers, which are translated."""


@dataclass(frozen=True, slots=True)
class Page:
    """`address`: where it opens. `script`, `style`: below static/. `title`: of the window. `description`: for link
    previews. `without_scripts`: shown if JavaScript is off. `pictured`: what the picture of a saved one shows. `state`:
    the root element's first `data-state`, if the page has one. `nav`: the navigation leads to it. `server`: it is of no
    use without a server, so a static site does not have it.
    """

    id: str
    name: str
    address: str
    script: str
    style: str
    title: str
    description: str
    without_scripts: str = ""
    pictured: str = ""
    state: str = ""
    nav: bool = True
    server: bool = False


@cache
def pages() -> tuple[Page, ...]:
    """Returns all pages, in the navigation's order."""
    return tuple(Page(**entry) for entry in json.loads((STATIC / "pages.json").read_text("utf-8")))


def links(served: bool = True) -> list[dict[str, str]]:
    """Returns the links of the navigation, in a static site with `served` false."""
    return [_link(page) for page in pages() if page.nav and (served or not page.server)]


def links_below(prefix: str) -> list[dict[str, str]]:
    """Returns links to the pages below an address that are not in the navigation."""
    return [_link(page) for page in pages() if not page.nav and page.address.startswith(prefix)]


def page_of(id: str) -> Page:
    """Returns the page with this id. Raises LookupError."""
    for page in pages():
        if page.id == id:
            return page
    raise LookupError(f"static/pages.json has no page {id!r}.")


def _link(page: Page) -> dict[str, str]:
    return {"id": page.id, "name": page.name, "address": page.address}
