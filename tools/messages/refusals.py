"""`python -m tools.messages.refusals`: writes docs/refusals.md, how API and command line answer bad input.

Each parameter and field of the published document gets a value below its bounds, above them, of another type, and none;
each option of the command line gets one that it does not accept. The answers are an application's own, with the fake
model of the tests. A message that several routes give is listed once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from kvscope.app.commands.cli import main as command_line
from kvscope.app.settings import Settings
from tests.support.live_server import FAKE
from tests.support.over_http import finished, share, started

PAGE = Path(__file__).resolve().parents[2] / "docs" / "refusals.md"
HEAD = """# Messages for bad input

`python -m tools.messages.refusals` writes this file from the answers of an application. Each message is listed once,
with one request that causes it; several routes may give the same message.

"""
REQUESTS = ("HTTP", ("Request", "Status"))
COMMANDS = ("Command line", ("Command", "Exit code"))
MOST_CHARS = 60
CHECKED = (click.IntRange, click.FloatRange, click.Choice)
"""Types of options that click checks before a command runs."""
Row = tuple[str, str, str]
"""The input, the status or exit code, the message."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", service=FAKE, recordings_dir=Path(folder))
        app = started(settings)
        try:
            http = list(over_http(app.test_client()))
        finally:
            app.extensions["kvscope"].close()
    parts = [
        ("HTTP", ("Request", "Status"), http),
        ("Command line", ("Command", "Exit code"), list(on_the_command_line())),
    ]
    PAGE.write_text(HEAD + "\n".join(section(*part) for part in parts), "utf-8")


def section(title: str, columns: tuple[str, str], rows: list[Row]) -> str:
    by_message = {row[2]: row for row in reversed(rows)}
    lines = [f"| {cell(sent)} | {status} | {cell(message)} |" for sent, status, message in by_message.values()]
    head = [f"## {title}", "", f"| {columns[0]} | {columns[1]} | Message |", "|---|---|---|"]
    return "\n".join([*head, *sorted(lines), ""])


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def over_http(client: FlaskClient) -> Iterator[Row]:
    run = finished(client)
    room = client.post("/api/rooms", json={"address": "/"}).json
    ids = {
        "run": run,
        "code": room["code"],
        "session": share(client, run)["id"],
        "example": "a",
        "number": "0",
        "lesson": "01-what-is-a-token",
    }
    presents = {"Authorization": f"Bearer {room['secret']}"}
    published = client.get("/api/openapi.json").json
    for path, operations in published["paths"].items():
        headers = presents if "{code}" in path else {}
        for method, operation in operations.items():
            for sent, query, body in requests_of(operation, published["components"]["schemas"]):
                response = client.open(
                    path.format(**ids), method=method.upper(), query_string=query, json=body, headers=headers
                )
                yield from refused(f"`{method.upper()} {path}` {sent}", response, ids)
            if "{run}" in path or "{session}" in path:
                response = client.open(path.format(**dict.fromkeys(ids, "nobody")), method=method.upper())
                yield from refused(f"`{method.upper()} {path}` of an unknown id", response, ids)


def refused(sent: str, response: TestResponse, ids: dict[str, str]) -> Iterator[Row]:
    if response.status_code >= 400 and response.is_json and "detail" in response.json:
        yield sent, str(response.status_code), plain(response.json["detail"], ids)


def plain(message: str, ids: dict[str, str]) -> str:
    for name, id in ids.items():
        message = message.replace(id, f"{{{name}}}") if len(id) > 1 else message
    return message


def requests_of(operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yields the input in words, the query and the body, each with one fault."""
    queries = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    good = {each["name"]: example(each["schema"], schemas) for each in queries if each.get("required")}
    for each in queries:
        for value in bad_values(each["schema"], schemas):
            yield f"`{each['name']}={short(value)}`", {**good, each["name"]: value}, None
        if each.get("required"):
            yield (
                f"without `{each['name']}`",
                {name: value for name, value in good.items() if name != each["name"]},
                None,
            )
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        yield from bodies_of(body["schema"], schemas)


def bodies_of(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    whole = resolved(schema, schemas)
    required = whole.get("required", [])
    good = {name: example(whole["properties"][name], schemas) for name in required}
    yield "with a list as body", {}, []
    yield "with the unknown field `nothing`", {}, {**good, "nothing": 1}
    for name, each in whole.get("properties", {}).items():
        for value in bad_values(each, schemas):
            yield f"`{name}: {short(value)}`", {}, {**good, name: value}
        if name in required:
            yield f"without `{name}`", {}, {other: value for other, value in good.items() if other != name}


def resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema that a reference, or a type that may be null, stands for; or else the schema itself."""
    if "$ref" in schema:
        return resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "anyOf" in schema:
        return resolved(next(each for each in schema["anyOf"] if each.get("type") != "null"), schemas)
    return schema


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    schema = resolved(schema, schemas)
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "array":
            return [example(schema["items"], schemas)] * max(1, schema.get("minItems", 1))
        case "object":
            return {name: example(schema["properties"][name], schemas) for name in schema.get("required", [])}
        case "boolean":
            return True
        case _:
            return "abc"


def bad_values(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[Any]:
    schema = resolved(schema, schemas)
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1)
    if schema.get("minLength"):
        yield ""
    if "maxItems" in schema:
        yield [example(schema["items"], schemas)] * (schema["maxItems"] + 1)
    yield {"string": 5, "array": 5, "boolean": 5, "object": 5}.get(schema.get("type", ""), "many")


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MOST_CHARS else f"{text[:20]}… ({len(value):,} in all)"


def on_the_command_line() -> Iterator[Row]:
    commands: dict[str, click.Command] = {"": command_line, **command_line.commands}
    for name, command in commands.items():
        for option in command.params:
            if not isinstance(option, click.Option) or not isinstance(option.type, CHECKED):
                continue
            arguments = [
                *([name] if name else []),
                option.opts[0],
                "no" if isinstance(option.type, click.Choice) else "-7",
            ]
            result = CliRunner().invoke(command_line, [*arguments, *(["x"] if name else [])])
            message = result.output.strip().splitlines()[-1] if result.output.strip() else ""
            if result.exit_code and message:
                yield f"`kvscope {' '.join(arguments)}`", str(result.exit_code), message


if __name__ == "__main__":
    main()
