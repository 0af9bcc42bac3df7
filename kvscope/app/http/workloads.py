"""`/api/workloads`: several requests that the engine serves together. Their log is read as a run's."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, jsonify, request, url_for

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Requester
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.http.access import STARTS, STEERS, count
from kvscope.app.http.answers import Joined
from kvscope.app.http.limits import Limits
from kvscope.app.http.lookup import STARTED, STARTING_PROBLEMS, RunLookup, created
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import body
from kvscope.app.run_bodies import new_id
from kvscope.app.store.runs import RunLog
from kvscope.model.api import JoinRequest, WorkloadRequest
from kvscope.model.log.frames import MAX_OPENING_BYTES
from kvscope.model.settings import Join, Workload

OVER = "The workload has ended. Its requests can no longer be changed."


def blueprint(runs: RunLog, engine: Pool, scheduler: RunScheduler, limits: Limits) -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("workloads", __name__, url_prefix="/api/workloads")
    lookup = RunLookup(runs, engine)

    def refuse_over(run: str) -> None:
        if lookup.known(run).closed:
            raise Problem(409, OVER, field="run")

    @routes.post("")
    @describe(
        STARTS,
        "Start a workload: serve several requests together, once per round of settings",
        STARTED,
        *STARTING_PROBLEMS,
        body=Workload,
    )
    def workload() -> Response:
        request.max_content_length = MAX_OPENING_BYTES  # its prompts are in the first frame of the log
        parameters, visitor, run = body(Workload), count(limits), new_id()
        started = scheduler.start(
            WorkloadRequest(run, parameters), Requester(*visitor), partial(limits.charge, visitor), study=True
        )
        return created(run, started, url_for("serving.alone", run=run))

    @routes.post("/<run>/requests")
    @describe(
        STARTS,
        "Add a request to a running workload of one round; it arrives now",
        {201: json_answer("the request was added", Joined)},
        *(400, 404, 409, 413, 415, 422, 503),
        body=Join,
    )
    def join(run: str) -> Response:
        refuse_over(run)
        parameters = body(Join)
        count(limits)
        response = jsonify(id=run, request=scheduler.join(JoinRequest(run, parameters)))
        response.status_code = 201
        return response

    @routes.delete("/<run>/requests/<int:number>")
    @describe(
        STEERS,
        "Cancel a waiting or running request of a workload of one round, by its number",
        {204: Answer("the request was cancelled")},
        *(404, 409, 503),
    )
    def leave(run: str, number: int) -> Response:
        refuse_over(run)
        scheduler.leave_workload(run, number)
        return Response(status=204)

    return routes
