"""`/serving` and `/embed/serving`: the engine while it answers several requests at once.

What is shown is a log like every other, whose id is in the address; the page starts one by `POST /api/workloads`.
"""

from __future__ import annotations

from flask import Blueprint

from kvscope.app.http.rendering import renderer
from kvscope.model.api import (
    MAX_ARRIVAL_MS,
    MAX_ASKS,
    MAX_AT_ONCE,
    MAX_CHUNK,
    MAX_PROMPT_CHARS,
    MAX_SYSTEM_CHARS,
    MAX_WORKLOAD_BLOCKS,
    MAX_WORKLOAD_TOKENS,
)

PAGE = {
    "name": "serving",
    "title": "Serving",
    "description": "Several people ask a real model at once. Each of its passes serves all of them, and memory is "
    "handed out in blocks of 16 tokens: watched on the engine itself.",
    "without_scripts": "This is drawn from what a running model does, and needs JavaScript to be shown.",
}
LIMITS = {
    "asks": MAX_ASKS,
    "prompt_chars": MAX_PROMPT_CHARS,
    "system_chars": MAX_SYSTEM_CHARS,
    "new_tokens": MAX_WORKLOAD_TOKENS,
    "arrival_ms": MAX_ARRIVAL_MS,
    "at_once": MAX_AT_ONCE,
    "chunk": MAX_CHUNK,
    "blocks": MAX_WORKLOAD_BLOCKS,
}


def blueprint() -> Blueprint:
    """The routes."""
    routes = Blueprint("serving", __name__)
    render = renderer("own-page.html")

    def page(framed: bool) -> str:
        return render(bootstrap={"limits": LIMITS, "framed": framed}, **PAGE)

    @routes.get("/serving")
    def alone() -> str:
        return page(framed=False)

    @routes.get("/embed/serving")
    def embedded() -> str:
        return page(framed=True)

    return routes
