"""Sessions as files: `/api/sessions/<id>.html`, and `POST /api/sessions`, which imports either kind of file."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO

from flask import Blueprint, Response, request

from kvscope.app.engine.pool import Pool
from kvscope.app.http.access import IMPORTS, PACKS, count
from kvscope.app.http.answers import Shared
from kvscope.app.http.caching import NO_CACHE
from kvscope.app.http.limits import Limits
from kvscope.app.http.log import BINARY
from kvscope.app.http.lookup import RunLookup
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.produced import MOST_KEPT_BYTES, Produced
from kvscope.app.http.requests import PageQuery, query
from kvscope.app.http.sessions import forgotten_if_deleted
from kvscope.app.http.share import saved
from kvscope.app.store.budget import Budget
from kvscope.app.store.errors import StoreError
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.apart import read_apart
from kvscope.app.travel.file import NotStored, of_session
from kvscope.app.travel.importing import MAX_FILE_BYTES
from kvscope.app.travel.page import SessionPage

CHUNK_BYTES = 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT)
RETRY_WHEN_BUSY_S = 5
LONGEST_WAIT_S = 60.0


def blueprint(
    sessions: SessionStore, budget: Budget, engine: Pool, folder: Path, limits: Limits, produced: Produced
) -> Blueprint:
    """Returns the routes. `folder`: for imported files while they are checked."""
    routes = Blueprint("files", __name__, url_prefix="/api/sessions")
    api = FileRoutes(sessions, budget, RunLookup(sessions, engine, noun="session"), folder, limits, produced)
    routes.get("/<session>.html")(api.page)
    routes.post("")(api.keep)
    return routes


class FileRoutes:
    """One method per route."""

    def __init__(
        self,
        sessions: SessionStore,
        budget: Budget,
        lookup: RunLookup,
        folder: Path,
        limits: Limits,
        produced: Produced,
    ) -> None:
        self._limits, self._produced = limits, produced
        self._sessions, self._budget, self._lookup, self._folder = sessions, budget, lookup, folder
        self._reading = Lock()

    @describe(
        PACKS,
        "A saved session as one HTML page that needs no server",
        {200: Answer("the page, sent as a download", {"text/html": None}, ("Content-Disposition",))},
        *(400, 404, 409),
        query=PageQuery,
        revalidated=True,
    )
    def page(self, session: str) -> Response:
        """`GET /api/sessions/<id>.html?level=`"""
        with forgotten_if_deleted(self._produced, session):
            self._lookup.known(session)
        level = query(PageQuery, status=400).level
        try:
            file = of_session(self._sessions, session, level)
        except NotStored as error:
            raise Problem(409, str(error), field="level", limit=[error.stored]) from None
        page, response = SessionPage(file), Response(mimetype="text/html")
        is_there = request.if_none_match.contains(page.tag)
        if not is_there:
            count(self._limits)
        if is_there:
            response.status_code = 304
        elif file.stored_bytes <= MOST_KEPT_BYTES:
            response.data = self._produced.of(session, page.tag, lambda: b"".join(page))
        elif request.method == "HEAD":
            response.content_length = page.measure()
        else:
            response.response = page
            response.implicit_sequence_conversion = False
        # Never displayed at this address, where its scripts would run as the server's own.
        response.headers["Content-Disposition"] = f'attachment; filename="{page.file_name}"'
        response.headers["Cache-Control"] = NO_CACHE
        response.set_etag(page.tag)
        return response

    @describe(
        IMPORTS,
        "Import a session from its HTML page or safetensors file",
        {201: json_answer("the session was saved", Shared, "Location")},
        *(413, 415, 422, 507),
        body={BINARY: None},
    )
    def keep(self) -> Response:
        """`POST /api/sessions`: the body is the file."""
        # A form of another site's page can send other types without permission.
        if request.mimetype != BINARY:
            raise Problem(415, f"The body must be {BINARY}.", field="Content-Type", limit=[BINARY])
        visitor = count(self._limits)
        request.max_content_length = MAX_FILE_BYTES
        with self._received() as file, self._turn():
            with _room_on_the_disk():
                imported, size = read_apart(file, self._folder)
            with self._budget.room_for_session(size):
                self._limits.charge(visitor, size)
                try:
                    session, token = self._sessions.keep(imported.words, imported.frames, imported.values)
                except StoreError as error:
                    raise Problem(507, str(error), field="file") from None
        return saved(session, token)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Reads one file at a time: several large ones would fill the memory. Raises Problem after a minute."""
        if not self._reading.acquire(timeout=LONGEST_WAIT_S):
            raise Problem(429, "Other files are being imported. Try again in a moment.", retry_after=RETRY_WHEN_BUSY_S)
        try:
            yield
        finally:
            self._reading.release()

    @contextmanager
    def _received(self) -> Iterator[IO[bytes]]:
        """Writes the body to disk. Raises Problem, and RequestEntityTooLarge before all of it has arrived."""
        with tempfile.TemporaryFile(dir=self._folder, prefix="import-") as file:
            with _room_on_the_disk():
                while chunk := request.stream.read(CHUNK_BYTES):
                    file.write(chunk)
                file.flush()
            if not file.tell():
                raise Problem(422, "The file is empty.", field="file")
            yield file


@contextmanager
def _room_on_the_disk() -> Iterator[None]:
    """Turns the errors of a full disk into Problem."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise Problem(507, "There is no room on the disk for the file.", field="file") from None
        raise
