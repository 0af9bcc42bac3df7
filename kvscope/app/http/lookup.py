"""Finds runs for the routes, and builds answers that several routes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Protocol

from flask import Response, request, url_for

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.run_scheduler import RunScheduler, Started
from kvscope.app.http.answers import Created, Queued, Status
from kvscope.app.http.caching import json_response
from kvscope.app.http.openapi import json_answer
from kvscope.app.http.problems import Problem, unknown
from kvscope.app.http.questions import Steps
from kvscope.app.store.head import Head
from kvscope.app.store.manifest import is_workload
from kvscope.model.api import called

STARTED = {
    201: json_answer("the run has started", Created, "Location"),
    202: json_answer("the run is queued", Queued, "Location"),
}
"""Answers of every route that starts a run."""
STARTING_PROBLEMS = (400, 413, 415, 422, 503, 507)
"""Problem statuses of every route that starts a run."""


class Log(Protocol):
    """How runs and saved sessions are read (each method as in app.store.runs.RunLog)."""

    def head(self, run: str, /) -> Head | None:
        """Returns where the log ends."""
        ...

    def opening(self, run: str, /) -> dict[str, Any]:
        """Returns data of the `open` frame."""
        ...

    def chosen(self, run: str, /) -> list[tuple[int, int]]:
        """For each complete step: seq of its `step` frame, id of its token."""
        ...

    def all_frames(self, run: str, after: int = -1, /) -> Iterator[bytes]:
        """Payloads of the frames after seq `after`."""
        ...


class RunLookup:
    """Finds runs and checks what can be asked about them. Methods raise Problem. `noun`: what an id names."""

    def __init__(self, runs: Log, engine: Pool, noun: str = "run") -> None:
        self._runs, self._engine, self._noun = runs, engine, noun

    def known(self, run: str) -> Head:
        """Returns where the run's log ends."""
        head = self._runs.head(run)
        if head is None:
            raise unknown(self._noun, run)
        return head

    def original(self, run: str) -> dict[str, Any]:
        """Returns the `open` data of a run that was not derived: a derived run's values cannot be computed from its
        tokens.
        """
        opening = self.whole(run)
        if is_workload(opening):
            raise Problem(409, "This is a workload, not a run.", field="run")
        return opening

    def whole(self, run: str) -> dict[str, Any]:
        """Returns the `open` data of a run or a workload. For a derived run, the Problem names the original run."""
        self.known(run)
        opening = self._runs.opening(run)
        study = opening.get("study")
        if study is not None and not is_workload(opening):
            raise Problem(409, f"This run was derived from the run {study['of']}; use that run instead.", field="run")
        return opening

    def steps(self, run: str, first: int = 0) -> Steps:
        """Returns the run's complete steps, at least one of which is `first` or later."""
        opening, chosen = self.original(run), self._runs.chosen(run)
        if len(chosen) <= first:
            missing = "complete step" if first == 0 else "decode step"
            raise Problem(409, f"The run has no {missing} yet.", field="step")
        return Steps(opening, chosen, first)

    def same_model(self, opening: dict[str, Any], *, load: bool = False) -> ServedModel:
        """Returns the model that computed a run, the only one that can compute its values again. `load`: load it if
        needed.

        Raises EngineUnavailable until it is loaded; Refused as Pool.load.
        """
        models, loaded = self._engine.models, self._engine.info
        if loaded is None and not models.several:
            raise EngineUnavailable(self._engine.readiness.message)
        model = self._engine.serving(opening["model"])
        if model is None:
            names = [model.name for model in models.all] if loaded is None or models.several else [called(loaded)]
            has = "has" if models.several else "has loaded"
            detail = f"The run was computed by {called(opening['model'])}; this server {has} {', '.join(names)}."
            raise Problem(409, detail, field="model", limit=names)
        model.touch()
        if load:
            self._engine.require(model)
        else:
            self._engine.refuse_unloaded(model)
        return model


def state_of(run: str, closed: bool, scheduler: RunScheduler) -> Status:
    """Returns the state of a run."""
    if closed:
        return "closed"
    return "paused" if scheduler.is_paused(run) else "running" if scheduler.waits(run) is None else "queued"


def created(run: str, started: Started, url: str | None = None) -> Response:
    """Answers 201 for a started run or 202 for a queued one, with its address and its deletion token.

    `url`: the page that shows it, if not the Stage.
    """
    waits = {} if started.waits is None else {"status": "queued", **asdict(started.waits)}
    answer = {"id": run, "url": url or page_of(run), "delete_token": started.token, **waits}
    response = json_response(answer, "no-store", 202 if waits else 201)
    response.headers["Location"] = url_for("runs.status", run=run)
    return response


def delete_token(given_with: str) -> str:
    """Returns the request's deletion token. Raises Problem if it has none."""
    return bearer(f"The deletion token that was issued with the {given_with}")


def bearer(what: str) -> str:
    """Returns the token in the request's Authorization header. `what`: names it. Raises Problem if there is none."""
    authorization = request.authorization
    if authorization is None or authorization.type != "bearer" or not authorization.token:
        detail = f"{what} is required, as Authorization: Bearer …"
        raise Problem(401, detail, field="Authorization", headers={"WWW-Authenticate": "Bearer"})
    return authorization.token


def page_of(run: str) -> str:
    """Returns the address of the page that shows the run."""
    return url_for("pages.stage", run=run)
