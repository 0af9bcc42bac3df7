"""`/memory` and `/embed/memory`, the memory calculator, and `POST /api/measure`, which measures this machine.

The calculator's state is its address, and the page computes everything itself. Only the machine is measured here, on
request; the result is not stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from flask import Blueprint, Response, jsonify

from kvscope.app.engine.pool import Pool
from kvscope.app.http.access import MEASURES, SENDS, count, declare
from kvscope.app.http.answers import Measured
from kvscope.app.http.limits import Limits
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.requests import Measure, body
from kvscope.app.http.shell import renderer
from kvscope.app.paths import GPUS, MODELS
from kvscope.app.store.gallery import Recording


def blueprint(pool: Pool, limits: Limits, recorded: Sequence[Recording]) -> Blueprint:
    """Returns the routes. The charts use steps of the first recording if the address names no run."""
    routes = Blueprint("memory", __name__)
    render = renderer("memory")
    models, gpus = (json.loads(path.read_text("utf-8")) for path in (MODELS, GPUS))
    session = next((recording.card.id for recording in recorded if recording.card and not recording.workload), None)
    known = {"models": models, "gpus": gpus, "session": session}

    @routes.get("/memory", endpoint="alone", defaults={"framed": False})
    @routes.get("/embed/memory", endpoint="embedded", defaults={"framed": True})
    @declare(SENDS)
    def page(framed: bool) -> str:
        return render({**known, "framed": framed})

    @routes.post("/api/measure")
    @describe(
        MEASURES,
        "Measure memory bandwidth and peak compute of the engine's machine; takes several seconds",
        {200: json_answer("all takes, with their median", Measured)},
        *(400, 409, 413, 415, 422, 503),
        body=Measure,
    )
    def measure() -> Response:
        body(Measure)
        count(limits)
        return jsonify(**pool.call("measure"))

    return routes
