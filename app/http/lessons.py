"""`/learn`, `/learn/<lesson>`, `/embed/learn/<lesson>` and `/api/lessons/…`: lessons beside the live page.

The page of a lesson comes with the lesson as it is on its own recording. For another run the page asks for it again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, jsonify, render_template, url_for
from pydantic import Field

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.http.access import DRAWS, READS, SENDS, declare
from kvscope.app.http.answers import LessonList, RenderedLesson
from kvscope.app.http.languages import gettext
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import unknown
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import Query, query
from kvscope.app.http.shell import renderer
from kvscope.app.learn.facts import Facts, facts_of, no_run
from kvscope.app.learn.library import Library
from kvscope.app.learn.parse import Lesson
from kvscope.app.learn.render import rendered
from kvscope.app.store.runs import RunLog
from kvscope.model.by_hand.examples import EXAMPLES
from kvscope.model.log.reader import LogReader


class LessonQuery(Query):
    run: str = Field("", max_length=64, description="id of a run; without it, the lesson's own recording")


def blueprint(library: Library, runs: RunLog, reads: Reads) -> Blueprint:
    """The routes, over the lessons of this library."""
    routes = Blueprint("lessons", __name__)
    render = renderer("learn")
    listed = [asdict(each) for each in library.listed]

    def by_hand(example: str) -> dict[str, Any]:
        if example not in EXAMPLES:
            raise LookupError(f"there is no worked example {example}; there are {', '.join(EXAMPLES)}")
        try:
            return dict(reads.ask("by_hand", EXAMPLES[example]))
        except EngineUnavailable:
            raise LookupError(gettext("the model is not ready yet")) from None

    def answer(lesson: Lesson, run: str = "") -> dict[str, Any]:
        """The lesson over a run of the log, or over its own recording."""
        recording = library.recording(lesson)
        told: dict[str, Any] = {"run": None, "session": None, "own": False}
        facts: Facts = no_run(by_hand)
        if run:
            if runs.head(run) is None:
                raise unknown("run", run)
            told, facts = {**told, "run": run, "own": True}, facts_of(LogReader(runs.all_frames(run)), by_hand)
        elif recording is not None:
            log = library.log(recording)
            told, facts = (
                {**told, "run": log.run, "session": recording.card and recording.card.id},
                facts_of(log, by_hand),
            )
        return rendered(lesson, facts) | told

    def page(id: str, framed: bool) -> Response:
        try:
            lesson = library.lesson(id)
        except KeyError:
            heading = gettext("Lesson not found")
            text = gettext("This installation has no lesson with this address.")
            return Response(render_template("message.html", heading=heading, text=text, framed=framed), 404)
        shown = answer(lesson)
        return Response(
            render({"lessons": listed, "lesson": shown, "framed": framed}, title=f"{shown['title']} · KVScope")
        )

    @routes.get("/learn")
    @declare(SENDS)
    def contents() -> str:
        return render({"lessons": listed, "lesson": None, "framed": False})

    @routes.get("/learn/<lesson>")
    @declare(SENDS)
    def alone(lesson: str) -> Response:
        return page(lesson, framed=False)

    @routes.get("/embed/learn/<lesson>")
    @declare(SENDS)
    def embedded(lesson: str) -> Response:
        return page(lesson, framed=True)

    @routes.get("/api/lessons")
    @describe(READS, "List the lessons", {200: json_answer("all lessons, in their order", LessonList)})
    def lessons() -> Response:
        addresses = [each | {"url": url_for("lessons.alone", lesson=each["id"])} for each in listed]
        return jsonify(lessons=addresses)

    @routes.get("/api/lessons/<lesson>")
    @describe(
        DRAWS,
        "Read a lesson with its expressions computed over a run",
        {200: json_answer("the lesson; docs/lessons.md describes it", RenderedLesson)},
        *(404, 422, 503),
        query=LessonQuery,
    )
    def one(lesson: str) -> Response:
        asked = query(LessonQuery)
        try:
            found = library.lesson(lesson)
        except KeyError:
            raise unknown("lesson", lesson) from None
        response = jsonify(**answer(found, asked.run))
        response.headers["Cache-Control"] = "no-cache"
        return response

    return routes
