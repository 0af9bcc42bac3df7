"""What the document says of a field is held to: one thing at a time is wrong, made of the schemas, and is named."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.http.openapi import document
from kvscope.app.settings import Settings
from tests.support.asking import ASK, BODIES, QUERY, QUERY_OF
from tests.support.over_http import bearer, finished, problem, share

JSON = "application/json"
SURROGATE = "\ud800"
FAR = 10**6
"""No run here has so many of anything."""
NO_INTEGERS = ("x", "", "1e1", "0_0", " 0", "\u0660", 5000 * "0")
NO_OBJECTS = (b"", b"{", b"[]", b'"prompt"', b"null", b'{"a": "\xff"}', b'{"a": NaNN}', b"[" * 100_000)
Document = dict[str, Any]
Wrong = tuple[Any, int]
"""A value, and the status that it is refused with."""


def published() -> Document:
    """Of an application that is never started."""
    return document(create_app(Settings()), "1")


PUBLISHED = published()
OPERATIONS = [
    (method, path, operation)
    for path, methods in PUBLISHED["paths"].items()
    for method, operation in methods.items()
    if not path.startswith("/api/by-hand")  # whose parameters are texts with a grammar of their own
]
TAKING_JSON = [
    (method, path)
    for method, path, operation in OPERATIONS
    if JSON in operation.get("requestBody", {}).get("content", {})
]
TAKING_QUERIES = [path for _, path, each in OPERATIONS if any(one["in"] == "query" for one in each["parameters"])]
ABOUT_SOMETHING = [(method, path) for method, path, _ in OPERATIONS if "{run}" in path or "{session}" in path]


LESSON = "01-what-is-a-token"


@pytest.fixture(scope="module")
def known(app: Flask) -> Iterator[dict[str, str]]:
    """Ids of a run, of a session of it, of a workload that goes on, and of a room, with the room's secret."""
    client = app.test_client()
    run = finished(client, max_new_tokens=4)
    waiting = {"requests": [{**ASK, "arrives_ms": 60_000}], "rounds": [{}]}
    workload = client.post("/api/workloads", json=waiting).json["id"]
    room = client.post("/api/rooms", json={"address": "/"}).json
    yield {
        "run": run,
        "session": share(client, run, values="qkv")["id"],
        "workload": workload,
        "number": "0",
        "lesson": LESSON,
        "code": room["code"],
        "secret": room["secret"],
    }
    client.post(f"/api/runs/{workload}/control", json={"action": "stop"})


def address(path: str, known: dict[str, str]) -> str:
    return path.replace("{run}", "{workload}" if path.startswith("/api/workloads") else "{run}").format(**known)


def resolved(schema: Document) -> tuple[Document, bool]:
    """What a schema says, and whether null will do too."""
    kinds = schema.get("anyOf", [schema])
    found = next(each for each in kinds if each.get("type") != "null")
    if "$ref" in found:
        found = PUBLISHED["components"]["schemas"][found["$ref"].rpartition("/")[2]]
    return found, {"type": "null"} in kinds


def wrong_values(schema: Document) -> Iterator[Wrong]:
    """Values that are none of the schema's, but for what is inside an object."""
    match schema.get("type"):
        case "integer" | "number" as kind:
            yield from ((value, 422) for value in ("1", True, [1]))
            yield from ((value, 422) for value in ((1.5,) if kind == "integer" else (float("nan"), float("inf"))))
            low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
            yield low - 1 if "minimum" in schema else low, 422
            yield schema.get("maximum", FAR) + 1, 422
        case "boolean":
            yield from (("yes", 422), (1, 422))
        case "array":
            yield from (({}, 422), ("", 422))
        case "object":
            yield from (([], 422), ("x", 422))
        case _ if "enum" in schema:
            yield from (("nonsense", 422), ([schema["enum"][0]], 422), (SURROGATE, 422))
        case "string":
            yield from ((7, 422), (["a"], 422), (SURROGATE, 400))
            if schema.get("minLength"):
                yield "", 422
            yield "a" * (schema["maxLength"] + 1) if "maxLength" in schema else 7, 413 if "maxLength" in schema else 422


