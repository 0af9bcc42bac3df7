"""`/api/runs/<id>/twin`, `/beam`, `/change`, `/family`: runs derived from another, and all runs of a family."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from flask import Blueprint, Response, jsonify

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Requester
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.http.access import READS_STATE, STARTS, count
from kvscope.app.http.answers import Family, Parent
from kvscope.app.http.answers import Member as TellsOfMember
from kvscope.app.http.limits import Limits
from kvscope.app.http.lookup import STARTED, STARTING_PROBLEMS, RunLookup, created, state_of
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import Beam, FamilyQuery, Twin, body, query
from kvscope.app.run_bodies import ChangeRun, new_id
from kvscope.app.store.family import Member
from kvscope.app.store.runs import RunLog
from kvscope.model.api import BeamRequest, Caching, ChangedRequest, TwinRequest


def blueprint(
    runs: RunLog, engine: Pool, scheduler: RunScheduler, limits: Limits, public: Collection[str]
) -> Blueprint:
    """Returns the routes. `public`: runs whose ids everybody has."""
    routes = Blueprint("studies", __name__, url_prefix="/api/runs")
    api = StudyRoutes(runs, engine, scheduler, limits, public)
    routes.post("/<run>/twin")(api.twin)
    routes.post("/<run>/beam")(api.beam)
    routes.post("/<run>/change")(api.change)
    routes.get("/<run>/family")(api.family)
    return routes


class StudyRoutes:
    """One method per route."""

    def __init__(
        self, runs: RunLog, engine: Pool, scheduler: RunScheduler, limits: Limits, public: Collection[str]
    ) -> None:
        self._runs, self._scheduler, self._limits, self._public = runs, scheduler, limits, public
        self._lookup = RunLookup(runs, engine)

    @describe(
        STARTS,
        "Repeat a run without the KV cache, with a cleared one, or with some of its positions alone",
        STARTED,
        *(404, 409, *STARTING_PROBLEMS),
        body=Twin,
    )
    def twin(self, run: str) -> Response:
        """`POST /api/runs/<id>/twin`"""
        opening = self._lookup.original(run)
        steps = [seq for seq, _ in self._runs.chosen(run)]
        parameters = body(Twin, {"budget": (1, max(1, len(opening["tokens"]) + len(steps) - 1))})
        if not self._lookup.known(run).closed:
            raise Problem(409, "The run has not ended. It can be repeated after it ends.", field="run")
        if not steps:
            raise Problem(409, "The run has no complete step to repeat.", field="run")
        self._lookup.same_model(opening, load=True)
        caching: Caching = (
            "none" if parameters.cache == "none" else "forgotten" if parameters.cache == "forgotten" else "kept"
        )
        return self._started(TwinRequest(new_id(), run, caching, (), parameters.keeping()))

    @describe(
        STARTS,
        "Start a beam search at a step of a run",
        STARTED,
        *(404, 409, *STARTING_PROBLEMS),
        body=Beam,
    )
    def beam(self, run: str) -> Response:
        """`POST /api/runs/<id>/beam`"""
        self._lookup.known(run)
        steps = self._lookup.steps(run)
        parameters = body(Beam, steps.bounds())
        self._lookup.same_model(steps.opening, load=True)
        ids = steps.before(parameters.step)
        return self._started(BeamRequest(new_id(), run, parameters.step, parameters.beams, parameters.length, ids, b""))

    @describe(
        STARTS,
        "Repeat a run with changes to what the model computes",
        STARTED,
        *(404, 409, *STARTING_PROBLEMS),
        body=ChangeRun,
    )
    def change(self, run: str) -> Response:
        """`POST /api/runs/<id>/change`"""
        opening = self._lookup.original(run)
        parameters = body(ChangeRun)
        self._lookup.same_model(opening, load=True)
        return self._started(ChangedRequest(new_id(), run, tuple(parameters.changes), ()), study=False)

    def _started(self, request: TwinRequest | ChangedRequest | BeamRequest, *, study: bool = True) -> Response:
        visitor = count(self._limits)
        charge = partial(self._limits.charge, visitor)
        return created(request.run, self._scheduler.start(request, Requester(*visitor), charge, study=study))

    @describe(
        READS_STATE,
        "All runs connected with this run: branches, repeated runs and beam searches",
        {200: json_answer("the runs", Family)},
        *(404, 422),
        query=FamilyQuery,
    )
    def family(self, run: str) -> Response:
        """`GET /api/runs/<id>/family?known=`"""
        self._lookup.known(run)
        members = self._runs.family(run, self._public, query(FamilyQuery).known.split(","))
        return jsonify(root=members[0].run, runs=[self._member_answer(member) for member in members])

    def _member_answer(self, member: Member) -> TellsOfMember:
        return {
            "id": member.run,
            "parent": _parent(member),
            "study": member.opening.get("study"),
            "changed": member.opening.get("changed"),
            "status": state_of(member.run, member.closing is not None, self._scheduler),
            "reason": member.closing["reason"] if member.closing else None,
            "steps": member.steps,
            "created": member.opening["created"],
        }


def _parent(member: Member) -> Parent | None:
    """Returns where the run branched off, and its token there."""
    parent, token = member.opening.get("parent"), member.token
    if not parent or token is None:
        return None
    return {
        "run": parent["run"],
        "position": parent["position"],
        "token": {"id": token["id"], "text": token["text"]},
    }
