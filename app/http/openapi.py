"""The OpenAPI 3.1 document of the HTTP contract, made of what stands beside each route.

A view is described where it is written, by `describe`; the document is put together from the application's own table of
routes: it has a path because the server has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flask import Flask
from werkzeug.routing import Rule

from kvscope.app.http.schemas import PROBLEMS, SCHEMAS, reference

JSON = "application/json"
PROBLEM = "application/problem+json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STORED_SESSION = re.compile(r"/api/sessions/<")
STORED_SESSION_PROBLEMS = (410, 500)
"""What every route of one session may find: that it was deleted, that what is stored of it is damaged."""

STORED = re.compile(r"/(api/runs|api/sessions|oembed|metrics)\b")
STORED_PROBLEMS = (503,)
"""What every route that reads the database may find: that it cannot be used now."""

ABOUT = """Start runs of a language model, read them, save them, read what is saved. docs/frames.md describes the frames
and the exact values, docs/sessions.md the saved sessions. Another path is 404, another method 405. No request needs a
cookie or a login; query parameters of other names are passed over. A fault of the server's own is a 500 problem."""

View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Answer:
    """One good answer. `content`: its media type and schema, none for an answer without a body."""

    meaning: str
    content: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """What is said of a view. `query`: schema of each parameter; `required`: which of them must be there."""

    summary: str
    answers: Mapping[int, Answer]
    problems: tuple[int, ...] = ()
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    body: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    revalidated: bool = False
    token: bool = False


def describe(
    summary: str,
    answers: Mapping[int, Answer],
    *problems: int,
    query: Mapping[str, Mapping[str, Any]] | None = None,
    optional: tuple[str, ...] = (),
    body: str | Mapping[str, Mapping[str, Any]] | None = None,
    revalidated: bool = False,
    token: bool = False,
) -> Callable[[View], View]:
    """Describe a view: its good answers and the statuses of its problem documents.

    `query`: its parameters, all required but the `optional`; `body`: name of the schema of a JSON body, or media types
    and their schemas; `revalidated`: it answers 304 to who has its ETag; `token`: it takes a delete token.
    """
    query = query or {}
    content = {JSON: reference(body)} if isinstance(body, str) else body or {}
    required = tuple(name for name in query if name not in optional)
    operation = Operation(summary, answers, problems, query, required, content, revalidated, token)

    def mark(view: View) -> View:
        view.__dict__["operation"] = operation
        return view

    return mark


def json_answer(meaning: str, schema: str, *headers: str) -> Answer:
    """JSON of the schema of this name."""
    return Answer(meaning, {JSON: reference(schema)}, headers)


def binary_answer(meaning: str, *headers: str) -> Answer:
    """Bytes, in a form that docs/frames.md describes."""
    return Answer(meaning, {"application/octet-stream": {}}, headers)


def document(app: Flask, version: str) -> dict[str, Any]:
    """The document of the routes of `app` that are described."""
    paths: dict[str, dict[str, Any]] = {}
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        view = app.view_functions[rule.endpoint]
        operation = getattr(view, "operation", None)
        if isinstance(operation, Operation):
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
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "responses": {f"Problem{status}": _problem(status) for status in sorted(PROBLEMS)},
            "headers": HEADERS,
            "securitySchemes": {"delete_token": {"type": "http", "scheme": "bearer"}},
        },
    }


HEADERS = {
    "Content-Disposition": {"description": "The name to save it under.", "schema": {"type": "string"}},
    "ETag": {"description": "Changes when the content does.", "schema": {"type": "string"}},
    "Location": {"description": "Where what was made is.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "After how many seconds it is worth another try.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "What is needed.", "schema": {"const": "Bearer"}},
}
PROBLEM_HEADERS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


def path_of(rule: Rule) -> str:
    """A route's path as the document has it: `/api/sessions/{session}/frames`."""
    path = rule.rule.replace("<log>", "<session>" if STORED_SESSION.match(rule.rule) else "<run>")
    return re.sub(r"<(?:[^<>:]+:)?([^<>]+)>", r"{\1}", path)


def _operation(rule: Rule, operation: Operation) -> dict[str, Any]:
    problems = {
        *operation.problems,
        *(STORED_PROBLEMS if STORED.match(rule.rule) else ()),
        *(STORED_SESSION_PROBLEMS if STORED_SESSION.match(rule.rule) else ()),
    }
    responses = {str(status): _answer(answer, operation.revalidated) for status, answer in operation.answers.items()}
    if operation.revalidated:
        responses["304"] = {"description": "What If-None-Match names is still so.", "headers": _headers(("ETag",))}
    for status in problems:
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    said: dict[str, Any] = {
        "operationId": rule.endpoint,
        "summary": operation.summary,
        "parameters": _parameters(path_of(rule), operation),
        "responses": dict(sorted(responses.items())),
    }
    if operation.body:
        content = {media: {"schema": schema} for media, schema in operation.body.items()}
        said["requestBody"] = {"required": True, "content": content}
    if operation.token:
        said["security"] = [{"delete_token": []}]
    return said


def _parameters(path: str, operation: Operation) -> list[dict[str, Any]]:
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{([^{}]+)}", path)
    ]
    asked = [
        {"name": name, "in": "query", "required": name in operation.required, "schema": schema}
        for name, schema in operation.query.items()
    ]
    known = [{"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}}]
    return [*named, *asked, *(known if operation.revalidated else [])]


def _answer(answer: Answer, revalidated: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"description": answer.meaning}
    if answer.content:
        said["content"] = {media: {"schema": schema} for media, schema in answer.content.items()}
    headers = _headers((*answer.headers, *(("ETag",) if revalidated else ())))
    return said | ({"headers": headers} if headers else {})


def _headers(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _problem(status: int) -> dict[str, Any]:
    said = {"description": PROBLEMS[status], "content": {PROBLEM: {"schema": reference("Problem")}}}
    headers = _headers(PROBLEM_HEADERS.get(status, ()))
    return said | ({"headers": headers} if headers else {})
