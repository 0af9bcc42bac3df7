"""Where the server's root is, seen from the address of a request.

A proxy may put the server below a path, and need not say which. So whatever a browser follows is relative to the page
that it stands on: `root` in the templates, and every redirect.
"""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from flask import Flask, Response, request, url_for

from kvscope.app.http.site import file_of, site

REDIRECTS = (301, 302, 303, 307, 308)


def init_app(app: Flask) -> None:
    """Give the templates `root`, `under` and `site`, and make redirects to this server relative."""
    app.context_processor(lambda: {"root": root(), "under": under, "site": site()})
    app.after_request(_make_relative)


def root() -> str:
    """The server's root as an address relative to the one that was asked for."""
    if (written := site()) is not None:
        return written.root
    path = str(request.environ["PATH_INFO"])  # with all its slashes, as the browser counts them
    return "../" * (path.count("/") - 1) or "./"


def under(path: str) -> str:
    """The address of a page of this server, by its path from the root, relative to the one that was asked for."""
    return root() + (path[1:] if site() is None else file_of(path))


def full(path: str) -> str:
    """The whole address of what is at this path from the root; of a file of a static site, as far as it is known."""
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
