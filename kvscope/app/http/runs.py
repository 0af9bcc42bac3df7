"""`/api/runs`: start, read, control and fork runs, and ask for their exact values."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from flask import Blueprint, Response, jsonify

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Requester
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.http.access import DELETES, READS_STATE, STARTS, STEERS, count
from kvscope.app.http.answers import Controlled, RunStatus, Waits
from kvscope.app.http.limits import Limits
from kvscope.app.http.log import LogRoutes
from kvscope.app.http.lookup import STARTED, STARTING_PROBLEMS, RunLookup, created, delete_token, page_of, state_of
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import Control, Fork, body
from kvscope.app.run_bodies import NewRun, new_id
from kvscope.app.store.runs import RunLog
from kvscope.model.api import ForkRequest

FOR_EVER = "private, max-age=31536000, immutable"
"""Only for the viewer's browser: whoever has the address may control the run, so no proxy may store it."""


def blueprint(runs: RunLog, engine: Pool, reads: Reads, scheduler: RunScheduler, limits: Limits) -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("runs", __name__, url_prefix="/api/runs")
    api = RunRoutes(runs, engine, scheduler, limits)
    routes.post("")(api.create)
    routes.get("/<run>")(api.status)
    routes.delete("/<run>")(api.delete)
    routes.post("/<run>/control")(api.control)
    routes.post("/<run>/fork")(api.fork)
    LogRoutes(runs, RunLookup(runs, engine), reads, FOR_EVER, lasting=False).register(routes)
    return routes


class RunRoutes:
    """One method per route."""

    def __init__(self, runs: RunLog, engine: Pool, scheduler: RunScheduler, limits: Limits) -> None:
        self._runs, self._engine, self._scheduler, self._limits = runs, engine, scheduler, limits
        self._lookup = RunLookup(runs, engine)

    @describe(STARTS, "Start a run", STARTED, *STARTING_PROBLEMS, body=NewRun)
    def create(self) -> Response:
        """`POST /api/runs`"""
        new_run, run = body(NewRun), new_id()
        self._engine.choose(new_run.model)
        visitor = count(self._limits)
        charge = partial(self._limits.charge, visitor)
        return created(run, self._scheduler.start(new_run.of(run, visitor.owner), Requester(*visitor), charge))

    @describe(
        READS_STATE,
        "Settings and state of a run",
        {200: json_answer("its settings and its state", RunStatus), 202: json_answer("the run is queued", Waits)},
        *(404, 409, 413, 422, 429, 507),
    )
    def status(self, run: str) -> Response:
        """`GET /api/runs/<id>`: of a run that could not begin when it was its turn, the problem that there was."""
        waits = self._scheduler.waits(run)
        if waits is not None and self._runs.head(run) is None:
            response = jsonify(id=run, url=page_of(run), status="queued", **asdict(waits))
            response.status_code = 202
            return response
        head = self._lookup.known(run)
        opening, closing = self._runs.opening(run), self._runs.closing(run)
        settings = ("model", "prompt", "chat", "sampling", "limits", "parent", "created")
        return jsonify(
            id=run,
            url=page_of(run),
            status=state_of(run, head.closed, self._scheduler),
            reason=closing["reason"] if closing else None,
            error=closing["error"] if closing else None,
            last_seq=head.last_seq,
            steps=head.steps,
            bytes=head.bytes,
            prompt_tokens=len(opening["tokens"]),
            study=opening.get("study"),
            changed=opening.get("changed"),
            **{name: opening[name] for name in settings},
        )

    @describe(
        STEERS,
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
        return jsonify(id=run, status=self._scheduler.control(run, action))

    @describe(
        STARTS,
        "Branch: replace a generated token and continue from there in a new run",
        STARTED,
        *(404, 409, *STARTING_PROBLEMS),
        body=Fork,
    )
    def fork(self, run: str) -> Response:
        """`POST /api/runs/<id>/fork`"""
        opening, chosen = self._lookup.original(run), self._runs.chosen(run)
        prompt = len(opening["tokens"])
        if not chosen:
            raise Problem(409, "The run has generated no token yet that could be replaced.", field="position")
        bounds = {"position": (prompt, prompt + len(chosen) - 1), "token": (0, opening["model"]["vocab"] - 1)}
        branch = body(Fork, bounds)
        self._lookup.same_model(opening, load=True)
        request, visitor = ForkRequest(new_id(), run, branch.position, branch.token, ()), count(self._limits)
        started = self._scheduler.start(request, Requester(*visitor), partial(self._limits.charge, visitor))
        return created(request.run, started)

    @describe(
        DELETES,
        "Delete a run and the runs derived from it; saved sessions stay",
        {204: Answer("the run was deleted")},
        *(404, 409, 503),
    )
    def delete(self, run: str) -> Response:
        """`DELETE /api/runs/<id>`"""
        token = delete_token("run")
        if self._scheduler.leave(run, token):
            return Response(status=204)
        self._lookup.known(run)
        if not self._runs.is_token(run, token):
            raise Problem(403, "This is not the deletion token of this run.", field="Authorization")
        self._scheduler.remove(run)
        return Response(status=204)
