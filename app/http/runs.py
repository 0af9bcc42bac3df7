"""`/api/runs`: start, read, control and fork runs, and ask for their exact values."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from kvscope.app.engine.calls import Calls, EngineUnavailable
from kvscope.app.engine.desk import Desk
from kvscope.app.engine.supervisor import Supervisor
from kvscope.app.http.answers import Controlled, Created, RunStatus
from kvscope.app.http.log import LogRoutes
from kvscope.app.http.lookup import STARTING_PROBLEMS, RunLookup, created, delete_token, page_of, state_of
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import Control, Fork, NewRun, body, new_id
from kvscope.app.store.runs import RunLog
from kvscope.model.api import ForkRequest

FOR_EVER = "public, max-age=31536000, immutable"


def blueprint(runs: RunLog, engine: Supervisor, calls: Calls, desk: Desk) -> Blueprint:
    """The routes, over this log and this engine."""
    routes = Blueprint("runs", __name__, url_prefix="/api/runs")
    api = RunRoutes(runs, engine, desk)
    routes.post("")(api.create)
    routes.get("/<run>")(api.status)
    routes.delete("/<run>")(api.delete)
    routes.post("/<run>/control")(api.control)
    routes.post("/<run>/fork")(api.fork)
    LogRoutes(runs, RunLookup(runs, engine), calls, FOR_EVER).register(routes)
    return routes


class RunRoutes:
    """One method per route."""

    def __init__(self, runs: RunLog, engine: Supervisor, desk: Desk) -> None:
        self._runs, self._engine, self._desk = runs, engine, desk
        self._lookup = RunLookup(runs, engine)

    @describe("Start a run", {201: json_answer("it runs", Created, "Location")}, *STARTING_PROBLEMS, body=NewRun)
    def create(self) -> Response:
        """`POST /api/runs`"""
        asked, run = body(NewRun), new_id()
        loaded = self._engine.info
        if loaded is None:
            raise EngineUnavailable(self._engine.readiness.message)
        if asked.model is not None and asked.model != loaded["name"]:
            detail = f"This server runs {loaded['name']}; it has no model {asked.model[:80]!r}."
            raise Problem(422, detail, field="model", limit=[loaded["name"]])
        return created(run, self._desk.start(asked.of(run)))

    @describe("What a run is and how far it is", {200: json_answer("its settings and its state", RunStatus)}, 404)
    def status(self, run: str) -> Response:
        """`GET /api/runs/<id>`"""
        head = self._lookup.known(run)
        opening, closing = self._runs.opening(run), self._runs.closing(run)
        settings = ("model", "prompt", "chat", "sampling", "limits", "parent", "created")
        return jsonify(
            id=run,
            url=page_of(run),
            status=state_of(run, head.closed, self._desk),
            reason=closing["reason"] if closing else None,
            error=closing["error"] if closing else None,
            last_seq=head.last_seq,
            steps=head.steps,
            bytes=head.bytes,
            prompt_tokens=len(opening["tokens"]),
            study=opening.get("study"),
            **{name: opening[name] for name in settings},
        )

    @describe(
        "Pause, resume, step or stop a run",
        {200: json_answer("its new state", Controlled)},
        *(400, 404, 409, 413, 415, 422, 503),
        body=Control,
    )
    def control(self, run: str) -> Response:
        """`POST /api/runs/<id>/control`"""
        head = self._lookup.known(run)
        action = body(Control).action
        if head.closed:
            raise Problem(409, "The run has ended.", field="action")
        return jsonify(id=run, status=self._desk.control(run, action))

    @describe(
        "Put another token in the place of one that a run chose, and go on from there in a new run",
        {201: json_answer("it runs", Created, "Location")},
        *(404, 409, *STARTING_PROBLEMS),
        body=Fork,
    )
    def fork(self, run: str) -> Response:
        """`POST /api/runs/<id>/fork`"""
        opening, chosen = self._lookup.original(run), self._runs.chosen(run)
        prompt = len(opening["tokens"])
        if not chosen:
            raise Problem(409, "The run has no token yet that another could take the place of.", field="position")
        bounds = {"position": (prompt, prompt + len(chosen) - 1), "token": (0, opening["model"]["vocab"] - 1)}
        asked = body(Fork, bounds)
        self._lookup.same_model(opening)
        last = chosen[asked.position - prompt][0]
        shared = tuple(self._runs.all_frames(run, last=last))
        fork = new_id()
        return created(fork, self._desk.fork(ForkRequest(fork, run, asked.position, asked.token, shared)))

    @describe(
        "Delete a run and the studies of it; what was shared of it stays",
        {204: Answer("it is gone")},
        *(401, 403, 404, 409, 503),
        token=True,
    )
    def delete(self, run: str) -> Response:
        """`DELETE /api/runs/<id>`"""
        self._lookup.known(run)
        if not self._runs.is_token(run, delete_token("run")):
            raise Problem(403, "That is not the token of this run.", field="Authorization")
        self._desk.remove(run)
        return Response(status=204)
