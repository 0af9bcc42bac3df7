"""`/serving` and `/embed/serving`: the engine while it answers several requests at once.

What is shown is a log like every other, whose id is in the address; the page starts one by `POST /api/workloads`. A
saved one is shown at its own address, as every session is (app.http.pages).
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.page_limits import LIMITS
from kvscope.app.http.shell import renderer
from kvscope.app.store.gallery import Example
from kvscope.app.travel.page_source import own_version


def started_with(**more: Any) -> dict[str, Any]:
    """What the page's script starts from, `more` besides."""
    return {"version": own_version(), "limits": LIMITS, **more}


def blueprint(example: Example | None) -> Blueprint:
    """The routes. `example`: the recorded workload that is shown where the address names none."""
    routes = Blueprint("serving", __name__)
    render = renderer("serving")

    def page(framed: bool) -> str:
        shown = {"example": example.id} if example and not framed else {}
        return render(started_with(framed=framed, **shown))

    @routes.get("/serving")
    @declare(SENDS)
    def alone() -> str:
        return page(framed=False)

    @routes.get("/embed/serving")
    @declare(SENDS)
    def embedded() -> str:
        return page(framed=True)

    return routes
