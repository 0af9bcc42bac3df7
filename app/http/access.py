"""What is open to whom: viewing to everybody; with a token, all that changes something to who has it."""

from __future__ import annotations

import hmac

from flask import Flask, request

from kvscope.app.http.problems import Problem

SCHEME = "Bearer "
WANTED = "This server asks for a token first. Whoever runs it has an address that ends in #token=…: open that once."


def init_app(app: Flask, token: str | None) -> None:
    """Ask for the token before whatever changes something, unless there is none. A DELETE asks for one of its own."""
    if token is None:
        return
    wanted = token.encode()

    def ask() -> None:
        if request.method != "POST" or not request.path.startswith("/api/"):
            return
        said = request.headers.get("Authorization", "")
        given = said.removeprefix(SCHEME).strip().encode() if said.startswith(SCHEME) else b""
        if not hmac.compare_digest(given, wanted):
            raise Problem(401, WANTED, headers={"WWW-Authenticate": SCHEME.strip()})

    app.before_request(ask)
