"""What can be read of a log, a run's or a saved session's: its frames, and exact values made from its tokens again."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from flask import Blueprint, Response, jsonify, request

from kvscope.app.http.access import COMPUTES, READS
from kvscope.app.http.answers import (
    Candidates,
    Everything,
    Lens,
    Losses,
    Masked,
    Operations,
    Smaller,
    StepTiming,
    Turned,
)
from kvscope.app.http.lookup import Log, RunLookup, Steps
from kvscope.app.http.openapi import binary_answer, describe, json_answer
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import (
    AfterQuery,
    AlgebraQuery,
    BlockQuery,
    CandidateQuery,
    HeadQuery,
    LayerQuery,
    MatrixQuery,
    PositionsQuery,
    ShardsQuery,
    SmallerQuery,
    StepQuery,
    TimingQuery,
    WeightsQuery,
    query,
)
from kvscope.model.log.frames import to_stream

BINARY = "application/octet-stream"
EXACT_PROBLEMS = (404, 409, 422, 503)


class LogRoutes:
    """One method per route, below the log's own. `caching`: how long the exact values may be kept by browsers;
    `lasting`: whether the logs stay, so that their values are worth keeping here.
    """

    def __init__(self, logs: Log, lookup: RunLookup, reads: Reads, caching: str, *, lasting: bool) -> None:
        self._logs, self._lookup, self._reads, self._caching = logs, lookup, reads, caching
        self._lasting = lasting

    def register(self, routes: Blueprint) -> None:
        """Add the routes to a blueprint."""
        exact = (self.head, self.block, self.shards, self.algebra, self.operations)
        next_token = (self.candidates, self.lens, self.losses, self.timing)
        otherwise = (self.smaller, self.mask, self.everything, self.positions)
        for route in (self.frames, *exact, *next_token, *otherwise, self.weights, self.matrix):
            routes.get(f"/<log>/{route.__name__}")(route)

    @describe(
        READS,
        "The stream of frames",
        {200: binary_answer("each frame's length as unsigned 32-bit little-endian, then the frame")},
        *(404, 422),
        query=AfterQuery,
        revalidated=True,
    )
    def frames(self, log: str) -> Response:
        """`GET …/frames?after=`"""
        head = self._lookup.known(log)
        after = query(AfterQuery).after
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
        COMPUTES,
        "One attention head in one step, exactly",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=HeadQuery,
        revalidated=True,
    )
    def head(self, log: str) -> Response:
        """`GET …/head?step=&layer=&head=`"""
        steps = self._lookup.steps(log)
        asked = query(HeadQuery, steps.bounds)
        ids = steps.before(asked.step)
        return self._exact(log, steps, "head", ids, steps.rows(asked.step).start, asked.layer, asked.head)

    @describe(
        COMPUTES,
        "Every value inside a layer for one token, exactly",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=BlockQuery,
        revalidated=True,
    )
    def block(self, log: str) -> Response:
        """`GET …/block?step=&layer=&position=`"""
        steps = self._lookup.steps(log)
        ids = steps.before(query(StepQuery, steps.bounds).step)
        asked = query(BlockQuery, {**steps.bounds, "position": (0, len(ids) - 1)})
        return self._exact(log, steps, "block", ids, asked.layer, asked.position)

    @describe(
        COMPUTES,
        "A layer for one token, computed on several devices",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=ShardsQuery,
        revalidated=True,
    )
    def shards(self, log: str) -> Response:
        """`GET …/shards?step=&layer=&position=&devices=`"""
        steps = self._lookup.steps(log)
        ids = steps.before(query(StepQuery, steps.bounds).step)
        asked = query(ShardsQuery, {**steps.bounds, "position": (0, len(ids) - 1)})
        return self._exact(log, steps, "shards", ids, asked.layer, asked.position, asked.devices)

    @describe(
        COMPUTES,
        "One head in a step of decode, with the cache and without",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=AlgebraQuery,
        revalidated=True,
    )
    def algebra(self, log: str) -> Response:
        """`GET …/algebra?step=&layer=&head=`"""
        steps = self._lookup.steps(log, first=1)
        asked = query(AlgebraQuery, steps.bounds)
        return self._exact(log, steps, "algebra", steps.before(asked.step), asked.layer, asked.head)

    @describe(
        COMPUTES,
        "A layer's operations in a step of decode, with the cache and without",
        {200: json_answer("how far each differs", Operations)},
        *EXACT_PROBLEMS,
        query=LayerQuery,
        revalidated=True,
    )
    def operations(self, log: str) -> Response:
        """`GET …/operations?step=&layer=`"""
        steps = self._lookup.steps(log, first=1)
        asked = query(LayerQuery, steps.bounds)
        return self._exact(log, steps, "operations", steps.before(asked.step), asked.layer)

    @describe(
        COMPUTES,
        "How likely tokens of one's own were as the next one",
        {200: json_answer("the tokens that the text begins with", Candidates)},
        *EXACT_PROBLEMS,
        query=CandidateQuery,
        revalidated=True,
    )
    def candidates(self, log: str) -> Response:
        """`GET …/candidates?step=&text=`"""
        steps = self._lookup.steps(log)
        asked = query(CandidateQuery, steps.bounds)
        return self._exact(log, steps, "candidates", steps.before(asked.step), asked.text)

    @describe(
        COMPUTES,
        "The next token as it would be after each layer (logit lens)",
        {200: json_answer("the likeliest tokens after each layer", Lens)},
        *EXACT_PROBLEMS,
        query=StepQuery,
        revalidated=True,
    )
    def lens(self, log: str) -> Response:
        """`GET …/lens?step=`"""
        steps = self._lookup.steps(log)
        step = query(StepQuery, steps.bounds).step
        return self._exact(log, steps, "lens", steps.before(step), steps.chosen[step][1])

    @describe(
        COMPUTES,
        "The same tokens with K and V stored in fewer bits, or of fewer heads",
        {200: json_answer("what that loses", Smaller)},
        *EXACT_PROBLEMS,
        query=SmallerQuery,
        revalidated=True,
    )
    def smaller(self, log: str) -> Response:
        """`GET …/smaller?dtype=&kv_heads=`"""
        steps = self._lookup.steps(log)
        asked, last = query(SmallerQuery), len(steps.chosen) - 1
        return self._exact(log, steps, "smaller", steps.before(last), last + 1, asked.dtype, asked.kv_heads)

    @describe(
        COMPUTES,
        "What a step's newest token changes of the rows before it, with the causal mask and without",
        {200: json_answer("by layer and by position", Masked)},
        *EXACT_PROBLEMS,
        query=StepQuery,
        revalidated=True,
    )
    def mask(self, log: str) -> Response:
        """`GET …/mask?step=`"""
        steps = self._lookup.steps(log)
        return self._exact(log, steps, "mask", steps.before(query(StepQuery, steps.bounds).step))

    @describe(
        COMPUTES,
        "What the rows before a step's newest token left behind, and what is kept of it",
        {200: json_answer("bytes, and what reading them takes", Everything)},
        *EXACT_PROBLEMS,
        query=StepQuery,
        revalidated=True,
    )
    def everything(self, log: str) -> Response:
        """`GET …/everything?step=`"""
        steps = self._lookup.steps(log)
        return self._exact(log, steps, "everything", steps.before(query(StepQuery, steps.bounds).step))

    @describe(
        COMPUTES,
        "One token alone at two positions",
        {200: json_answer("what that changes of q, k and v", Turned)},
        *EXACT_PROBLEMS,
        query=PositionsQuery,
        revalidated=True,
    )
    def positions(self, log: str) -> Response:
        """`GET …/positions?layer=&head=&position=&other=`"""
        steps = self._lookup.steps(log)
        ids = steps.before(len(steps.chosen) - 1)
        places = (0, len(ids) - 1)
        asked = query(PositionsQuery, {**steps.bounds, "position": places, "other": places})
        token = ids[asked.position]
        return self._exact(log, steps, "positions", token, asked.position, asked.other, asked.layer, asked.head)

    @describe(
        COMPUTES,
        "What each position of the prompt says of the next token, and its loss",
        {200: json_answer("a prediction per position, and what is kept for them", Losses)},
        *EXACT_PROBLEMS,
        revalidated=True,
    )
    def losses(self, log: str) -> Response:
        """`GET …/losses`"""
        steps = self._lookup.steps(log)
        return self._exact(log, steps, "losses", steps.before(0))

    @describe(
        COMPUTES,
        "How long a step's forward passes take alone, with the cache or without: measured at each request",
        {200: json_answer("one measurement", StepTiming)},
        *EXACT_PROBLEMS,
        query=TimingQuery,
    )
    def timing(self, log: str) -> Response:
        """`GET …/timing?step=&cache=`"""
        steps = self._lookup.steps(log, first=1)
        asked = query(TimingQuery, steps.bounds)
        self._lookup.same_model(steps.opening)
        response = jsonify(self._reads.ask_again("timing", steps.before(asked.step), asked.cache == "kept"))
        response.headers["Cache-Control"] = "no-store"
        return response

    @describe(
        COMPUTES,
        "The learned weights that one number in a layer is made with",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=WeightsQuery,
        revalidated=True,
    )
    def weights(self, log: str) -> Response:
        """`GET …/weights?layer=&of=&index=`"""
        steps = self._lookup.steps(log)
        asked = query(WeightsQuery, steps.bounds)
        return self._exact(log, steps, "weights", asked.layer, asked.of, asked.index)

    @describe(
        COMPUTES,
        "A weight matrix of a layer, each weight a shade",
        {200: binary_answer("a safetensors file")},
        *EXACT_PROBLEMS,
        query=MatrixQuery,
        revalidated=True,
    )
    def matrix(self, log: str) -> Response:
        """`GET …/matrix?layer=&of=`"""
        steps = self._lookup.steps(log)
        asked = query(MatrixQuery, steps.bounds)
        return self._exact(log, steps, "matrix", asked.layer, asked.of)

    def _exact(self, log: str, steps: Steps, what: str, *wanted: Any) -> Response:
        """What the engine says. Values that never change: what a cache holds is never asked of the engine again."""
        asked = json.dumps([log, request.path, sorted(request.args.items())])
        tag = sha256(asked.encode()).hexdigest()[:32]
        if request.if_none_match.contains(tag):
            response = Response(status=304)
        else:
            self._lookup.same_model(steps.opening)
            value = self._reads.ask(what, *wanted, lasting=self._lasting)
            response = Response(value, mimetype=BINARY) if isinstance(value, bytes) else jsonify(value)
        response.headers["Cache-Control"] = self._caching
        response.set_etag(tag)
        return response
