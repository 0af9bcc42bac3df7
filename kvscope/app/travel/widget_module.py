"""The script of a notebook's widget: one module that anywidget and MyST load, with the page of the Stage inside."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from kvscope.app.page_table import page_of
from kvscope.app.paths import STATIC
from kvscope.app.travel.file import SessionFile
from kvscope.app.travel.file_page import file_page, packed, packed_modules
from kvscope.app.travel.page import opened
from kvscope.app.travel.page_source import own_version
from kvscope.model.log.frames import to_stream

SOURCE = "widget.js"
NONCE, SESSION, ADDRESS = "kvscope-nonce", "kvscope-session", "kvscope-address"
"""What the script replaces in the page: the nonce, and the session and the embed's address in its bootstrap."""
PAGE, STORED = 'const PAGE = "";', "const STORED = {};"
"""Statements of the script that get the page, and a widget's state."""


@cache
def widget_module() -> str:
    """Returns the script without a run, computed once per process."""
    # A file sends no requests, so nothing has to keep to limits.
    bootstrap = {"version": own_version(), "examples": [], "limits": {}, "session": SESSION, "embed": ADDRESS}
    page = page_of("stage")
    text = file_page(
        page,
        title="KVScope",
        text="",
        data={"bootstrap": bootstrap},
        parts=(),
        nonces=[NONCE],
        code=packed_modules(page),
    )
    return _filled((STATIC / SOURCE).read_text("utf-8"), PAGE, packed(b"".join(text)))


def session_module(file: SessionFile) -> str:
    """Returns the script with a session inside, without exact values: for pages without a kernel."""
    session = opened(file.manifest) | {"values": None}
    state = {"_session": session, "_log": packed(b"".join(to_stream(file.frames())))}
    return _filled(widget_module(), STORED, state)


def _filled(script: str, statement: str, value: Any) -> str:
    before, _, after = script.partition(statement)
    return f"{before}{statement.partition('=')[0]}= {json.dumps(value)};{after}"
