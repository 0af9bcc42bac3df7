"""`/api/code`: the installed source of the model.

The question `code` (questions.py) answers what its lines computed in a step.
"""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from kvscope.app.http.access import DESCRIBES
from kvscope.app.http.answers import Source
from kvscope.app.http.caching import revalidated
from kvscope.app.http.openapi import describe, json_answer
from kvscope.model.source.listing import listing


def blueprint() -> Blueprint:
    """Returns the route."""
    routes = Blueprint("code", __name__, url_prefix="/api")

    @routes.get("/code")
    @describe(
        DESCRIBES,
        "The source of the model's layers, cache and sampling, as it is installed",
        {200: json_answer("the files, line by line", Source)},
        revalidated=True,
    )
    def code() -> Response:
        return revalidated(jsonify(listing()))

    return routes
