"""The static site that a page is written for (docs/site.md).

The builder (app.site) puts it into the environment of its requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import has_request_context, request

ENVIRONMENT = "kvscope.site"
"""Name of the variable in the WSGI environment."""


@dataclass(frozen=True, slots=True)
class Assets:
    """The style sheets and the script of a page, named from the site's root."""

    sheets: Sequence[str]
    script: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """One file of a site. `file`: its name. `address`: where the site will be served, with a final slash; "" if
    unknown. `server`: a KVScope on which visitors can start runs; "" for none. `nonce`: of its scripts and styles.
    `assets`: by page. `sessions`: saved sessions that are not recordings, as SessionStore.listed returns them.
    `worker`: the script with the code of the engine in a visitor's browser; "" if the site has no engine.
    """

    file: str
    address: str
    server: str
    nonce: str
    assets: Mapping[str, Assets]
    sessions: Sequence[Mapping[str, Any]]
    worker: str = ""

    @property
    def root(self) -> str:
        """The site's root, relative to the file."""
        return "../" * self.file.count("/") or "./"


def site() -> Site | None:
    """Returns the site that the page is written for; None if a server answers."""
    site: Site | None = request.environ.get(ENVIRONMENT) if has_request_context() else None
    return site


def file_of(path: str) -> str:
    """Returns the file of the page at a path: "s/abc.html" for "/s/abc". static/shared/log/root.js does the same."""
    return "index.html" if path == "/" else f"{path[1:]}.html"
