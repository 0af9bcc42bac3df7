"""`/api/engines`: list, add and drain the engines of this server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Blueprint, Response, request
from pydantic import Field
from typing_extensions import TypedDict

from kvscope.app.engine.engine import Engine
from kvscope.app.engine.pool import LastEngine, NoSuchEngine, Pool
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.vitals import resident_bytes
from kvscope.app.http.access import MANAGES
from kvscope.app.http.answers import Count, Positive
from kvscope.app.http.caching import json_response
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import client_of
from kvscope.app.settings import MAX_ENGINES

Seconds = Annotated[float, Field(ge=0)]
HERE_ONLY = "Without a token, engines can be managed only from the machine that the server is on."


class EngineProcess(TypedDict):
    """`pid` and the members after it are null while this machine has no engine process."""

    name: str
    model: Annotated[str, Field(description="As `/api/models` names it")]
    state: Literal["fetching", "loading", "ready", "failed", "restarting"]
    message: str
    pid: Positive | None
    uptime_s: Seconds | None
    resident_bytes: Count | None
    load_s: Annotated[Seconds | None, Field(description="Duration of the last start, without what it fetched")]
    restarts: Count
    open_runs: Count


class ManagedEngine(EngineProcess):
    """`machine`: in the Ray cluster; empty for the server's own machine."""

    machine: str
    draining: bool
    free_blocks: Annotated[Count, Field(description="Blocks of the KV cache that no open run may need")]


class ManagedEngines(TypedDict):
    engines: list[ManagedEngine]


def summary_of(engine: Engine) -> EngineProcess:
    """Returns an engine's entry of the state page."""
    supervisor = engine.supervisor
    readiness, pid = supervisor.readiness, supervisor.pid
    return {
        "name": engine.name,
        "model": engine.model.name,
        "state": readiness.state,  # type: ignore[typeddict-item]  # Readiness lists them
        "message": readiness.message,
        "pid": pid,
        "uptime_s": supervisor.uptime_s,
        "resident_bytes": None if pid is None else resident_bytes(pid),
        "load_s": supervisor.load_s,
        "restarts": supervisor.restarts,
        "open_runs": len(engine.storing.runs),
    }


def _managed(engine: Engine) -> ManagedEngine:
    supervisor = engine.supervisor
    more: Any = {"machine": supervisor.machine, "draining": engine.draining, "free_blocks": supervisor.room}
    return {**summary_of(engine), **more}  # type: ignore[typeddict-item]  # mypy does not look into `more`


def blueprint(pool: Pool, scheduler: RunScheduler, has_token: bool) -> Blueprint:
    """Returns the routes. `has_token`: the server has a token, which the routes then require."""
    routes = Blueprint("engines", __name__, url_prefix="/api/engines")

    def listed(status: int = 200) -> Response:
        return json_response({"engines": [_managed(engine) for engine in pool.engines]}, "no-store", status)

    @routes.before_request
    def here_or_with_token() -> None:
        if not has_token and not client_of(request).is_here:
            raise Problem(403, HERE_ONLY)

    @routes.get("")
    @describe(MANAGES, "List the engines", {200: json_answer("the engines", ManagedEngines)}, 403)
    def engines() -> Response:
        return listed()

    @routes.post("")
    @describe(MANAGES, "Add an engine", {201: json_answer("the engines", ManagedEngines)}, *(403, 409))
    def add() -> Response:
        if len(pool.engines) >= MAX_ENGINES:
            raise Problem(409, f"There are {MAX_ENGINES} engines, the most allowed.", limit=MAX_ENGINES)
        pool.add()
        return listed(201)

    @routes.post("/<name>/drain")
    @describe(
        MANAGES,
        "Give an engine no further runs, and end it with its last one",
        {202: json_answer("the engines", ManagedEngines)},
        *(403, 404, 409),
    )
    def drain(name: str) -> Response:
        try:
            scheduler.drain(name)
        except NoSuchEngine:
            names = [engine.name for engine in pool.engines]
            raise Problem(404, f"There is no engine {name[:40]!r}; there are {', '.join(names)}.") from None
        except LastEngine:
            raise Problem(409, "The only engine that takes runs cannot be drained. Add another first.") from None
        return listed(202)

    return routes
