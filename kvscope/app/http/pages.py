"""The Stage, saved sessions and monitoring: `/`, `/s/<id>`, `/embed/<id>`, `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from kvscope.app.engine.engine import Engine
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.supervisor import RESTARTING
from kvscope.app.http.access import DESCRIBES, SENDS, TELLS, declare
from kvscope.app.http.answers import Health, Readiness
from kvscope.app.http.caching import json_response
from kvscope.app.http.languages import gettext
from kvscope.app.http.live import Live
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.requests import ReadyQuery, query
from kvscope.app.http.root import full
from kvscope.app.http.shell import LIMITS, bootstrap_of_runs, bootstrap_of_workloads, renderer
from kvscope.app.http.site import file_of, site
from kvscope.app.store.budget import Budget
from kvscope.app.store.cluster.member import Member
from kvscope.app.store.errors import Damaged, Deleted, Lost, StoreError
from kvscope.app.store.gallery import Example
from kvscope.app.store.manifest import is_workload
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.card import read_card
from kvscope.app.travel.page import opened

NO_LEADER = "The web process with the model has ended; another one takes over."

log = logging.getLogger(__name__)


def blueprint(
    runs: RunLog,
    sessions: SessionStore,
    budget: Budget,
    engine: Pool,
    scheduler: RunScheduler,
    live: Live,
    examples: list[Example],
    shipped: frozenset[str],
    keep_days: int,
    member: Member | None,
) -> Blueprint:
    """Returns the routes. `shipped`: sessions that nobody can delete. `member`: if there are several web processes."""
    routes = Blueprint("pages", __name__)
    render, render_workload = renderer("stage"), renderer("serving")
    bootstrap = bootstrap_of_runs(
        examples=[asdict(example) for example in examples],
        several_models=engine.models.several,
        limits={**LIMITS, "keep_days": keep_days, "disk_bytes": budget.most},
    )

    @routes.get("/")
    @declare(SENDS)
    def stage() -> str | AnyResponse:
        run = request.args.get("run", "")
        if run and _is_workload(runs, run):
            return redirect(url_for("serving.alone", run=run))  # the Stage shows one run
        return render(bootstrap)

    def saved(session: str, **more: Any) -> Response:
        try:
            manifest = sessions.manifest(session)
            card = read_card(sessions, manifest)
        except (KeyError, Deleted, Damaged) as error:
            return _no_session(error, framed="embed" in more)
        addresses = {"id": session, **_for_others(session)}
        session_data = {"session": {**opened(manifest), "shipped": session in shipped}, **more}
        words = {"title": f"{card.title} · KVScope", "card": card, **addresses}
        if manifest.get("workload"):
            shown = render_workload(bootstrap_of_workloads(framed="embed" in more, **session_data), **words)
        else:
            shown = render(bootstrap | session_data, **words)
        response = Response(shown)
        response.headers["Cache-Control"] = "no-cache"
        return response

    @routes.get("/s/<session>")
    @declare(SENDS)
    def session(session: str) -> Response:
        return saved(session)

    @routes.get("/embed/<session>")
    @declare(SENDS)
    def embed(session: str) -> Response:
        return saved(session, embed=True)

    @routes.get("/healthz")
    @describe(DESCRIBES, "Whether the server answers", {200: json_answer("the server answers", Health)})
    def healthz() -> Response:
        return jsonify(status="ok", version=bootstrap["version"])

    @routes.get("/readyz")
    @describe(
        TELLS,
        "Whether the model can be used",
        {
            200: json_answer("the model is ready", Readiness),
            503: json_answer("the model is not ready; `message` has the reason", Readiness),
        },
        422,
        query=ReadyQuery,
    )
    def readyz() -> Response:
        name = query(ReadyQuery).model
        model = engine.named(name) if name else None
        readiness = engine.readiness if model is None else engine.readiness_of(model)
        if member is not None and not member.leads:
            readiness = replace(RESTARTING, message=NO_LEADER)
        try:
            runs.check()
        except Lost as error:
            readiness = replace(readiness, state="failed", phase="failed", message=str(error))
        answer = {**asdict(readiness), "compiling": False, "model": engine.info_of(model or engine.models.first)}
        return json_response(answer, "no-store", 200 if readiness.state == "ready" else 503)

    @routes.get("/metrics")
    @describe(TELLS, "Metrics for Prometheus", {200: Answer("text exposition format 0.0.4", {"text/plain": str})})
    def metrics() -> Response:
        """`GET /metrics`: the text exposition format 0.0.4 of Prometheus."""
        of_runs, of_sessions = runs.totals(), sessions.totals()
        values = {
            "kvscope_runs_open": len(runs.open_runs()),
            "kvscope_runs_waiting": scheduler.waiting,
            "kvscope_runs_set_aside": scheduler.evicted,
            "kvscope_runs_stored": of_runs["runs"],
            "kvscope_frames_stored": of_runs["frames"],
            "kvscope_bytes_stored": of_runs["bytes"] + of_sessions["bytes"],
            "kvscope_bytes_of_runs": of_runs["bytes"],
            "kvscope_bytes_of_sessions": of_sessions["bytes"],
            "kvscope_bytes_on_disk": budget.on_disk(),
            "kvscope_bytes_budget": budget.most,
            "kvscope_sessions_stored": of_sessions["sessions"],
            "kvscope_viewers": live.viewers + (member.following().viewers if member is not None else 0),
            "kvscope_engine_ready": int(engine.readiness.state == "ready"),
            "kvscope_engine_restarts": engine.restarts,
        }
        lines = [f"# TYPE {name} gauge\n{name} {value}\n" for name, value in values.items()]
        lines += _of_each(engine)
        return Response("".join(lines), content_type="text/plain; version=0.0.4; charset=utf-8")

    return routes


def _of_each(pool: Pool) -> Iterator[str]:
    """Yields the metrics of each engine, labelled with its name."""
    engines = pool.engines
    values: dict[str, Callable[[Engine], int]] = {
        "kvscope_engine_up": lambda engine: int(engine.state in ("ready", "draining")),
        "kvscope_engine_draining": lambda engine: int(engine.draining),
        "kvscope_engine_runs_open": lambda engine: len(engine.storing.runs),
        "kvscope_engine_blocks_free": lambda engine: engine.supervisor.room,
        "kvscope_engine_starts": lambda engine: engine.supervisor.restarts + 1,
        "kvscope_engine_tokens": lambda engine: engine.storing.tokens,
    }
    for name, value in values.items():
        yield f"# TYPE {name} gauge\n"
        yield from (f'{name}{{engine="{engine.name}"}} {value(engine)}\n' for engine in engines)


def _for_others(session: str) -> dict[str, str]:
    """Returns a session's addresses for other sites: its page, its picture, and how to embed it."""
    thumbnail = full(f"/api/sessions/{session}.png")
    if (written := site()) is None:
        oembed = url_for("oembed.oembed", url=request.url, _external=True)
        return {"link": full(f"/s/{session}"), "thumbnail": thumbnail, "oembed": oembed}
    # Without the site's address, no address of an embed works elsewhere.
    oembed = full(f"/oembed/{session}.json") if written.address else ""
    return {"link": full(f"/{file_of(f'/s/{session}')}"), "thumbnail": thumbnail, "oembed": oembed}


def _is_workload(runs: RunLog, run: str) -> bool:
    """Returns whether the run is a workload. False if the database cannot be read: the page then says so."""
    try:
        return runs.head(run) is not None and is_workload(runs.opening(run))
    except StoreError:
        return False


def _no_session(error: Exception, framed: bool) -> Response:
    match error:
        case Deleted():
            status = 410
            heading, text = gettext("This session was deleted"), gettext("The person who shared it has deleted it.")
        case Damaged():
            log.error("%s", error)
            status = 500
            heading = gettext("This session is damaged")
            text = gettext("Its stored data has changed. See the server log.")
        case _:
            status = 404
            heading, text = gettext("There is no such session"), gettext("Check that the link is complete.")
    return Response(render_template("message.html", heading=heading, text=text, framed=framed), status)
