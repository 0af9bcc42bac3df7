"""Sends the frames of watched runs compressed to viewers elsewhere, and as they are to viewers on this machine.

A websocket's own compression (permessage-deflate, RFC 7692) halves the frames and takes 61 ms of processor time for
each MB of them: 1.8 s for the 28.6 MB of a run of 416 + 24 tokens, six sevenths of all that this process did for it,
beside a model and a browser that want the same processors. To this machine, bytes cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING

from flask import Flask

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

OFFER = "HTTP_SEC_WEBSOCKET_EXTENSIONS"
PROXY = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_VIA")
"""What proxies add. One on this machine connects from it for viewers who are anywhere."""


def init_app(app: Flask) -> None:
    """Pass over the offer to take compressed frames where a viewer is on this machine. To be called after `Live`'s."""
    app.wsgi_app = _offered_elsewhere(app.wsgi_app)  # type: ignore[assignment,method-assign]  # as Flask documents it


def _offered_elsewhere(inner: WSGIApplication) -> WSGIApplication:
    def call(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if OFFER in environ and is_here(environ):
            del environ[OFFER]
        return inner(environ, start_response)

    return call


def is_here(environ: WSGIEnvironment) -> bool:
    """Whether a request came from this machine, and not through a proxy that says so."""
    try:
        address = ip_address(environ.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback and not any(name in environ for name in PROXY)