def wrongs(schema: Document, good: Any, name: str = "") -> Iterator[tuple[Any, int, str]]:
    """Values with one thing wrong in them, each with its status and the field that is named."""
    schema, nullable = resolved(schema)
    if name:
        yield from ((value, status, name) for value, status in wrong_values(schema))
        if not nullable:
            yield None, 422, name
    if schema.get("type") == "array":
        items = good or [example(schema["items"])]
        yield items * (schema["maxItems"] + 1), 422, name
        if schema.get("minItems"):
            yield [], 422, name
        for value, status, field in wrongs(schema["items"], items[0], f"{name}[0]"):
            yield [value, *items[1:]], status, field
    if schema.get("type") == "object":
        good = good if isinstance(good, dict) else {}
        before = f"{name}." if name else ""
        yield {**good, "more": 1}, 400, f"{before}more"
        for member in schema.get("required", ()):
            yield {key: each for key, each in good.items() if key != member}, 422, f"{before}{member}"
        for member, inside in schema["properties"].items():
            for value, status, field in wrongs(inside, good.get(member, example(inside)), f"{before}{member}"):
                yield {**good, member: value}, status, field


def example(schema: Document) -> Any:
    """A value of the schema."""
    schema, _ = resolved(schema)
    match schema.get("type"):
        case "object":
            return {name: example(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [example(schema["items"])]
        case "string":
            return schema.get("enum", ["a"])[0]
    return schema.get("minimum", 0)


@pytest.mark.parametrize(("method", "path"), TAKING_JSON)
def test_a_field_of_a_body_that_is_wrong_is_named_with_its_limit(
    client: FlaskClient, known: dict[str, str], method: str, path: str
) -> None:
    url, good = address(path, known), BODIES.get(path, {})
    schema = PUBLISHED["paths"][path][method]["requestBody"]["content"][JSON]["schema"]
    send = partial(client.open, url, method=method.upper(), headers=bearer(known["secret"]))
    for body, status, field in wrongs(schema, good):
        refused = send(json=body)
        said = f"{field} in {str(body)[:200]}: {refused.status_code} {refused.text[:200]}"
        assert (refused.status_code, refused.json.get("field")) == (status, field), said
        assert problem(refused, status, field).get("limit") is not None or not bounded(body, status), said
    for text in NO_OBJECTS:
        problem(send(data=text, content_type=JSON), 400, "body")
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        problem(send(data=json.dumps(good), content_type=kind), 415, "Content-Type")


def bounded(body: Any, status: int) -> bool:
    """Whether what is wrong breaks a limit that can be told."""
    return status == 413 or (isinstance(body, dict) and (FAR + 1) in body.values())


@pytest.mark.parametrize("path", TAKING_QUERIES)
def test_a_parameter_that_is_wrong_is_named(client: FlaskClient, known: dict[str, str], path: str) -> None:
    url, parameters = path.format(**known), PUBLISHED["paths"][path]["get"]["parameters"]
    asked = [each for each in parameters if each["in"] == "query"]
    right = QUERY | QUERY_OF.get(path, {})
    good = {each["name"]: str(right.get(each["name"], "")).format(**known) for each in asked if each["required"]}
    for parameter in asked:
        name, schema = parameter["name"], resolved(parameter["schema"])[0]
        numbers = [str(value) for value, _ in wrong_values(schema) if type(value) is int]
        texts = [*NO_INTEGERS, *numbers] if schema["type"] == "integer" else ["nonsense"] if "enum" in schema else []
        texts += ["a" * (schema["maxLength"] + 1)] if "maxLength" in schema else []
        for query in [*({**good, name: text} for text in texts), *([without(good, name)] if name in good else [])]:
            refused = client.get(url, query_string=query)
            assert refused.status_code in (400, 422, 501), (query, refused.text[:200])
            problem(refused, refused.status_code, name)


def without(given: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in given.items() if key != name}


@pytest.mark.parametrize(("method", "path"), ABOUT_SOMETHING)
def test_what_is_about_nothing_is_not_found(client: FlaskClient, method: str, path: str) -> None:
    noun = "session" if "{session}" in path else "run"
    for nobody in ("nobody", "a" * 12, "%F0%9F%99%82", "a'--"):
        url = path.format(run=nobody, session=nobody, number="0")
        sent = {"json": BODIES.get(path, {})} if method == "post" else {"headers": {"Authorization": "Bearer x"}}
        problem(client.open(url, method=method, query_string=QUERY, **sent), 404, noun)
