"""`/api/runs/<id>/share`: save an ended run as a session, with the requested exact values."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for

from kvscope.app.bodies import Bounds
from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.values import ValueMaker
from kvscope.app.http.access import READS_STATE, SHARES, count
from kvscope.app.http.answers import ShareChoices, Shared
from kvscope.app.http.caching import json_response
from kvscope.app.http.limits import Limits
from kvscope.app.http.lookup import RunLookup
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import body
from kvscope.app.store.budget import Budget
from kvscope.app.store.head import Head
from kvscope.app.store.manifest import is_workload
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.value_parts import Level
from kvscope.app.travel.words import MAX_SHARE_BYTES, Share, bounds_of, bounds_of_workload
from kvscope.model.api import ValueLevel

LEVELS: tuple[ValueLevel, ...] = ("qkv", "block")
"""Levels whose values are computed; the level "attention" is the log alone."""


class ShareRoutes:
    """One method per route."""

    def __init__(
        self,
        runs: RunLog,
        sessions: SessionStore,
        budget: Budget,
        engine: Pool,
        maker: ValueMaker,
        limits: Limits,
    ) -> None:
        self._runs, self._sessions, self._budget = runs, sessions, budget
        self._maker, self._limits = maker, limits
        self._lookup = RunLookup(runs, engine)

    @describe(
        READS_STATE,
        "Sizes that an ended run would have as a saved session, by level of exact values",
        {200: json_answer("the size of each level, and the progress of one being computed", ShareChoices)},
        *(404, 409),
    )
    def choices(self, run: str) -> Response:
        """`GET /api/runs/<id>/share`: what each level takes, and how far the one that is being computed is."""
        opening, head, steps = self._shareable(run)
        levels: dict[str, Any] = {"attention": {"bytes": head.bytes, "estimated": False, "refusal": None}}
        for level in LEVELS:
            values = self._size_of(run, opening, level)
            refusal = self._refusal(opening, level, values)
            levels[level] = {"bytes": head.bytes + values, "estimated": True, "refusal": refusal and refusal.detail}
        done = self._maker.progress(run)
        computing = None if done is None else {"done": done, "steps": steps}
        return json_response({"levels": levels, "computing": computing}, "no-store")

    @describe(
        SHARES,
        "Save an ended run as a session",
        {201: json_answer("the session was saved", Shared, "Location")},
        *(400, 404, 409, 413, 415, 422, 503, 507),
        body=Share,
    )
    def share(self, run: str) -> Response:
        """`POST /api/runs/<id>/share`"""
        with self._runs.held(run):  # making room is not to take the run itself
            return self._share(run)

    def _share(self, run: str) -> Response:
        opening, head, steps = self._shareable(run)
        request.max_content_length = MAX_SHARE_BYTES
        words = body(Share, _bounds(opening, steps))
        values = self._size_of(run, opening, words.values)
        if words.values != "attention" and (refusal := self._refusal(opening, words.values, values)):
            raise refusal
        visitor = count(self._limits)
        with self._budget.room_for_session(head.bytes + values):
            self._limits.charge(visitor, head.bytes + values)
            if words.values == "attention":
                session, token = self._sessions.share(run, words.words())
            else:
                session, token = self._maker.share(run, words.words(), words.values)
        return saved(session, token)

    def _shareable(self, run: str) -> tuple[dict[str, Any], Head, int]:
        """Returns its `open` data, the end of its log, and its number of steps, or of passes."""
        opening, head = self._lookup.whole(run), self._lookup.known(run)
        if not head.closed:
            raise Problem(409, "The run has not ended. It can be shared after it ends.", field="run")
        served = is_workload(opening)
        steps, what = (self._runs.passes(run), "pass") if served else (head.steps, "step")
        if not steps:
            raise Problem(409, f"The run has no complete {what} to show.", field="run")
        return opening, head, steps

    def _size_of(self, run: str, opening: dict[str, Any], level: Level) -> int:
        """Estimates the bytes of its exact values."""
        return 0 if level == "attention" or is_workload(opening) else self._maker.estimate(run, level)

    def _refusal(self, opening: dict[str, Any], level: Level, size: int) -> Problem | None:
        """Returns why values of that size cannot be computed; None if they can."""
        if is_workload(opening):
            return Problem(409, "values must be attention: a workload has no exact values.", field="values")
        if level == "block" and opening["model"]["experts"]:
            detail = "values must be attention or qkv: a session cannot store what is inside experts."
            return Problem(409, detail, field="values", limit=["attention", "qkv"])
        most = self._maker.most_bytes
        try:
            self._lookup.same_model(opening)
        except EngineUnavailable as why:
            return Problem(503, f"The model is not ready: {why}", field="values", retry_after=2)
        except Problem as other:
            return Problem(other.status, other.detail, field="values", limit=other.limit)
        if size > most:
            detail = f"The exact values need about {size:,} bytes; the limit is {most:,} bytes."
            return Problem(413, detail, field="values", limit=most)
        return None


def _bounds(opening: dict[str, Any], steps: int) -> Bounds:
    """Returns the places that its words can name."""
    if is_workload(opening):
        return bounds_of_workload(steps)
    model, positions = opening["model"], len(opening["tokens"]) + steps
    return bounds_of(model["layers"], model["heads"], steps, positions)


def saved(session: str, token: str) -> Response:
    """Answers 201 for a saved session, with its addresses and the token that deletes it."""
    addresses = {"url": url_for("pages.session", session=session), "embed": url_for("pages.embed", session=session)}
    response = json_response({"id": session, **addresses, "delete_token": token}, "no-store", 201)
    response.headers["Location"] = url_for("sessions.saved.manifest", session=session)
    return response
