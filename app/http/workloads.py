"""`POST /api/workloads`: several requests that the engine answers together. Its log is read as a run's is."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, request, url_for

from kvscope.app.engine.desk import Desk
from kvscope.app.http.limits import Limits
from kvscope.app.http.lookup import STARTED, STARTING_PROBLEMS, created
from kvscope.app.http.openapi import describe
from kvscope.app.http.requests import Workload, body, new_id
from kvscope.app.http.visitors import client_of


def blueprint(desk: Desk, limits: Limits) -> Blueprint:
    """The route, over this desk."""
    routes = Blueprint("workloads", __name__)

    @routes.post("/api/workloads")
    @describe(
        "Have several requests answered together, once per round of settings",
        STARTED,
        *STARTING_PROBLEMS,
        body=Workload,
    )
    def workload() -> Response:
        asked, visitor, run = body(Workload), client_of(request), new_id()
        limits.take(visitor, "runs")
        started = desk.study(run, lambda: asked.of(run), visitor.token, partial(limits.charge, visitor))
        return created(run, started, url_for("serving.alone", run=run))

    return routes
