"""`/api/runs`: start, read, control and fork runs, and ask for their exact values."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from flask import Blueprint, Response, jsonify, request

from app.engine_link import EngineLink, EngineUnavailable
from app.problems import Problem
from app.run_log import RunLog
from app.run_lookup import RunLookup, created, json_body, page_of
from app.run_request import integer, new_id, query_integer, read_action, read_candidate, read_object, read_run
from model.api import ForkRequest
from model.frames import to_stream

FOR_EVER = "public, max-age=31536000, immutable"
SAFETENSORS = "application/octet-stream"


def blueprint(runs: RunLog, engine: EngineLink) -> Blueprint:
    """The routes, over this log and this engine."""
    routes = Blueprint("runs", __name__, url_prefix="/api/runs")
    api = RunRoutes(runs, engine)
    routes.post("")(api.create)
    routes.get("/<run>")(api.status)
    routes.post("/<run>/control")(api.control)
    routes.post("/<run>/fork")(api.fork)
    routes.get("/<run>/frames")(api.frames)
    routes.get("/<run>/head")(api.head)
    routes.get("/<run>/block")(api.block)
    routes.get("/<run>/algebra")(api.algebra)
    routes.get("/<run>/candidates")(api.candidates)
    routes.get("/<run>/lens")(api.lens)
    return routes


class RunRoutes:
    """One method per route."""

    def __init__(self, runs: RunLog, engine: EngineLink) -> None:
        self._runs, self._engine = runs, engine
        self._lookup = RunLookup(runs, engine)

    def create(self) -> Response:
        """`POST /api/runs`"""
        run_request, model = read_run(json_body(), new_id())
        loaded = self._engine.info
        if loaded is None:
            raise EngineUnavailable(self._engine.readiness.message)
        if model is not None and model != loaded["name"]:
            detail = f"This server runs {loaded['name']}; it has no model {model[:80]!r}."
            raise Problem(422, detail, field="model", limit=[loaded["name"]])
        self._engine.start_run(run_request)
        return created(run_request.run)

    def status(self, run: str) -> Response:
        """`GET /api/runs/<id>`"""
        head = self._lookup.known(run)
        opening, closing = self._runs.opening(run), self._runs.closing(run)
        settings = ("model", "prompt", "chat", "sampling", "limits", "parent", "created")
        return jsonify(
            id=run,
            url=page_of(run),
            status=self._lookup.state(run, head),
            reason=closing["reason"] if closing else None,
            error=closing["error"] if closing else None,
            last_seq=head.last_seq,
            steps=head.steps,
            bytes=head.bytes,
            prompt_tokens=len(opening["tokens"]),
            study=opening.get("study"),
            **{name: opening[name] for name in settings},
        )

    def control(self, run: str) -> Response:
        """`POST /api/runs/<id>/control`"""
        head = self._lookup.known(run)
        action = read_action(json_body())
        if head.closed:
            raise Problem(409, "The run has ended.", field="action")
        return jsonify(id=run, status=self._engine.control(run, action))

    def fork(self, run: str) -> Response:
        """`POST /api/runs/<id>/fork`"""
        opening, chosen = self._lookup.original(run), self._runs.chosen(run)
        fields = read_object(json_body(), ("position", "token"))
        prompt = len(opening["tokens"])
        if not chosen:
            raise Problem(409, "The run has no token yet that another could take the place of.", field="position")
        position = integer(fields, "position", prompt, prompt + len(chosen) - 1)
        token = integer(fields, "token", 0, opening["model"]["vocab"] - 1)
        self._lookup.same_model(opening)
        last = chosen[position - prompt][0]
        shared = tuple(self._runs.all_frames(run, last=last))
        fork = new_id()
        self._engine.fork_run(ForkRequest(fork, run, position, token, shared))
        return created(fork)

    def frames(self, run: str) -> Response:
        """`GET /api/runs/<id>/frames?after=`"""
        head = self._lookup.known(run)
        after = query_integer(request.args.get("after"), "after", -1, 2**31, -1)
        response = Response(to_stream(self._runs.all_frames(run, after)), mimetype="application/octet-stream")
        response.headers["Cache-Control"] = "no-cache"
        if head.closed:
            response.set_etag(f"{run}-{after}-{head.last_seq}-{head.bytes}")
            response.make_conditional(request)
        return response

    def head(self, run: str) -> Response:
        """`GET /api/runs/<id>/head?step=&layer=&head=`"""
        opening, ids, step = self._lookup.step(run, _step)
        layer = _index("layer", opening["model"]["layers"])
        head = _index("head", opening["model"]["heads"])
        first_query = 0 if step == 0 else len(ids) - 1
        return self._exact(run, opening, lambda: self._engine.call("head", ids, first_query, layer, head))

    def block(self, run: str) -> Response:
        """`GET /api/runs/<id>/block?step=&layer=&position=`"""
        opening, ids, _ = self._lookup.step(run, _step)
        layer = _index("layer", opening["model"]["layers"])
        position = _index("position", len(ids))
        return self._exact(run, opening, lambda: self._engine.call("block", ids, layer, position))

    def algebra(self, run: str) -> Response:
        """`GET /api/runs/<id>/algebra?step=&layer=&head=`"""
        opening, ids, _ = self._lookup.step(run, _step, first=1)
        layer = _index("layer", opening["model"]["layers"])
        head = _index("head", opening["model"]["heads"])
        return self._exact(run, opening, lambda: self._engine.call("algebra", ids, layer, head))

    def candidates(self, run: str) -> Response:
        """`GET /api/runs/<id>/candidates?step=&text=`"""
        opening, ids, _ = self._lookup.step(run, _step)
        text = read_candidate(request.args.get("text"))
        return self._exact(run, opening, lambda: self._engine.call("candidates", ids, text))

    def lens(self, run: str) -> Response:
        """`GET /api/runs/<id>/lens?step=`"""
        opening, ids, step = self._lookup.step(run, _step)
        _, token = self._runs.chosen(run)[step]
        return self._exact(run, opening, lambda: self._engine.call("lens", ids, token))

    def _exact(self, run: str, opening: dict[str, Any], compute: Callable[[], Any]) -> Response:
        """Values that never change: what a cache holds is never asked of the engine again."""
        asked = json.dumps([run, request.path, sorted(request.args.items())])
        tag = sha256(asked.encode()).hexdigest()[:32]
        if request.if_none_match.contains(tag):
            response = Response(status=304)
        else:
            self._lookup.same_model(opening)
            value = compute()
            response = Response(value, mimetype=SAFETENSORS) if isinstance(value, bytes) else jsonify(value)
        response.headers["Cache-Control"] = FOR_EVER
        response.set_etag(tag)
        return response


def _index(name: str, size: int) -> int:
    return query_integer(request.args.get(name), name, 0, size - 1)


def _step(low: int, high: int) -> int:
    return query_integer(request.args.get("step"), "step", low, high)
