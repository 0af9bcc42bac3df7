"""Sessions as files: `/api/sessions/<id>.html`, and `POST /api/sessions`, which takes either kind of file back."""

from __future__ import annotations

from flask import Blueprint, Response, request

from app.engine_link import EngineLink
from app.http_sessions import REVALIDATED
from app.run_lookup import RunLookup
from app.session_page import SessionPage
from app.sessions import SessionStore


def blueprint(sessions: SessionStore, engine: EngineLink) -> Blueprint:
    """The routes, over these sessions."""
    routes = Blueprint("files", __name__, url_prefix="/api/sessions")
    lookup = RunLookup(sessions, engine, noun="session")

    @routes.get("/<session>.html")
    def page(session: str) -> Response:
        lookup.known(session)
        written = SessionPage(sessions.manifest(session), lambda: sessions.all_frames(session))
        response = Response(mimetype="text/html")
        if request.method == "HEAD":
            response.content_length = written.measure()
        else:
            response.response = written
            response.implicit_sequence_conversion = False
        # Never shown at this address, where its scripts would be the server's own.
        response.headers["Content-Disposition"] = f'attachment; filename="{written.file_name}"'
        response.headers["Cache-Control"] = REVALIDATED
        response.set_etag(written.tag)
        response.make_conditional(request)
        return response

    return routes
