"""The table of routes and Socket.IO events: who may call each, from which pages, what it costs, its limit, and which of
several web processes answers. `python -m` prints it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from flask import Flask

from kvscope.app import create_app
from kvscope.app.http.access import Access, declared
from kvscope.app.http.openapi import METHODS, path_of
from kvscope.app.settings import Settings

HEAD = "| Method | Address | Who | Pages | Cost | Limit | Web process |\n|---|---|---|---|---|---|---|\n"


def rows(app: Flask) -> list[tuple[str, str, Access]]:
    """Method, address and access of every route, by address; then the events."""
    endpoints = declared(app.view_functions)
    routes = [
        (method, path_of(rule), endpoints[rule.endpoint])
        for rule in app.url_map.iter_rules()
        for method in METHODS
        if method in (rule.methods or ())
    ]
    events = [("event", name, access) for name, access in app.extensions["kvscope"].live.events.items()]
    return [*sorted(routes, key=lambda row: (row[1], row[0])), *events]


def markdown(app: Flask) -> str:
    """Returns the same as a table."""
    return HEAD + "".join(
        f"| {method} | `{path}` | {access.who} | {access.pages} | {access.cost} | {access.limit} | "
        f"{'any' if access.everywhere else 'leader'} |\n"
        for method, path, access in rows(app)
    )


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        app = create_app(Settings(data_dir=Path(folder), recordings_dir=Path(folder)))
        print(markdown(app), end="")
        app.extensions["kvscope"].runs.close()
