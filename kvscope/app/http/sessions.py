"""`/api/runs/<id>/share` and `/api/sessions`: save an ended run, read it, delete it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice

from flask import Blueprint, Response, jsonify, request

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.values import ValueMaker
from kvscope.app.http.access import DELETES, DRAWS, READS, count
from kvscope.app.http.answers import Session
from kvscope.app.http.caching import NO_CACHE, revalidated
from kvscope.app.http.limits import Limits
from kvscope.app.http.log import BINARY, LogRoutes
from kvscope.app.http.lookup import RunLookup, delete_token
from kvscope.app.http.openapi import Answer, binary_answer, describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.produced import MOST_KEPT_BYTES, Produced
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import ValuesQuery, query
from kvscope.app.http.share import ShareRoutes
from kvscope.app.paths import STATIC
from kvscope.app.store.budget import Budget
from kvscope.app.store.errors import Deleted
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel import palette
from kvscope.app.travel.card import title_of
from kvscope.app.travel.file import of_session
from kvscope.app.travel.lanes import lanes_of
from kvscope.app.travel.opening_head import NothingToShow, opening_head
from kvscope.model.log.frames import header, to_stream

ARCHIVE = "safetensors"
PICTURE = "2"
"""Version of the picture's drawing. Part of its ETag, like its colours."""


def blueprint(
    runs: RunLog,
    sessions: SessionStore,
    budget: Budget,
    engine: Pool,
    reads: Reads,
    maker: ValueMaker,
    limits: Limits,
    produced: Produced,
) -> Blueprint:
    """Returns the routes. `maker`: computes exact values to store. `produced`: stores pictures, files and pages."""
    routes = Blueprint("sessions", __name__, url_prefix="/api")
    api = SessionRoutes(sessions, engine, limits, produced)
    sharing = ShareRoutes(runs, sessions, budget, engine, maker, limits)
    routes.get("/runs/<run>/share")(sharing.choices)
    routes.post("/runs/<run>/share")(sharing.share)
    saved = Blueprint("saved", __name__, url_prefix="/sessions")
    saved.get("/<session>")(api.manifest)
    saved.get("/<session>.safetensors")(api.archive)
    saved.get("/<session>/values")(api.values)
    saved.get("/<session>.png")(api.thumbnail)
    saved.delete("/<session>")(api.delete)
    LogRoutes(sessions, api.lookup, reads, NO_CACHE, lasting=True).register(saved)
    routes.register_blueprint(saved)
    return routes


class SessionRoutes:
    """One method per route."""

    def __init__(self, sessions: SessionStore, engine: Pool, limits: Limits, produced: Produced) -> None:
        self._sessions, self._limits, self._produced = sessions, limits, produced
        self.lookup = RunLookup(sessions, engine, noun="session")

    @describe(READS, "The manifest of a saved session", {200: json_answer("it", Session)}, 404, revalidated=True)
    def manifest(self, session: str) -> Response:
        """`GET /api/sessions/<id>`"""
        self.lookup.known(session)
        return revalidated(jsonify(self._sessions.manifest(session)))

    @describe(
        READS,
        "A saved session as one file",
        {200: binary_answer("a safetensors file", "Content-Disposition")},
        404,
        revalidated=True,
    )
    def archive(self, session: str) -> Response:
        """`GET /api/sessions/<id>.safetensors`"""
        with forgotten_if_deleted(self._produced, session):
            self.lookup.known(session)
        file = of_session(self._sessions, session)
        is_small = file.stored_bytes <= MOST_KEPT_BYTES
        content = self._produced.of(session, ARCHIVE, file.archive) if is_small else file.archive()
        response = Response(content, mimetype=BINARY)
        response.headers["Content-Disposition"] = f'attachment; filename="kvscope-{session}.safetensors"'
        return revalidated(response)

    @describe(
        DRAWS,
        "A picture of a saved session, 1200 × 630",
        {
            200: Answer(
                "attention of the head shown first; for a workload, when each request was served",
                {"image/png": None},
            )
        },
        404,
        revalidated=True,
    )
    def thumbnail(self, session: str) -> Response:
        """`GET /api/sessions/<id>.png`"""
        tag = f"{session}-{PICTURE}-{palette.version()}"
        is_there = request.if_none_match.contains(tag)
        if not is_there:
            count(self._limits)
        with forgotten_if_deleted(self._produced, session):
            self.lookup.known(session)
        if is_there:
            response = Response(status=304)
        else:
            picture = self._produced.of(session, tag, partial(self._drawn, session))
            if not picture:
                raise Problem(404, "This session has no attention to draw.", field="session")
            response = Response(picture, mimetype="image/png")
        response.headers["Cache-Control"] = NO_CACHE
        response.set_etag(tag)
        return response

    def _drawn(self, session: str) -> bytes:
        """Draws the picture. Empty if there is nothing to draw."""
        # Imported when first used: most servers are asked for a page first, and should answer it at once.
        from kvscope.app.travel import lanes_picture, thumbnail

        manifest, frames = self._sessions.manifest(session), self._sessions.all_frames(session)
        fonts = STATIC / "vendor" / "@fontsource-variable" / "inter"
        named = title_of(manifest), manifest["model"]["name"], fonts
        if manifest.get("workload"):
            return lanes_picture.draw(lanes_of(map(header, frames)), *named)
        try:
            return thumbnail.draw(opening_head(frames, manifest["open"]), *named)
        except NothingToShow:
            return b""

    @describe(
        READS,
        "Exact values of a layer stored with a session",
        {200: binary_answer("the frame of one step; without `step`, the frames of all steps")},
        *(404, 422),
        query=ValuesQuery,
        revalidated=True,
    )
    def values(self, session: str) -> Response:
        """`GET /api/sessions/<id>/values?step=&layer=`: one frame; without `step` a stream of those of every step."""
        self.lookup.known(session)
        manifest = self._sessions.manifest(session)
        if not manifest.get("values"):
            raise Problem(404, "No exact values are stored with this session.", field="values")
        parameters = query(
            ValuesQuery, {"layer": (0, manifest["model"]["layers"] - 1), "step": (0, manifest["steps"] - 1)}
        )
        layer, step, one = parameters.layer, parameters.step, parameters.step is not None
        payloads = self._sessions.values(session, layer=layer, step=step)
        first = list(islice(payloads, 1))  # an unreadable part must be reported while an error can still be sent
        response = Response(first if one else to_stream(chain(first, payloads)), mimetype=BINARY)
        response.implicit_sequence_conversion = one
        response.headers["Cache-Control"] = NO_CACHE
        response.set_etag(f"{session}-values-{layer}-{step if one else 'all'}")
        response.make_conditional(request)
        return response

    @describe(DELETES, "Delete a saved session", {204: Answer("the session was deleted")}, *(404, 503))
    def delete(self, session: str) -> Response:
        """`DELETE /api/sessions/<id>`"""
        self.lookup.known(session)
        if not self._sessions.withdraw(session, delete_token("link")):
            raise Problem(403, "This is not a deletion token of this session.", field="Authorization")
        self._produced.forget(session)
        return Response(status=204)


@contextmanager
def forgotten_if_deleted(produced: Produced, session: str) -> Iterator[None]:
    """Forgets what was produced from a session that another process has deleted."""
    try:
        yield
    except Deleted:
        produced.forget(session)
        raise
