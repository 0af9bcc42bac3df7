"""`/api/runs/<id>/share` and `/api/sessions`: save an ended run, read what was saved, delete it."""

from __future__ import annotations

import json

from flask import Blueprint, Response, jsonify, request, url_for

from app.engine_link import EngineLink
from app.http_log import BINARY, LogRoutes
from app.opening_head import NothingToShow, opening_head
from app.paths import static_dir
from app.problems import Problem
from app.run_log import RunLog
from app.run_lookup import RunLookup, json_body
from app.session_card import title_of
from app.sessions import SessionStore
from app.share_request import MAX_SHARE_BYTES, Extent, read_share
from model.frames import join

REVALIDATED = "no-cache"
"""A session never changes, but it can be deleted, and is then to be gone."""
PICTURE = "1"
"""Version of how a session's picture is drawn: part of its ETag."""


def blueprint(runs: RunLog, sessions: SessionStore, engine: EngineLink) -> Blueprint:
    """The routes, over this log, these sessions and this engine."""
    routes = Blueprint("sessions", __name__, url_prefix="/api")
    api = SessionRoutes(runs, sessions, engine)
    routes.post("/runs/<run>/share")(api.share)
    saved = Blueprint("saved", __name__, url_prefix="/sessions")
    saved.get("/<session>")(api.manifest)
    saved.get("/<session>.safetensors")(api.archive)
    saved.get("/<session>.png")(api.thumbnail)
    saved.delete("/<session>")(api.delete)
    LogRoutes(sessions, api.lookup, engine, REVALIDATED).register(saved)
    routes.register_blueprint(saved)
    return routes


class SessionRoutes:
    """One method per route."""

    def __init__(self, runs: RunLog, sessions: SessionStore, engine: EngineLink) -> None:
        self._runs, self._sessions = runs, sessions
        self._run_lookup = RunLookup(runs, engine)
        self.lookup = RunLookup(sessions, engine, noun="session")

    def share(self, run: str) -> Response:
        """`POST /api/runs/<id>/share`"""
        opening, head = self._run_lookup.original(run), self._run_lookup.known(run)
        if not head.closed:
            raise Problem(409, "The run has not ended: it can be shared once it has.", field="run")
        if not head.steps:
            raise Problem(409, "The run has no complete step that could be shown.", field="run")
        model, positions = opening["model"], len(opening["tokens"]) + head.steps
        request.max_content_length = MAX_SHARE_BYTES
        words = read_share(json_body(), Extent(head.steps, model["layers"], model["heads"], positions))
        session, token = self._sessions.share(run, words)
        addresses = {"url": url_for("pages.session", session=session), "embed": url_for("pages.embed", session=session)}
        response = jsonify(id=session, **addresses, delete_token=token)
        response.status_code = 201
        response.headers["Location"] = url_for("sessions.saved.manifest", session=session)
        response.headers["Cache-Control"] = "no-store"
        return response

    def manifest(self, session: str) -> Response:
        """`GET /api/sessions/<id>`"""
        self.lookup.known(session)
        return _revalidated(jsonify(self._sessions.manifest(session)))

    def archive(self, session: str) -> Response:
        """`GET /api/sessions/<id>.safetensors`"""
        self.lookup.known(session)
        manifest = self._sessions.manifest(session)
        about = {field: manifest[field] for field in ("id", "title", "notes", "open", "created")}
        file = join(self._sessions.all_frames(session), {"session": json.dumps(about, ensure_ascii=False)})
        response = Response(file, mimetype=BINARY)
        response.headers["Content-Disposition"] = f'attachment; filename="kvscope-{session}.safetensors"'
        return _revalidated(response)

    def thumbnail(self, session: str) -> Response:
        """`GET /api/sessions/<id>.png`"""
        # Not before it is wanted: most servers are asked for the page first, and should answer at once.
        from app.thumbnail import draw

        self.lookup.known(session)
        tag = f"{session}-{PICTURE}"
        if request.if_none_match.contains(tag):
            response = Response(status=304)
        else:
            manifest = self._sessions.manifest(session)
            try:
                shown = opening_head(self._sessions.all_frames(session), manifest["open"])
            except NothingToShow:
                raise Problem(404, "This session has no attention that could be drawn.", field="session") from None
            fonts = static_dir() / "vendor" / "@fontsource-variable" / "inter"
            response = Response(draw(shown, title_of(manifest), manifest["model"]["name"], fonts), mimetype="image/png")
        response.headers["Cache-Control"] = REVALIDATED
        response.set_etag(tag)
        return response

    def delete(self, session: str) -> Response:
        """`DELETE /api/sessions/<id>`"""
        self.lookup.known(session)
        given = request.authorization
        if given is None or given.type != "bearer" or not given.token:
            detail = "The token that came with the link is needed: Authorization: Bearer …"
            raise Problem(401, detail, field="Authorization", headers={"WWW-Authenticate": "Bearer"})
        if not self._sessions.withdraw(session, given.token):
            raise Problem(403, "That is not a token of this session.", field="Authorization")
        return Response(status=204)


def _revalidated(response: Response) -> Response:
    """The response, or 304 to who has it already."""
    response.headers["Cache-Control"] = REVALIDATED
    response.add_etag()
    response.make_conditional(request)
    return response
