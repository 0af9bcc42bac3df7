"""What a page has to know when it is written as a file of a static site (docs/site.md), and not answered by a server.

The builder (app.site) puts it into the environment of its requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import has_request_context, request

ENVIRONMENT = "kvscope.site"
"""The name of the WSGI environment's variable that has it."""


@dataclass(frozen=True, slots=True)
class Assets:
    """Files of the site, by their names below its root: the style sheets and the script of a page."""

    sheets: Sequence[str]
    script: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """`file`: the one that is being written; `address`: where the site will be served, with its last slash, "" if that
    is not known; `server`: a KVScope on which visitors can start runs, "" for none; `nonce`: of its own scripts and
    styles; `assets`: by page; `sessions`: those that are no recordings, as SessionStore.listed has them.
    """

    file: str
    address: str
    server: str
    nonce: str
    assets: Mapping[str, Assets]
    sessions: Sequence[Mapping[str, Any]]

    @property
    def root(self) -> str:
        """The site's root as an address relative to the file."""
        return "../" * self.file.count("/") or "./"


def site() -> Site | None:
    """The site that the page is written for; None where a server answers."""
    site: Site | None = request.environ.get(ENVIRONMENT) if has_request_context() else None
    return site


def file_of(path: str) -> str:
    """The file that has the page of this path: "s/abc.html" for "/s/abc". As static/shared/log/root.js names it."""
    return "index.html" if path == "/" else f"{path[1:]}.html"
