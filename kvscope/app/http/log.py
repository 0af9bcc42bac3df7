"""The routes of one log, a run's or a saved session's: its frames, and the questions that the engine answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from flask import Blueprint, Response, jsonify, request

from kvscope.app.http.access import ANSWERS, COMPUTES, READS, READS_RUN
from kvscope.app.http.caching import json_response
from kvscope.app.http.lookup import Log, RunLookup
from kvscope.app.http.openapi import binary_answer, describe, json_answer
from kvscope.app.http.questions import QUESTIONS, Question, Steps
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import AfterQuery, query
from kvscope.model.api import under_changes
from kvscope.model.log.frames import to_stream

BINARY = "application/octet-stream"


class LogRoutes:
    """Routes below the address of a log. `caching`: the Cache-Control of answers. `lasting`: the logs are permanent, so
    their answers are worth storing on the server.
    """

    def __init__(self, logs: Log, lookup: RunLookup, reads: Reads, caching: str, *, lasting: bool) -> None:
        self._logs, self._lookup, self._reads, self._caching = logs, lookup, reads, caching
        self._lasting = lasting

    def register(self, routes: Blueprint) -> None:
        """Adds the routes to a blueprint."""
        routes.get("/<log>/frames", endpoint="frames")(self._frames_view())
        for name, question in QUESTIONS.items():
            routes.get(f"/<log>/{name}", endpoint=name)(self._view(name, question))

    def _frames_view(self) -> Callable[[str], Response]:
        """Returns the view of the frames. A run's frames are for own pages only, as its id is."""

        @describe(
            READS if self._lasting else READS_RUN,
            "Read the frames of a log",
            {200: binary_answer("each frame's length as unsigned 32-bit little-endian, then the frame")},
            *(404, 422),
            query=AfterQuery,
            revalidated=True,
        )
        def view(log: str) -> Response:
            head = self._lookup.known(log)
            after = query(AfterQuery).after
            payloads = self._logs.all_frames(log, after)
            first = list(islice(payloads, 1))  # an unreadable log must be reported while an error can still be sent
            response = Response(to_stream(chain(first, payloads)), mimetype=BINARY)
            response.implicit_sequence_conversion = False  # otherwise the library reads all of it for its length
            response.headers["Cache-Control"] = "no-cache"
            if head.closed:
                response.set_etag(f"{log}-{after}-{head.last_seq}-{head.bytes}")
                response.make_conditional(request)
            return response

        return view

    def _view(self, name: str, question: Question) -> Callable[[str], Response]:
        """Returns the view that answers one question."""
        answer = binary_answer if question.answer is None else json_answer
        types = () if question.answer is None else (question.answer,)

        @describe(
            ANSWERS if self._lasting and not question.anew else COMPUTES,
            question.summary,
            {200: answer(question.meaning, *types)},
            *(404, 409, 422, 503),
            query=question.query,
            revalidated=not question.anew,
        )
        def view(log: str) -> Response:
            steps = self._lookup.steps(log, question.first)
            arguments = question.asked(steps, request.args)
            if question.anew:
                model = self._lookup.same_model(steps.opening)
                computation = under_changes(steps.opening, name, *arguments)
                return json_response(self._reads.ask_again(*computation, model=model), "no-store")
            return self._lasting_answer(log, steps, name, *arguments)

        return view

    def _lasting_answer(self, log: str, steps: Steps, name: str, *arguments: Any) -> Response:
        """Answers with values that never change: a cached answer is not computed again."""
        address = json.dumps([log, request.path, sorted(request.args.items())])
        tag = sha256(address.encode()).hexdigest()[:32]
        if request.if_none_match.contains(tag):
            response = Response(status=304)
        else:
            model = self._lookup.same_model(steps.opening)
            question = under_changes(steps.opening, name, *arguments)
            value = self._reads.ask(*question, lasting=self._lasting, model=model)
            response = Response(value, mimetype=BINARY) if isinstance(value, bytes) else jsonify(value)
        response.headers["Cache-Control"] = self._caching
        response.set_etag(tag)
        return response
