"""The table of pages, static/pages.json.

What serves, bundles, lists and tests pages reads it: app.http.shell, app.travel.page, hatch_build.py, and
static/shared/ui/places.js by way of the page that it is in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from kvscope.app.paths import STATIC

READ = ("name", "title", "description", "without_scripts", "pictured")
"""The fields that people read, to be translated."""


@dataclass(frozen=True, slots=True)
class Page:
    """`address`: where it opens; `script`, `style`: below static/; `title`: of the window; `description`: what link
    previews say; `without_scripts`: shown where JavaScript is off; `pictured`: what the picture of a saved one shows;
    `state`: what the root element's `data-state` says until the script has changed it, for a page that has one; `nav`:
    whether the navigation of every page leads to it.
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


@cache
def pages() -> tuple[Page, ...]:
    """All of them, in the navigation's order."""
    return tuple(Page(**entry) for entry in json.loads((STATIC / "pages.json").read_text("utf-8")))


def links() -> list[dict[str, str]]:
    """What the navigation needs of each page that it leads to."""
    return [_link(page) for page in pages() if page.nav]


def links_below(prefix: str) -> list[dict[str, str]]:
    """The same of the pages below an address that the navigation does not lead to."""
    return [_link(page) for page in pages() if not page.nav and page.address.startswith(prefix)]


def page_of(id: str) -> Page:
    """The page of this id. Raises LookupError where there is none."""
    for page in pages():
        if page.id == id:
            return page
    raise LookupError(f"static/pages.json has no page {id!r}.")


def _link(page: Page) -> dict[str, str]:
    return {"id": page.id, "name": page.name, "address": page.address}
