"""How long clients may store an answer."""

from __future__ import annotations

from typing import Any, Literal

from flask import Response, jsonify, request

NO_CACHE: Literal["no-cache"] = "no-cache"
"""The client may store the answer, and asks each time whether it has changed."""


def json_response(value: Any, caching: Literal["no-cache", "no-store"], status: int = 200) -> Response:
    """Answers with JSON and this Cache-Control."""
    response = jsonify(value)
    response.status_code = status
    response.headers["Cache-Control"] = caching
    return response


def revalidated(response: Response) -> Response:
    """Returns the response with an ETag of its content, or 304 to a client that has it."""
    response.headers["Cache-Control"] = NO_CACHE
    response.add_etag()
    response.make_conditional(request)
    return response
