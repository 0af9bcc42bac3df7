"""Sends the frames of watched runs compressed to viewers elsewhere, and as they are to viewers on this machine.

A websocket's own compression (permessage-deflate, RFC 7692) halves the frames and takes 61 ms of processor time for
each MB of them: 1.8 s for the 28.6 MB of a run of 416 + 24 tokens, six sevenths of all that this process did for it,
beside a model and a browser that want the same processors. To this machine, bytes cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask

from kvscope.app.http.visitors import is_loopback

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

OFFER = "HTTP_SEC_WEBSOCKET_EXTENSIONS"


def init_app(app: Flask) -> None:
    """Pass over the offer to take compressed frames where a viewer is on this machine. To be called after `Live`'s, and
    before it is settled where requests come from (hosts.py), which is then done first.
    """
    app.wsgi_app = _offered_elsewhere(app.wsgi_app)  # type: ignore[assignment,method-assign]  # as Flask documents it


def _offered_elsewhere(inner: WSGIApplication) -> WSGIApplication:
    def call(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if OFFER in environ and is_loopback(environ.get("REMOTE_ADDR", "")):
            del environ[OFFER]
        return inner(environ, start_response)

    return call
