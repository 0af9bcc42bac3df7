"""The OpenAPI 3.1 document of the HTTP contract, and its route `/api/openapi.json`.

`describe` describes a view where it is written, and the document is built from the application's own routes. Its
schemas come from the models that check requests and from the types of answers. docs/api.md says why no library does
this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar

from flask import Blueprint, Flask, Response, current_app, jsonify
from pydantic import BaseModel, TypeAdapter
from werkzeug.routing import Rule

from kvscope.app.bodies import schema_of
from kvscope.app.http.access import DESCRIBES, Access, declare
from kvscope.app.http.answers import Problem
from kvscope.app.http.caching import revalidated
from kvscope.app.travel.page_source import own_version

JSON = "application/json"
PROBLEM = "application/problem+json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STORED_SESSION = re.compile(r"/api/sessions/<")
STORED_SESSION_PROBLEMS = (410, 500)
"""Problems of every route of one session: it was deleted, or its stored data is damaged."""

STORED = re.compile(r"/(api/runs|api/sessions|oembed|metrics)\b")
STORED_PROBLEMS = (503,)
"""Problem of every route that reads the database: it cannot be used now."""

ABOUT = """Start runs of a language model, read their logs, save them and read saved sessions. docs/frames.md describes
the frames and the exact values, docs/sessions.md the saved sessions. An unknown path is a 404, an unsupported method a
405. No request needs a cookie or a login. Unknown query parameters are ignored. An internal error is a 500 problem."""

PROBLEMS = {
    400: "The body is malformed, or has an unknown member.",
    401: "A token is required.",
    403: "The token is wrong, or a page of another site sent the request.",
    404: "No object has this id.",
    409: "The state of the run does not allow this, or another model is loaded.",
    410: "The session was deleted.",
    413: "The body, or a text in it, is too long.",
    415: "The media type of the body is not supported.",
    422: "A value is missing, has the wrong type, or is out of bounds.",
    429: "The queue is full, or the client has reached a limit per minute; Retry-After has the seconds to wait.",
    500: "Stored data is damaged; `field` names the part.",
    501: "The requested format is not available.",
    503: "The model is loading or failed to load, or the database cannot be used.",
    507: "The disk is full, or the server's limit on disk space is reached.",
}
PLAIN: Mapping[type, str] = {dict: "object", str: "string"}
"""Types without a schema of their own."""
REFERENCE = "#/components/schemas/{model}"

View = TypeVar("View", bound=Callable[..., Any])
Content = Mapping[str, type | None]
"""The type of the content by media type; None for content without a schema."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One successful answer. `content`: empty for an answer without a body."""

    meaning: str
    content: Content = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of a view."""

    access: Access
    summary: str
    answers: Mapping[int, Answer]
    problems: tuple[int, ...]
    query: type[BaseModel] | None
    body: Content
    revalidated: bool


def describe(
    access: Access,
    summary: str,
    answers: Mapping[int, Answer],
    *problems: int,
    query: type[BaseModel] | None = None,
    body: type[BaseModel] | Content | None = None,
    revalidated: bool = False,
) -> Callable[[View], View]:
    """Describes a view: its access, its successful answers, and the statuses of its problem documents, without those
    that follow from its access.

    `query`: model of its parameters. `body`: model of a JSON body, or media types. `revalidated`: it has an ETag and
    answers 304 to If-None-Match.
    """
    content = {JSON: body} if isinstance(body, type) else body or {}
    operation = Operation(access, summary, answers, problems, query, content, revalidated)

    def mark(view: View) -> View:
        view.__dict__["operation"] = operation
        return declare(access)(view)

    return mark


def json_answer(meaning: str, what: type, *headers: str) -> Answer:
    """Describes an answer in JSON of this type."""
    return Answer(meaning, {JSON: what}, headers)


def binary_answer(meaning: str, *headers: str) -> Answer:
    """Describes an answer in bytes, whose format docs/frames.md describes."""
    return Answer(meaning, {"application/octet-stream": None}, headers)


def document(app: Flask, version: str) -> dict[str, Any]:
    """Returns the document of the application's described routes."""
    paths: dict[str, dict[str, Any]] = {}
    named: set[type] = {Problem}
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        view = app.view_functions[rule.endpoint]
        operation = getattr(view, "operation", None)
        if isinstance(operation, Operation):
            contents = (operation.body, *(answer.content for answer in operation.answers.values()))
            named |= {what for content in contents for what in content.values() if what} - PLAIN.keys()
            for method in sorted(set(METHODS) & (rule.methods or set())):
                paths.setdefault(path_of(rule), {})[method.lower()] = _operation(rule, operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "KVScope",
            "version": version,
            "description": ABOUT,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": ".."}],  # relative to this document: a proxy may serve it below a path
        "paths": paths,
        "components": {
            "schemas": _schemas(frozenset(named)),
            "responses": {f"Problem{status}": _problem(status) for status in sorted(PROBLEMS)},
            "headers": HEADERS,
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer"} for name in ("delete_token", "server_token")
            },
        },
    }


