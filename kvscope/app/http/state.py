"""`/api/state`: where this server holds the weights, the KV cache and the log, their sizes, and its speed.

Totals only: nothing identifies a run's owner, and no path is named.
"""

from __future__ import annotations

import os
import time
from typing import Annotated, Any, Literal

from flask import Blueprint, Response
from pydantic import Field
from typing_extensions import TypedDict

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.vitals import resident_bytes
from kvscope.app.http.access import COMPUTES
from kvscope.app.http.answers import Count, Positive
from kvscope.app.http.caching import json_response
from kvscope.app.http.engines import EngineProcess, Seconds, summary_of
from kvscope.app.http.live import Live
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.reads import Reads
from kvscope.app.store.budget import Budget
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.schema import ByFormat


class Process(TypedDict):
    """`resident_bytes`: memory as the system counts it; null on systems that do not."""

    pid: Positive
    uptime_s: Seconds
    resident_bytes: Count | None


class WebProcess(Process):
    viewers: Annotated[Count, Field(description="Live connections")]


class HeldWeights(TypedDict):
    """`bytes`: in memory; `stored`: in the model's file."""

    model: str
    device: str
    parameters: Count
    bytes: ByFormat
    stored: ByFormat


class HeldCache(TypedDict):
    """The cache pool, measured on its tensor. A block in use may belong to a run that has ended, until it is needed."""

    device: str
    dtype: str
    bytes: Count
    position_bytes: Positive
    block_size: Positive
    blocks: Positive
    free_blocks: Count


class HeldLog(TypedDict):
    """`bytes`: of the frames of all runs; `disk_bytes`: of the database's files, or of its tables."""

    database: Literal["sqlite", "postgresql"]
    runs: Count
    open_runs: Count
    queued_runs: Count
    evicted_runs: Count
    frames: Count
    bytes: Count
    sessions: Count
    session_bytes: Count
    disk_bytes: Count


class Taken(TypedDict):
    """Steps that shared no pass: their number, rows through the model, duration of the passes, and how many of the
    steps other programs disturbed.
    """

    steps: Count
    rows: Count
    ms: Annotated[float, Field(ge=0)]
    disturbed: Count


class MeasuredPace(TypedDict):
    prefill: Taken
    decode: Taken


class State(TypedDict):
    """`engine`: the first of `engines`. `weights`, `cache`, `pace`: of the engine with the fewest runs among those with
    the model of the first ready engine; null if no engine is ready.
    """

    web: WebProcess
    engine: EngineProcess
    engines: list[EngineProcess]
    weights: HeldWeights | None
    cache: HeldCache | None
    pace: MeasuredPace | None
    log: HeldLog


def blueprint(
    runs: RunLog,
    sessions: SessionStore,
    budget: Budget,
    engine: Pool,
    scheduler: RunScheduler,
    live: Live,
    reads: Reads,
) -> Blueprint:
    """Returns the route. The web process's uptime counts from this call."""
    routes = Blueprint("state", __name__)
    started = time.monotonic()

    @routes.get("/api/state")
    @describe(
        COMPUTES,
        "What this server holds: weights, KV cache and log, by process and device",
        {200: json_answer("totals, measured now", State)},
        503,
    )
    def state() -> Response:
        pid = os.getpid()
        web = {"pid": pid, "uptime_s": time.monotonic() - started, "resident_bytes": resident_bytes(pid)}
        engines = [summary_of(one) for one in engine.engines]
        answer = {
            "web": {**web, "viewers": live.viewers},
            "engine": engines[0],
            "engines": engines,
            **_held(engine, reads),
            "log": _log(runs, sessions, budget, scheduler),
        }
        return json_response(answer, "no-store")

    return routes


def _held(engine: Pool, reads: Reads) -> dict[str, Any]:
    """Returns what the engine process reports that it holds."""
    first = next((one for one in engine.engines if one.supervisor.info is not None), None)
    model = None if first is None else first.supervisor.info
    try:
        totals = None if first is None else reads.ask_again("held", model=first.model)
    except EngineUnavailable:
        totals = None
    if model is None or totals is None:
        return {"weights": None, "cache": None, "pace": None}
    weights = {
        "model": model["name"],
        "device": model["device"],
        "parameters": model["parameters"],
        "bytes": totals["weights"],
        "stored": model["weights"]["stored"],
    }
    return {"weights": weights, "cache": {"device": model["device"], **totals["cache"]}, "pace": totals["pace"]}


def _log(runs: RunLog, sessions: SessionStore, budget: Budget, scheduler: RunScheduler) -> dict[str, Any]:
    stored, saved = runs.totals(), sessions.totals()
    return {
        "database": runs.engine.dialect.name,
        "runs": stored["runs"],
        "open_runs": len(runs.open_runs()),
        "queued_runs": scheduler.waiting,
        "evicted_runs": scheduler.evicted,
        "frames": stored["frames"],
        "bytes": stored["bytes"],
        "sessions": saved["sessions"],
        "session_bytes": saved["bytes"],
        "disk_bytes": budget.on_disk(),
    }
