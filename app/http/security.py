"""Response headers: what the page may load, who may read what, and how long static files may be kept."""

from __future__ import annotations

import secrets
from functools import partial

from flask import Flask, Response, g, request

VENDOR_PREFIX = "/static/vendor/"
VENDOR_MAX_AGE_S = 24 * 60 * 60
EMBED_PREFIX = "/embed/"
ANY_PAGE = "* data: blob: file:"
"""`*` alone stands for http and https: a hand-out opened from a disk, or a notebook's cell, could not embed."""
OPEN_PREFIXES = ("/static/", "/api/sessions/", "/api/by-hand/", "/api/embedding", "/oembed", "/readyz")
"""What a shared run or a worked example is shown with. A sandboxed frame has no origin, so its modules, fonts and
frames are all of another one; nothing under these paths depends on a cookie or a login, and a page elsewhere may read
but not change it."""


def init_app(app: Flask, frame_ancestors: str) -> None:
    """Add the headers to every response. `g.csp_nonce` is the nonce that inline scripts (the import map) must carry.

    `frame_ancestors`: who may embed a session, as that directive of the policy says it; nothing else can be framed.
    """
    app.before_request(_make_nonce)
    app.after_request(partial(_add_headers, ANY_PAGE if frame_ancestors == "*" else frame_ancestors))


def _make_nonce() -> None:
    g.csp_nonce = secrets.token_urlsafe(16)


def _add_headers(frame_ancestors: str, response: Response) -> Response:
    nonce = g.get("csp_nonce", "")
    framed_by = frame_ancestors if request.path.startswith(EMBED_PREFIX) else "'self'"
    response.headers["Content-Security-Policy"] = (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
        f"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {framed_by}"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    is_open = request.method in ("GET", "HEAD") and request.path.startswith(OPEN_PREFIXES)
    if is_open:
        response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin" if is_open else "same-origin"
    if request.path.startswith(VENDOR_PREFIX) and response.status_code in (200, 304):
        response.headers["Cache-Control"] = f"public, max-age={VENDOR_MAX_AGE_S}"
    return response
