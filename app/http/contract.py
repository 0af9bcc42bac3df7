"""`/api/openapi.json`: the HTTP contract, for programs that read it."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify, request

from kvscope.app.http.openapi import JSON, Answer, describe, document
from kvscope.app.travel.page_source import own_version


def blueprint() -> Blueprint:
    """The route. Its answer is of the application that it is registered with."""
    routes = Blueprint("openapi", __name__)

    @routes.get("/api/openapi.json")
    @describe("This document", {200: Answer("OpenAPI 3.1", {JSON: {"type": "object"}})}, revalidated=True)
    def contract() -> Response:
        response = jsonify(document(current_app, own_version()))
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Cache-Control"] = "no-cache"
        response.add_etag()
        response.make_conditional(request)
        return response

    return routes