HEADERS = {
    "Content-Disposition": {"description": "The file name of the download.", "schema": {"type": "string"}},
    "ETag": {"description": "Changes when the content does.", "schema": {"type": "string"}},
    "Location": {"description": "The address of the new object.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds to wait before the next try.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "The authentication scheme that is required.", "schema": {"const": "Bearer"}},
}
SECURITY: Mapping[str, list[dict[str, list[str]]]] = {
    "anyone": [],
    "token": [{}, {"server_token": []}],  # of a server with a token
    "secret": [{"delete_token": []}],
}
NOT_STORED = "The answer is not stored, and nothing is computed for pages of other sites."
PROBLEM_HEADERS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


@cache
def _schemas(named: frozenset[Any]) -> dict[str, Any]:
    """Returns the schemas of these types and of the types inside them."""
    taken: Literal["validation"] = "validation"
    adapters = [(what, taken, TypeAdapter(what)) for what in sorted(named, key=lambda what: what.__name__)]
    _, definitions = TypeAdapter.json_schemas(adapters, ref_template=REFERENCE)
    return definitions["$defs"]


def _content(content: Content) -> dict[str, Any]:
    return {media: {"schema": _schema(what)} if what else {} for media, what in content.items()}


def _schema(what: type) -> dict[str, Any]:
    return {"type": PLAIN[what]} if what in PLAIN else {"$ref": REFERENCE.format(model=what.__name__)}


def path_of(rule: Rule) -> str:
    """Returns a route's path in the document's form: `/api/sessions/{session}/frames`."""
    path = rule.rule.replace("<log>", "<session>" if STORED_SESSION.match(rule.rule) else "<run>")
    return re.sub(r"<(?:[^<>:]+:)?([^<>]+)>", r"{\1}", path)


def _operation(rule: Rule, operation: Operation) -> dict[str, Any]:
    problems = {
        *operation.problems,
        *operation.access.problems,
        *(STORED_PROBLEMS if STORED.match(rule.rule) else ()),
        *(STORED_SESSION_PROBLEMS if STORED_SESSION.match(rule.rule) else ()),
    }
    responses = {str(status): _answer(answer, operation.revalidated) for status, answer in operation.answers.items()}
    if operation.revalidated:
        responses["304"] = {
            "description": "The content named by If-None-Match is unchanged.",
            "headers": _headers(("ETag",)),
        }
    if operation.access.pages == "stored":
        responses["204"] = {"description": NOT_STORED}
    for status in problems:
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    described: dict[str, Any] = {
        "operationId": rule.endpoint,
        "summary": operation.summary,
        "parameters": _parameters(path_of(rule), operation),
        "responses": dict(sorted(responses.items())),
    }
    if operation.body:
        described["requestBody"] = {"required": True, "content": _content(operation.body)}
    if security := SECURITY[operation.access.who]:
        described["security"] = security
    return described


def _parameters(path: str, operation: Operation) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{([^{}]+)}", path)
    ]
    query = schema_of(operation.query) if operation.query else {"properties": {}}
    in_query = [
        {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": _without_null(schema)}
        for name, schema in query["properties"].items()
    ]
    in_headers = [{"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}}]
    return [*in_path, *in_query, *(in_headers if operation.revalidated else [])]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Removes null from a schema: a parameter without a value is absent."""
    if "anyOf" not in schema:
        return schema
    return schema["anyOf"][0] | {name: value for name, value in schema.items() if name not in ("anyOf", "default")}


def _answer(answer: Answer, revalidated: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.meaning}
    if answer.content:
        described["content"] = _content(answer.content)
    headers = _headers((*answer.headers, *(("ETag",) if revalidated else ())))
    return described | ({"headers": headers} if headers else {})


def _headers(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _problem(status: int) -> dict[str, Any]:
    described = {"description": PROBLEMS[status], "content": _content({PROBLEM: Problem})}
    headers = _headers(PROBLEM_HEADERS.get(status, ()))
    return described | ({"headers": headers} if headers else {})


def blueprint() -> Blueprint:
    """Returns the route, which answers for the application that it is registered with."""
    routes = Blueprint("openapi", __name__)

    @routes.get("/api/openapi.json")
    @describe(DESCRIBES, "This document", {200: json_answer("OpenAPI 3.1", dict)}, revalidated=True)
    def contract() -> Response:
        response = jsonify(document(current_app, own_version()))
        response.headers["Access-Control-Allow-Origin"] = "*"
        return revalidated(response)

    return routes
