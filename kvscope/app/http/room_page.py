"""`/room`, where a presenter opens a room and followers type its code; `/room/<code>`, the room; and its QR code."""

from __future__ import annotations

import io

import segno
from flask import Blueprint, Response

from kvscope.app.bodies import limits_of
from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.room_bodies import Question, Vote
from kvscope.app.http.root import full
from kvscope.app.http.shell import renderer
from kvscope.app.store.rooms import CODE
from kvscope.app.travel.words import Share

QR_SECONDS = 24 * 60 * 60
LIMITS = {"question": limits_of(Question), "vote": limits_of(Vote), "share": limits_of(Share)}
"""As in shell.py."""


def blueprint() -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("room_page", __name__)
    render = renderer("room")

    @routes.get("/room", defaults={"code": None})
    @routes.get("/room/<code>")
    @declare(SENDS)
    def page(code: str | None) -> str:
        return render({"code": code, "limits": LIMITS})

    @routes.get("/room/<code>.svg")
    @declare(SENDS)
    def qr(code: str) -> Response | tuple[str, int]:
        """Sends the QR code (ISO/IEC 18004) of a room's link. Whether the room is open is not looked up."""
        if not CODE.fullmatch(code):
            return "", 404
        picture = io.BytesIO()
        segno.make(full(f"/room/{code}"), error="m").save(picture, kind="svg", scale=4, xmldecl=False)
        return Response(
            picture.getvalue(), mimetype="image/svg+xml", headers={"Cache-Control": f"private, max-age={QR_SECONDS}"}
        )

    return routes
