"""Holds answers against the published document: whatever a test asks for over HTTP is checked by the way."""

from typing import Any

import jsonschema_rs
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from kvscope.app.http.openapi import document, path_of


class ContractClient(FlaskClient):
    """A test client that fails when an answer is not as the document has it."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        check(self.application, response)
        return response


def check(app: Flask, response: TestResponse) -> None:
    """The status, media type, headers and JSON of an answer are documented. A path that is not described may answer as
    it likes, and so may a fault that a test provokes. Compressed JSON is not read: it is the same as without.
    """
    published = document(app, "test")
    operation = _operation(app, published, response)
    if operation is None or (response.status_code == 500 and "damaged" not in response.text):
        return
    asked = f"{response.request.method} {response.request.path}"
    status = str(response.status_code)
    assert status in operation["responses"], f"{asked}: {status} is not documented: {response.text[:200]}"
    answer = operation["responses"][status]
    if "$ref" in answer:
        answer = published["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    content = answer.get("content", {})
    if status == "304" or not content:
        assert not response.data, asked
        return
    assert response.mimetype in content, f"{asked}: {status} as {response.mimetype} is not documented"
    if "json" in response.mimetype and "Content-Encoding" not in response.headers:
        conforms(published, content[response.mimetype]["schema"], response.json, asked)


def conforms(published: dict[str, Any], schema: dict[str, Any], value: Any, asked: str) -> None:
    """The value is what the schema says; an object of a named schema has no member that the schema does not name."""
    components = published["components"]["schemas"]
    jsonschema_rs.validate({**schema, "components": {"schemas": components}}, value)
    named = components.get(schema.get("$ref", "").rpartition("/")[2])
    if named is not None:
        unnamed = sorted(set(value) - set(named["properties"]))
        assert not unnamed, f"{asked}: {', '.join(unnamed)} is not documented in {schema['$ref']}"


def _operation(app: Flask, published: dict[str, Any], response: TestResponse) -> dict[str, Any] | None:
    try:
        rule, _ = app.url_map.bind("localhost").match(
            response.request.path, method=response.request.method, return_rule=True
        )
    except HTTPException:
        return None
    return published["paths"].get(path_of(rule), {}).get(response.request.method.lower())
