"""`/serving` and `/embed/serving`: the engine while it answers several requests at once.

The page shows the log whose id is in the address, and starts one by `POST /api/workloads`. A saved one has its own
address, as every session does (app.http.pages).
"""

from __future__ import annotations

from flask import Blueprint

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.shell import bootstrap_of_workloads, renderer
from kvscope.app.store.gallery import Example


def blueprint(example: Example | None) -> Blueprint:
    """Returns the routes. `example`: the recorded workload that is shown if the address names none."""
    routes = Blueprint("serving", __name__)
    render = renderer("serving")

    @routes.get("/serving", endpoint="alone", defaults={"framed": False})
    @routes.get("/embed/serving", endpoint="embedded", defaults={"framed": True})
    @declare(SENDS)
    def page(framed: bool) -> str:
        shown = {"example": example.id} if example and not framed else {}
        return render(bootstrap_of_workloads(framed=framed, **shown))

    return routes
