"""`/api/runs/<id>/twin`, `/beam` and `/family`: runs made to learn about another, and what belongs together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flask import Blueprint, Response, jsonify

from kvscope.app.engine.link import EngineLink
from kvscope.app.http.answers import Created, Family, Member, Parent
from kvscope.app.http.lookup import STARTING_PROBLEMS, RunLookup, created
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import Beam, FamilyQuery, Twin, body, new_id, query
from kvscope.app.store.runs import RunLog
from kvscope.model.api import BeamRequest, TwinRequest
from kvscope.model.log.frames import header


def blueprint(runs: RunLog, engine: EngineLink, public: Collection[str]) -> Blueprint:
    """The routes, over this log and this engine. `public`: the runs whose ids everybody has."""
    routes = Blueprint("studies", __name__, url_prefix="/api/runs")
    api = StudyRoutes(runs, engine, public)
    routes.post("/<run>/twin")(api.twin)
    routes.post("/<run>/beam")(api.beam)
    routes.get("/<run>/family")(api.family)
    return routes


class StudyRoutes:
    """One method per route."""

    def __init__(self, runs: RunLog, engine: EngineLink, public: Collection[str]) -> None:
        self._runs, self._engine, self._public = runs, engine, public
        self._lookup = RunLookup(runs, engine)

    @describe(
        "Run the same again without a cache, or with one that forgets",
        {201: json_answer("it runs", Created, "Location")},
        *(404, 409, *STARTING_PROBLEMS),
        body=Twin,
    )
    def twin(self, run: str) -> Response:
        """`POST /api/runs/<id>/twin`"""
        opening, asked = self._lookup.original(run), body(Twin)
        if not self._lookup.known(run).closed:
            raise Problem(409, "The run has not ended: how many steps its twin takes is not known yet.", field="run")
        steps = [seq for seq, _ in self._runs.chosen(run)]
        if not steps:
            raise Problem(409, "The run has no complete step that a twin could repeat.", field="run")
        self._lookup.same_model(opening)
        frames = [self._runs.frames(run, seq - 1, 1)[0] for seq in (0, *steps)]
        twin = new_id()
        self._engine.study_run(TwinRequest(twin, run, asked.cache, tuple(frames)))
        return created(twin)

    @describe(
        "Search with beams from a step on",
        {201: json_answer("it runs", Created, "Location")},
        *(404, 409, *STARTING_PROBLEMS),
        body=Beam,
    )
    def beam(self, run: str) -> Response:
        """`POST /api/runs/<id>/beam`"""
        self._lookup.known(run)
        steps = self._lookup.steps(run)
        asked = body(Beam, steps.bounds)
        self._lookup.same_model(steps.opening)
        search = new_id()
        opened = self._runs.frames(run, -1, 1)[0]
        ids = steps.before(asked.step)
        self._engine.study_run(BeamRequest(search, run, asked.step, asked.beams, asked.length, ids, opened))
        return created(search)

    @describe(
        "All runs that a fork or a study connects with this one",
        {200: json_answer("the runs", Family)},
        *(404, 422),
        query=FamilyQuery,
    )
    def family(self, run: str) -> Response:
        """`GET /api/runs/<id>/family?known=`"""
        self._lookup.known(run)
        known = query(FamilyQuery).known.split(",")
        members = self._runs.family(run, self._public, known)
        return jsonify(root=members[0], runs=[self._member(member) for member in members])

    def _member(self, run: str) -> Member:
        opening, closing = self._runs.opening(run), self._runs.closing(run)
        head = self._lookup.known(run)
        return {
            "id": run,
            "parent": self._parent(run, opening),
            "study": opening.get("study"),
            "status": self._lookup.state(run, head),
            "reason": closing["reason"] if closing else None,
            "steps": head.steps,
            "created": opening["created"],
        }

    def _parent(self, run: str, opening: dict[str, Any]) -> Parent | None:
        """Where the run branched off, with the token it was given there, which its own log names."""
        parent = opening["parent"]
        if parent is None:
            return None
        seq, token = self._runs.chosen(run)[parent["position"] - len(opening["tokens"])]
        text = header(self._runs.frames(run, seq - 1, 1)[0]).data["token"]["text"]
        return {"run": parent["run"], "position": parent["position"], "token": {"id": token, "text": text}}
