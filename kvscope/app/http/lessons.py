"""`/learn`, `/learn/<lesson>`, `/embed/learn/<lesson>` and `/api/lessons/…`: lessons beside the live page.

The page of a lesson includes the lesson computed over its own recording. For another run, the page requests it again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, jsonify, render_template, url_for
from pydantic import Field

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.http.access import COMPUTES, READS, SENDS, WORKS_OUT, count, declare, refuse_other_sites
from kvscope.app.http.answers import LessonList, LessonTemplate, RenderedLesson
from kvscope.app.http.caching import json_response
from kvscope.app.http.languages import gettext
from kvscope.app.http.limits import Limits
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.problems import unknown
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import Query, query
from kvscope.app.http.shell import renderer
from kvscope.app.http.site import site
from kvscope.app.learn.compute import Computer
from kvscope.app.learn.facts import ByHand, Facts, Pending, facts_of, no_run
from kvscope.app.learn.file import lesson_file
from kvscope.app.learn.library import Library
from kvscope.app.learn.parse import Lesson
from kvscope.app.learn.render import rendered
from kvscope.app.learn.template import template_of
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.file import of_session
from kvscope.app.travel.page import SessionPage
from kvscope.model.by_hand.examples import EXAMPLES
from kvscope.model.log.reader import LogReader


class LessonQuery(Query):
    run: str = Field("", max_length=64, description="id of a run; without it, the lesson's own recording")


def blueprint(library: Library, runs: RunLog, sessions: SessionStore, reads: Reads, limits: Limits) -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("lessons", __name__)
    render = renderer("learn")

    def listed() -> list[dict[str, Any]]:
        return [asdict(lesson) for lesson in library.listed]

    def by_hand(example: str) -> dict[str, Any]:
        if example not in EXAMPLES:
            raise LookupError(f"there is no worked example {example}; there are {', '.join(EXAMPLES)}")
        try:
            return dict(reads.ask("by_hand", EXAMPLES[example]))
        except EngineUnavailable:
            raise Pending(gettext("the model is not ready yet")) from None

    def later(example: str) -> dict[str, Any]:
        """Leaves a worked example to the page's script: the request for a page asks the engine nothing."""
        raise Pending(gettext("the worked examples are computed in a moment"))

    def answer(lesson: Lesson, by_hand: ByHand, run: str = "") -> dict[str, Any]:
        """Computes the lesson over a run of the log, or over its own recording."""
        recording = library.recording(lesson)
        of: dict[str, Any] = {"run": None, "session": None, "logged": False, "own": False}
        facts: Facts = no_run(by_hand)
        if run:
            if runs.head(run) is None:
                raise unknown("run", run)
            of, facts = {**of, "run": run, "own": True}, facts_of(LogReader(runs.all_frames(run)), by_hand)
        elif recording is not None:
            log = library.log(recording)
            session = recording.card and recording.card.id
            of = {**of, "run": log.run, "session": session, "logged": recording.example is not None and site() is None}
            facts = facts_of(log, by_hand)
        return rendered(lesson, Computer(facts)) | {"along": library.paths.along(lesson.id)} | of

    def known(id: str) -> Lesson:
        try:
            return library.lesson(id)
        except KeyError:
            raise unknown("lesson", id) from None

    @routes.get("/learn/<lesson>", endpoint="alone", defaults={"framed": False})
    @routes.get("/embed/learn/<lesson>", endpoint="embedded", defaults={"framed": True})
    @declare(SENDS)
    def page(lesson: str, framed: bool) -> Response:
        try:
            source = library.lesson(lesson)
        except KeyError:
            heading = gettext("Lesson not found")
            text = gettext("This installation has no lesson with this address.")
            instead = {"page": "learn", "text": gettext("All lessons")}
            message = render_template("message.html", heading=heading, text=text, framed=framed, instead=instead)
            return Response(message, 404)
        if source.unreadable:
            heading = gettext("This lesson has a mistake in its file")
            text = gettext("It is shown once it is corrected: reload the page then.")
            lines = [str(fault) for fault in sorted(source.faults)]
            return Response(render_template("message.html", heading=heading, text=text, lines=lines, framed=framed))
        shown = answer(source, later)
        return Response(
            render({"lessons": listed(), "lesson": shown, "framed": framed}, title=f"{shown['title']} · KVScope")
        )

    @routes.get("/learn")
    @declare(SENDS)
    def contents() -> str:
        return render({"lessons": listed(), "lesson": None, "framed": False, **library.paths.as_json()})

    @routes.get("/api/lessons")
    @describe(READS, "List the lessons", {200: json_answer("all lessons, in their order", LessonList)})
    def lessons() -> Response:
        addresses = [lesson | {"url": url_for("lessons.alone", lesson=lesson["id"])} for lesson in listed()]
        return jsonify(lessons=addresses)

    @routes.get("/api/lessons/<lesson>.html")
    @describe(
        COMPUTES,
        "Save a lesson on its own recording as one page that plays without a server",
        {200: Answer("the page, sent as a download", {"text/html": None}, ("Content-Disposition",))},
        *(404, 503),
    )
    def file(lesson: str) -> Response:
        source = known(lesson)
        count(limits)
        shown = answer(source, lambda example: dict(reads.ask("by_hand", EXAMPLES[example])))
        session = shown["session"] and SessionPage(of_session(sessions, shown["session"]))
        response = Response(lesson_file(shown, session or None), mimetype="text/html")
        response.headers["Content-Disposition"] = f"attachment; filename=kvscope-{source.id}.html"
        return response

    @routes.get("/api/lessons/<lesson>")
    @describe(
        WORKS_OUT,
        "Read a lesson with its expressions computed over a run",
        {200: json_answer("the lesson; docs/lessons.md describes it", RenderedLesson)},
        *(403, 404, 422, 503),
        query=LessonQuery,
    )
    def one(lesson: str) -> Response:
        parameters, source = query(LessonQuery), known(lesson)
        if parameters.run:
            refuse_other_sites()
        count(limits)
        return json_response(answer(source, by_hand, parameters.run), "no-cache")

    @routes.get("/api/lessons/<lesson>/template")
    @describe(
        READS,
        "Read a lesson with its expressions as syntax trees, to compute it over a run that this server does not have",
        {200: json_answer("the lesson; kvscope/app/learn/template.py describes it", LessonTemplate)},
        404,
    )
    def template(lesson: str) -> Response:
        return json_response(template_of(known(lesson)), "no-cache")

    return routes
