"""What can be read of a log, a run's or a saved session's: its frames, and exact values made from its tokens again."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from flask import Blueprint, Response, jsonify, request

from kvscope.app.engine.calls import Calls
from kvscope.app.http.lookup import Log, RunLookup
from kvscope.app.http.openapi import binary_answer, describe, json_answer
from kvscope.app.http.requests import query_integer, read_candidate
from kvscope.app.http.schemas import AFTER, CANDIDATE, HEAD, LAYER, POSITION, STEP, whole
from kvscope.model.log.frames import to_stream

BINARY = "application/octet-stream"
EXACT_PROBLEMS = (404, 409, 422, 429, 503)


class LogRoutes:
    """One method per route, below the log's own. `caching`: how long the exact values may be kept."""

    def __init__(self, logs: Log, lookup: RunLookup, calls: Calls, caching: str) -> None:
        self._logs, self._lookup, self._calls, self._caching = logs, lookup, calls, caching

    def register(self, routes: Blueprint) -> None:
        """Add the routes to a blueprint."""
        for route in (self.frames, self.head, self.block, self.algebra, self.candidates, self.lens):
            routes.get(f"/<log>/{route.__name__}")(route)

    @describe(
        "The stream of frames",
        {200: binary_answer("each frame's length as unsigned 32-bit little-endian, then the frame")},
        *(404, 422),
        query={"after": AFTER},
        optional=("after",),
        revalidated=True,
    )
    def frames(self, log: str) -> Response:
        """`GET …/frames?after=`"""
        head = self._lookup.known(log)
        after = query_integer(request.args.get("after"), "after", -1, 2**31, -1)
        payloads = self._logs.all_frames(log, after)
        first = list(islice(payloads, 1))  # what cannot be read is said while an error can still be sent
        response = Response(to_stream(chain(first, payloads)), mimetype=BINARY)
        response.implicit_sequence_conversion = False  # or the library reads all of it to tell its length
        response.headers["Cache-Control"] = "no-cache"
        if head.closed:
            response.set_etag(f"{log}-{after}-{head.last_seq}-{head.bytes}")
            response.make_conditional(request)
        return response

    @describe(
        "One attention head in one step, exactly",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query={"step": STEP, "layer": LAYER, "head": HEAD},
        revalidated=True,
    )
    def head(self, log: str) -> Response:
        """`GET …/head?step=&layer=&head=`"""
        opening, ids, step = self._lookup.step(log, _step)
        layer = _index("layer", opening["model"]["layers"])
        head = _index("head", opening["model"]["heads"])
        first_query = 0 if step == 0 else len(ids) - 1
        return self._exact(log, opening, lambda: self._calls.call("head", ids, first_query, layer, head))

    @describe(
        "Every value inside a layer for one token, exactly",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query={"step": STEP, "layer": LAYER, "position": POSITION},
        revalidated=True,
    )
    def block(self, log: str) -> Response:
        """`GET …/block?step=&layer=&position=`"""
        opening, ids, _ = self._lookup.step(log, _step)
        layer = _index("layer", opening["model"]["layers"])
        position = _index("position", len(ids))
        return self._exact(log, opening, lambda: self._calls.call("block", ids, layer, position))

    @describe(
        "One head in a step of decode, with the cache and without",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query={"step": whole(1), "layer": LAYER, "head": HEAD},
        revalidated=True,
    )
    def algebra(self, log: str) -> Response:
        """`GET …/algebra?step=&layer=&head=`"""
        opening, ids, _ = self._lookup.step(log, _step, first=1)
        layer = _index("layer", opening["model"]["layers"])
        head = _index("head", opening["model"]["heads"])
        return self._exact(log, opening, lambda: self._calls.call("algebra", ids, layer, head))

    @describe(
        "How likely tokens of one's own were as the next one",
        {200: json_answer("the tokens that the text begins with", "Candidates")},
        *EXACT_PROBLEMS,
        query={"step": STEP, "text": CANDIDATE},
        revalidated=True,
    )
    def candidates(self, log: str) -> Response:
        """`GET …/candidates?step=&text=`"""
        opening, ids, _ = self._lookup.step(log, _step)
        text = read_candidate(request.args.get("text"))
        return self._exact(log, opening, lambda: self._calls.call("candidates", ids, text))

    @describe(
        "The next token as it would be after each layer (logit lens)",
        {200: json_answer("the likeliest tokens after each layer", "Lens")},
        *EXACT_PROBLEMS,
        query={"step": STEP},
        revalidated=True,
    )
    def lens(self, log: str) -> Response:
        """`GET …/lens?step=`"""
        opening, ids, step = self._lookup.step(log, _step)
        _, token = self._logs.chosen(log)[step]
        return self._exact(log, opening, lambda: self._calls.call("lens", ids, token))

    def _exact(self, log: str, opening: dict[str, Any], compute: Callable[[], Any]) -> Response:
        """Values that never change: what a cache holds is never asked of the engine again."""
        asked = json.dumps([log, request.path, sorted(request.args.items())])
        tag = sha256(asked.encode()).hexdigest()[:32]
        if request.if_none_match.contains(tag):
            response = Response(status=304)
        else:
            self._lookup.same_model(opening)
            value = compute()
            response = Response(value, mimetype=BINARY) if isinstance(value, bytes) else jsonify(value)
        response.headers["Cache-Control"] = self._caching
        response.set_etag(tag)
        return response


def _index(name: str, size: int) -> int:
    return query_integer(request.args.get(name), name, 0, size - 1)


def _step(low: int, high: int) -> int:
    return query_integer(request.args.get("step"), "step", low, high)
