"""Addresses relative to the server's root.

A proxy may serve KVScope below a path without naming the path. Therefore every address that a browser follows is
relative to its page: `root` in the templates, and every redirect.
"""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from flask import Flask, Response, request, url_for

from kvscope.app.http.site import file_of, site

REDIRECTS = (301, 302, 303, 307, 308)


def init_app(app: Flask) -> None:
    """Gives the templates `root`, `under` and `site`, and makes redirects to this server relative."""
    app.context_processor(lambda: {"root": root(), "under": under, "site": site()})
    app.after_request(_make_relative)


def root() -> str:
    """Returns the server's root, relative to the requested address."""
    if (written := site()) is not None:
        return written.root
    path = str(request.environ["PATH_INFO"])  # with repeated slashes, which the browser counts too
    return "../" * (path.count("/") - 1) or "./"


def under(path: str) -> str:
    """Returns a page's address, relative to the requested one. `path`: from the root."""
    return root() + (path[1:] if site() is None else file_of(path))


def full(path: str) -> str:
    """Returns the whole address of a path from the root; in a static site, as far as its address is known."""
    written = site()
    root = url_for("pages.stage", _external=True) if written is None else written.address or written.root
    return f"{root}{path[1:]}"


def _make_relative(response: Response) -> Response:
    if response.status_code in REDIRECTS and response.location:
        target, own = urlsplit(response.location), f"{request.script_root}/"
        if target.netloc in ("", request.host) and target.path.startswith(own):
            path = root() + target.path.removeprefix(own)
            response.location = urlunsplit(("", "", path, target.query, target.fragment))
    return response
