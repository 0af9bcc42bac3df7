"""Response headers: what a page may load, who may read an answer, and how long static files may be stored."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, g, request

from kvscope.app.http.site import site

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

VENDOR_PREFIX = "/static/vendor/"
VENDOR_MAX_AGE_S = 24 * 60 * 60
EMBED_PREFIX = "/embed/"
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""Allows an empty `<style>` element. Plotly adds one and fills it through the CSSOM, which no policy restricts."""
ANYONE = "*"
"""No `frame-ancestors` then: `*` in a policy means http and https only. It excludes files on a disk, notebook cells,
and sandboxed frames such as that of a lesson around its page."""
OPEN_PREFIXES = (
    *("/static/", "/api/sessions/", "/api/by-hand/", "/api/code", "/api/embedding"),
    *("/api/index", "/api/lessons", "/oembed", "/readyz"),
)
"""Paths that pages of other origins may read: what shows a saved session or a worked example, and the search. A
sandboxed frame has no origin, so its modules, fonts and frames come from another one. Nothing under these paths depends
on a cookie or a login."""
WORKER = "/static/engine/worker.js"
"""Compiles WebAssembly. A page does not; its worker has a policy of its own, with this script."""


BARE: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of answers that are not the application's: Socket.IO's, refused host names, and the worker's own."""


def init_app(app: Flask, frame_ancestors: str) -> None:
    """Adds the headers to every response. `g.csp_nonce` is the nonce that inline scripts (the import map) must carry.
    The pages of a static site have their policy in the document: its template gets `empty_style`.

    `frame_ancestors`: who may embed sessions, as in that directive of the policy. Nothing else can be framed.
    """
    app.jinja_env.globals["empty_style"] = EMPTY_STYLE
    app.before_request(_make_nonce)
    app.after_request(partial(_add_headers, frame_ancestors))


def everywhere(app: Flask) -> None:
    """Adds `BARE` to answers without these headers. Call it after everything that answers before the application
    (live.py, hosts.py).
    """
    app.wsgi_app = _with_headers(app.wsgi_app)  # type: ignore[assignment,method-assign]  # as Flask documents it


def _with_headers(inner: WSGIApplication) -> WSGIApplication:
    def call(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *failure: Any) -> Any:
            there = {name.lower() for name, _ in headers}
            missing = [(name, value) for name, value in BARE.items() if name.lower() not in there]
            return start_response(status, [*headers, *missing], *failure)

        return inner(environ, start)

    return call


def _make_nonce() -> None:
    written = site()
    g.csp_nonce = written.nonce if written else secrets.token_urlsafe(16)


def _add_headers(frame_ancestors: str, response: Response) -> Response:
    nonce = g.get("csp_nonce", "")
    is_embed = request.path.startswith(EMBED_PREFIX)
    framed_by = frame_ancestors if is_embed else "'self'"
    ancestors = "" if framed_by == ANYONE else f"; frame-ancestors {framed_by}"
    compiles = " 'wasm-unsafe-eval'" if request.path == WORKER else ""
    response.headers["Content-Security-Policy"] = (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}'{compiles}; style-src 'self' {EMPTY_STYLE}; "
        "img-src 'self' data: blob:; "
        f"object-src 'none'; base-uri 'none'; form-action 'self'{ancestors}"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    is_open = request.method in ("GET", "HEAD") and request.path.startswith(OPEN_PREFIXES)
    if is_open:
        response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin" if is_open or is_embed else "same-origin"
    if is_embed:  # a cross-origin isolated page frames only pages that require the same of all they load
        response.headers["Cross-Origin-Embedder-Policy"] = "require-corp"
    if request.path.startswith(VENDOR_PREFIX) and response.status_code in (200, 304):
        response.headers["Cache-Control"] = f"public, max-age={VENDOR_MAX_AGE_S}"
    return response
