"""`/by-hand/<example>`, `/embed/by-hand/<example>`, `/api/by-hand/<example>` and `…/code`: the worked examples.

Changed inputs are in the address of the page and of the request that computes the example. Nothing is stored, and the
computation takes no run's place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from flask import Blueprint, Response, redirect, render_template, url_for
from werkzeug.wrappers import Response as AnyResponse

from kvscope.app.http.access import SENDS, WORKS_OUT, declare
from kvscope.app.http.answers import Code, Worked
from kvscope.app.http.caching import json_response
from kvscope.app.http.languages import gettext
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import unknown
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import ByHandCodeQuery, ByHandQuery, query
from kvscope.app.http.shell import renderer
from kvscope.app.store.gallery import Recording
from kvscope.model.api import Refused
from kvscope.model.by_hand.examples import EXAMPLES, MOST, NORM_EPS, Example, Matrix
from kvscope.model.source.listing import version

NUMBER = re.compile(r"[-+−]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]{1,3})?", re.IGNORECASE | re.ASCII)
ID = re.compile(r"[0-9]{1,3}", re.ASCII)
NAMES = ("prompt", "given", "temperature")
"""Parameters that are not matrices."""
ABOUT_THE_ANSWER = {"step", "source"}
"""Parameters that do not change the example."""


def blueprint(reads: Reads, recorded: Sequence[Recording]) -> Blueprint:
    """Returns the routes. The page links to the first recording that opens at a head, as the same of a real model."""
    routes = Blueprint("by_hand", __name__)
    render = renderer("by-hand")
    real = next(
        (
            {"id": recording.card.id, "look": recording.example.look, "picture": recording.card.picture}
            for recording in recorded
            if recording.card and recording.example and recording.example.look
        ),
        None,
    )

    @routes.get("/by-hand/<example>", endpoint="alone", defaults={"framed": False})
    @routes.get("/embed/by-hand/<example>", endpoint="embedded", defaults={"framed": True})
    @declare(SENDS)
    def page(example: str, framed: bool) -> Response:
        if example not in EXAMPLES:
            heading = gettext("Worked example not found")
            text = gettext(
                "There are three worked examples: A, with two numbers per token, B, with four, and C, a whole block."
            )
            return Response(render_template("message.html", heading=heading, text=text, framed=framed), 404)
        return Response(render({"example": example, "framed": framed, "real": real}))

    @routes.get("/by-hand")
    @routes.get("/by-hand/")
    @declare(SENDS)
    def first() -> AnyResponse:
        return redirect(url_for("by_hand.alone", example="a"))

    @routes.get("/api/by-hand/<example>")
    @describe(
        WORKS_OUT,
        "Compute a worked example; query parameters replace its numbers",
        {200: json_answer("every number of the example", Worked)},
        *(404, 422, 503),
        query=ByHandQuery,
    )
    def worked(example: str) -> Response:
        if example not in EXAMPLES:
            raise unknown("example", example)
        changed_example = changed(EXAMPLES[example], query(ByHandQuery))
        answer = {"example": _example_answer(changed_example), **reads.ask("by_hand", changed_example)}
        return json_response(answer, "no-cache")

    @routes.get("/api/by-hand/<example>/code")
    @describe(
        WORKS_OUT,
        "What the lines of the model's source computed in a step of a worked example",
        {200: json_answer("the shapes, by file and line (`/api/code`)", Code)},
        *(404, 422, 503),
        query=ByHandCodeQuery,
    )
    def code(example: str) -> Response:
        if example not in EXAMPLES:
            raise unknown("example", example)
        parameters = query(ByHandCodeQuery)
        changed_example = changed(EXAMPLES[example], parameters)
        return json_response(reads.ask("by_hand_code", changed_example, parameters.step, version()), "no-cache")

    return routes


def changed(example: Example, parameters: ByHandQuery) -> Example:
    """Returns the example with the inputs of the address. Raises Refused for text that is not a number, and for inputs
    that the example does not have.
    """
    texts = {name: text for name, text in parameters.model_dump(exclude=ABOUT_THE_ANSWER).items() if text}
    for name in texts.keys() - {"prompt", "temperature"} - example.parts.keys():
        if name != "given" or example.given is None:
            raise Refused(
                name,
                f"This example has no {name}; it has {', '.join([*example.parts, 'prompt', 'temperature'])}.",
                limit=[*example.parts, "prompt", "temperature"],
            )
    matrices = {name: _matrix(name, text) for name, text in texts.items() if name not in NAMES}
    return replace(
        example.with_parts(matrices),
        prompt=tuple(_id("prompt", text) for text in texts["prompt"].split(","))
        if "prompt" in texts
        else example.prompt,
        given=_id("given", texts["given"]) if "given" in texts else example.given,
        temperature=_number("temperature", texts["temperature"]) if "temperature" in texts else example.temperature,
    )


def _matrix(name: str, text: str) -> Matrix:
    """Parses rows separated by semicolons, of numbers separated by commas."""
    return tuple(tuple(_number(name, number) for number in row.split(",")) for row in text.split(";"))


def _number(name: str, text: str) -> float:
    if not NUMBER.fullmatch(text):
        sentence = f"{name} contains “{text[:40]}”; it must be a number from −{MOST:,.0f} to {MOST:,.0f}."
        raise Refused(name, sentence, limit=[-MOST, MOST])
    return float(text.replace("−", "-"))


def _id(name: str, text: str) -> int:
    if not ID.fullmatch(text):
        raise Refused(name, f"{name} contains “{text[:40]}”; it must be the id of a token.")
    return int(text)


def _example_answer(example: Example) -> dict[str, object]:
    return {
        "words": example.words,
        "prompt": example.prompt,
        "given": example.given,
        "temperature": example.temperature,
        "norm_eps": None if example.mlp is None else NORM_EPS,
        "parts": example.parts,
    }
