"""The page and what watches the server: `/`, `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from flask import Blueprint, Response, g, jsonify, render_template

from app.engine_link import EngineLink
from app.live import Live
from app.paths import static_dir
from app.recordings import Example
from app.run_log import RunLog
from model.api import MAX_NEW_TOKENS, MAX_PROMPT_CHARS, MAX_PROMPT_TOKENS

SHEETS = (
    *("base", "layout", "prompt-bar", "timeline", "map", "inspector", "panels", "charts", "words"),
    *("views/model", "views/block", "views/head", "views/pair", "views/tokens", "views/cache", "views/time"),
    *("present", "print"),
)
"""Style sheets under static/css, in the order in which later ones win."""


def blueprint(runs: RunLog, engine: EngineLink, live: Live, examples: list[Example]) -> Blueprint:
    """The routes, over these parts."""
    routes = Blueprint("pages", __name__)
    import_map = json.loads((static_dir() / "importmap.json").read_text("utf-8"))
    bootstrap = {
        "version": _version(),
        "examples": [asdict(example) for example in examples],
        "limits": {
            "prompt_chars": MAX_PROMPT_CHARS,
            "prompt_tokens": MAX_PROMPT_TOKENS,
            "new_tokens": MAX_NEW_TOKENS,
        },
    }

    @routes.get("/")
    def stage() -> str:
        return render_template(
            "stage.html", bootstrap=bootstrap, importmap=import_map, sheets=SHEETS, csp_nonce=g.csp_nonce
        )

    @routes.get("/healthz")
    def healthz() -> Response:
        return jsonify(status="ok", version=bootstrap["version"])

    @routes.get("/readyz")
    def readyz() -> Response:
        readiness = engine.readiness
        response = jsonify(**asdict(readiness), model=engine.info)
        response.status_code = 200 if readiness.state == "ready" else 503
        response.headers["Cache-Control"] = "no-store"
        return response

    @routes.get("/metrics")
    def metrics() -> Response:
        """Prometheus text exposition format 0.0.4."""
        stored = runs.totals()
        values = {
            "kvscope_runs_open": len(runs.open_runs()),
            "kvscope_runs_stored": stored["runs"],
            "kvscope_frames_stored": stored["frames"],
            "kvscope_bytes_stored": stored["bytes"],
            "kvscope_viewers": live.viewers,
            "kvscope_engine_ready": int(engine.readiness.state == "ready"),
            "kvscope_engine_restarts": engine.restarts,
        }
        lines = [f"# TYPE {name} gauge\n{name} {value}\n" for name, value in values.items()]
        return Response("".join(lines), content_type="text/plain; version=0.0.4; charset=utf-8")

    return routes


def _version() -> str:
    try:
        return version("kvscope")
    except PackageNotFoundError:
        return "unpackaged"
