"""Problem documents (RFC 9457) for the errors of the HTTP contract, with the field and the limit."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.questions import TooManyQuestions
from kvscope.app.engine.queue import TooManyRuns
from kvscope.app.engine.run_scheduler import InUse
from kvscope.app.store.budget import Full
from kvscope.app.store.errors import Damaged, Deleted, StoreError
from kvscope.app.store.runs import Gone
from kvscope.model.api import Refused

RETRY_WHEN_FULL_S = 5
RETRY_WHEN_NOT_STORED_S = 60

log = logging.getLogger(__name__)


class Problem(Exception):
    """A refused request: HTTP status, a sentence, the field that it is about and the limit that the field broke."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        limit: Any = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.limit = status, detail, field, limit
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def document(self) -> dict[str, Any]:
        """Returns the members of the problem document; `field` and `limit` only if they are set."""
        members = {"title": HTTPStatus(self.status).phrase, "status": self.status, "detail": self.detail}
        named = {"field": self.field, "limit": self.limit}
        return members | {name: value for name, value in named.items() if value is not None}

    def response(self) -> Response:
        """Returns the problem document as an HTTP response."""
        return Response(json.dumps(self.document()), self.status, self.headers, mimetype="application/problem+json")


def unknown(noun: str, name: str) -> Problem:
    """404 for an unknown run, session or other object. Runs may have been deleted; sessions never expire."""
    forgotten = " Runs that are not shared are deleted after some time." if noun == "run" else ""
    return Problem(404, f"There is no {noun} {name[:80]!r}.{forgotten}", field=noun)


def init_app(app: Flask) -> None:
    """Answers every error below /api, and known errors elsewhere, with a problem document."""
    app.register_error_handler(Problem, lambda problem: problem.response())
    app.register_error_handler(Refused, lambda refused: from_refusal(refused).response())
    app.register_error_handler(TooManyRuns, _too_many)
    app.register_error_handler(TooManyQuestions, _too_many)
    app.register_error_handler(InUse, lambda error: Problem(409, str(error), field="run").response())
    app.register_error_handler(Full, _full)
    app.register_error_handler(Gone, lambda error: unknown("run", error.args[0]).response())
    app.register_error_handler(EngineUnavailable, _engine_unavailable)
    app.register_error_handler(StoreError, lambda error: not_stored(error).response())
    app.register_error_handler(Deleted, lambda error: Problem(410, str(error), field="session").response())
    app.register_error_handler(Damaged, _damaged)
    app.register_error_handler(ParseException, _malformed)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _fault)


def fault() -> Problem:
    """500 for an error of the server."""
    return Problem(500, "Internal error; see the server log.")


def not_stored(error: StoreError) -> Problem:
    """503 for a database that cannot be used."""
    return Problem(503, str(error), retry_after=RETRY_WHEN_NOT_STORED_S)


def from_refusal(refused: Refused) -> Problem:
    """Returns the problem for a refusal by the model side."""
    retry_after = RETRY_WHEN_FULL_S if refused.status in (429, 503) else None
    return Problem(refused.status, refused.message, field=refused.field, limit=refused.limit, retry_after=retry_after)


def _too_many(error: TooManyRuns | TooManyQuestions) -> Response:
    return Problem(429, str(error), limit=error.limit, retry_after=error.retry_after).response()


def _malformed(error: ParseException) -> Response:
    """Answers a malformed chunked body, which is parsed while the route reads it."""
    problem = Problem(400, f"The body is not valid HTTP: {error}.", field="body", headers={"Connection": "close"})
    return problem.response()


def _full(error: Full) -> Response:
    return Problem(507, str(error), limit=error.limit, retry_after=RETRY_WHEN_NOT_STORED_S).response()


def _engine_unavailable(error: EngineUnavailable) -> Response:
    return Problem(503, str(error), retry_after=error.retry_after).response()


def _damaged(error: Damaged) -> Response:
    log.error("%s", error)
    return Problem(500, str(error), field=error.part).response()


def _http_error(error: HTTPException) -> Response | HTTPException:
    if not request.path.startswith("/api/"):
        return error
    if isinstance(error, RequestEntityTooLarge):
        limit = request.max_content_length
        return Problem(
            413, f"The body is longer than {limit:,} bytes, the limit.", field="body", limit=limit
        ).response()
    response = Problem(error.code or 500, error.description or "").response()
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _fault(error: Exception) -> Response:
    log.exception("%s %r failed", request.method, request.path)
    return fault().response()
