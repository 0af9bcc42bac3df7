"""The questions about a log that the engine answers, each declared once.

A question is a method of the service (kvscope.model.service.questions) and a route below the log's address, with the
same name. The declarations give the routes (log.py), the checks of the parameters with their messages, and the
published document (openapi.py); the page asks by name (static/shared/log/client.js). answers.py has the types of the
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from kvscope.app.bodies import Bounds, Index
from kvscope.app.http.answers import (
    Calls,
    Candidates,
    Code,
    Direct,
    Effects,
    Everything,
    Invariance,
    Lens,
    Losses,
    Masked,
    Operations,
    Patterns,
    Smaller,
    StepTiming,
    Turned,
)
from kvscope.app.http.requests import MAX_ROWS, Query, parsed
from kvscope.model.api import (
    MAX_BATCH,
    MAX_CANDIDATE_CHARS,
    MAX_SOURCE_CHARS,
    CacheDtype,
    EffectOf,
    Refused,
    Switch,
    Switching,
    Weights,
)
from kvscope.model.log.schema import rows_of
from kvscope.model.settings import Encodable
from kvscope.model.source.listing import version


@dataclass(frozen=True, slots=True)
class Steps:
    """The complete steps of a run that is not derived. `first`: the lowest step that can be asked about."""

    opening: dict[str, Any]
    chosen: list[tuple[int, int]]
    first: int

    @property
    def last(self) -> int:
        """The last complete step."""
        return len(self.chosen) - 1

    def bounds(self, step: int | None = None) -> Bounds:
        """Bounds of steps, layers, heads and positions. `step`: positions are those before it; None: before the last
        step.
        """
        model = self.opening["model"]
        places = 0, len(self.opening["tokens"]) + (self.last if step is None else step) - 1
        bounds = {"step": (self.first, self.last), "layer": (0, model["layers"] - 1), "head": (0, model["heads"] - 1)}
        return {**bounds, "position": places, "other": places}

    def first_row(self, step: int) -> int:
        """Returns the first position whose exact values a step has: the whole prompt in prefill, one token later."""
        return rows_of(len(self.opening["tokens"]), step).start

    def computed_from(self, step: int) -> int:
        """Returns the first position that a step computed."""
        return rows_of(len(self.opening["tokens"]), step, self.opening["reused"]).start

    def before(self, step: int) -> list[int]:
        """Returns the ids of the tokens before a step."""
        return [token["id"] for token in self.opening["tokens"]] + [token for _, token in self.chosen[:step]]


class Nothing(Query):
    """No parameters."""


class Step(Query):
    step: Index = Field(description="the step; 0 is prefill")


class LaterStep(Query):
    step: Index = Field(ge=1, description="the decode step, from 1")


class Layer(Step):
    layer: Index


class Lines(Layer):
    source: str = Field("", max_length=64, description="`version` of `/api/code`, for caches: lines of others differ")


class Head(Layer):
    head: Index


class LaterHead(LaterStep):
    layer: Index
    head: Index


class LaterLayer(LaterStep):
    layer: Index


class Block(Layer):
    position: Index = Field(description="the position of the token, from 0 at the start of the prompt")


class Shards(Block):
    devices: int = Field(2, ge=2, le=MAX_ROWS, description="how many devices; at most the number of K/V heads")


class Form(Query):
    dtype: CacheDtype
    kv_heads: int = Field(ge=1, le=MAX_ROWS, description="K/V heads to store; a divisor of the model's number")


class Company(Step):
    rows: int = Field(8, ge=2, le=MAX_BATCH, description="rows of the pass that is compared with one row alone")


class Positions(Query):
    layer: Index
    head: Index
    position: Index = Field(description="the position of the token in the run, and the first position compared")
    other: Index = Field(description="the second position compared")


class Matrix(Query):
    layer: Index
    of: Weights


class MatrixRow(Matrix):
    index: int = Field(ge=0, le=MAX_ROWS, description="the index of the output number that these weights compute")


class Timing(LaterStep):
    cache: Literal["kept", "none"] = Field("kept", description="kept: with the cache; none: all rows computed again")


class Candidate(Step):
    text: str = Field(min_length=1, max_length=MAX_CANDIDATE_CHARS)


class Foil(Step):
    foil: int | None = Field(
        None, ge=0, le=MAX_ROWS, description="id of the token to compare with; the likeliest other one when absent"
    )


class Effect(Foil):
    of: EffectOf = Field(description="what is switched; of `tokens`, one is left out of the text")
    first: int = Field(
        0, ge=0, le=MAX_ROWS, description="the first part to answer for; heads and positions count layer by layer"
    )
    switch: Switch = Field("zero", description="what replaces a part's rows")
    source: Annotated[str, Encodable] = Field(
        "",
        max_length=MAX_SOURCE_CHARS,
        description="the other prompt of `resample`; prompts of `reference`, one per line, KVScope's own when empty",
    )

    def switching(self, opening: dict[str, Any]) -> tuple[Switching, ...]:
        """Returns how parts are switched, or nothing for the defaults: their answers may be stored without it."""
        if self.switch == "zero" and self.foil is None:
            return ()
        source = self.source if self.switch in ("resample", "reference") else ""
        return (Switching(self.switch, source, self.foil, len(opening["tokens"]), opening["chat"]),)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `summary`, `meaning`: what it asks and what it answers.

    `query`: model of its parameters. `arguments`: the arguments of the service's method, from the run's steps and the
    parameters. `answer`: type of the JSON; None: a safetensors file (docs/frames.md). `anew`: measured at each request.
    `of_changed`: the method computes with the changes of a changed run; otherwise such a run is refused.
    """

    summary: str
    meaning: str
    query: type[Query]
    arguments: Callable[[Steps, Any], tuple[Any, ...]]
    answer: type | None = None
    anew: bool = False
    of_changed: bool = True

    @property
    def first(self) -> int:
        """The lowest step that it can be asked about."""
        return 1 if issubclass(self.query, LaterStep) else 0

    def asked(self, steps: Steps, texts: Mapping[str, str]) -> tuple[Any, ...]:
        """Returns the arguments of the service's method for the parameters of an address. A position must be one that
        the named step has before it. Raises Refused with status 422, or 409 for a changed run that it cannot be about.
        """
        if not self.of_changed and steps.opening["changed"]:
            message = "This is computed for the model as it is, and the run has changes. Ask about its original run."
            raise Refused("run", message, status=409)
        names = self.query.model_fields
        try:
            step = parsed(Step, texts, steps.bounds()).step if {"step", "position"} <= names.keys() else None
            query = parsed(self.query, texts, steps.bounds(step))
        except Refused as refused:
            raise Refused(refused.field, refused.message, limit=refused.limit) from None
        return self.arguments(steps, query)


FILE = "a safetensors file"
QUESTIONS = {
    "head": Question(
        "Exact values of one attention head in one step",
        FILE,
        Head,
        lambda steps, query: (steps.before(query.step), steps.first_row(query.step), query.layer, query.head),
    ),
    "block": Question(
        "Exact values of every operation inside a layer, for one token",
        FILE,
        Block,
        lambda steps, query: (steps.before(query.step), query.layer, query.position),
    ),
    "shards": Question(
        "A layer for one token, split over several devices",
        FILE,
        Shards,
        lambda steps, query: (steps.before(query.step), query.layer, query.position, query.devices),
    ),
    "contributions": Question(
        "What each head of a layer adds to a token's row",
        FILE,
        Block,
        lambda steps, query: (steps.before(query.step), query.layer, query.position),
    ),
    "algebra": Question(
        "One head in a decode step, with the cache and without",
        FILE,
        LaterHead,
        lambda steps, query: (steps.before(query.step), query.layer, query.head),
    ),
    "operations": Question(
        "A layer's operations in a decode step, with the cache and without",
        "the difference of each operation",
        LaterLayer,
        lambda steps, query: (steps.before(query.step), query.layer),
        Operations,
    ),
    "candidates": Question(
        "Probabilities of chosen tokens as the next token",
        "the tokens at the beginning of `text`",
        Candidate,
        lambda steps, query: (steps.before(query.step), query.text),
        Candidates,
    ),
    "effects": Question(
        "How the next token changes with parts of the model switched, or tokens left out, one at a time",
        "the next token with each part switched; ask again with `first` for those that are missing",
        Effect,
        lambda steps, query: (
            *(steps.before(query.step), steps.chosen[query.step][1]),
            *(query.of, query.first, *query.switching(steps.opening)),
        ),
        Effects,
    ),
    "direct": Question(
        "What each part writes towards the next token itself: its share of the logit (direct logit attribution)",
        "each part's share of three logits",
        Foil,
        lambda steps, query: (steps.before(query.step), steps.chosen[query.step][1], query.foil),
        Direct,
    ),
    "patterns": Question(
        "How much each head attends to the token before, and to what followed the same token earlier",
        "two scores of each head",
        Nothing,
        lambda steps, query: (),
        Patterns,
        of_changed=False,
    ),
    "lens": Question(
        "The next token as predicted after each layer (logit lens)",
        "the most likely tokens after each layer",
        Step,
        lambda steps, query: (steps.before(query.step), steps.chosen[query.step][1]),
        Lens,
    ),
    "smaller": Question(
        "The same tokens with K and V stored in fewer bits, or for fewer heads",
        "the differences in attention and in the predictions",
        Form,
        lambda steps, query: (steps.before(steps.last), steps.last + 1, query.dtype, query.kv_heads),
        Smaller,
        of_changed=False,
    ),
    "invariance": Question(
        "The logits of steps alone and in a pass with other rows, in native code and in torch's products",
        "how many logits differ, from `step` on; ask again with a later `step` for those that are missing",
        Company,
        lambda steps, query: (
            *(steps.before(steps.last), len(steps.opening["tokens"]), query.step),
            *([token for _, token in steps.chosen[query.step :]], query.rows, steps.opening["sampling"]),
        ),
        Invariance,
        of_changed=False,
    ),
    "mask": Question(
        "How a step's newest token changes the rows before it, with the causal mask and without",
        "changes by layer and by position",
        Step,
        lambda steps, query: (steps.before(query.step),),
        Masked,
        of_changed=False,
    ),
    "everything": Question(
        "Size of all values computed before a step's newest token, and of the K and V that are cached",
        "bytes, and the time that reading them takes",
        Step,
        lambda steps, query: (steps.before(query.step),),
        Everything,
    ),
    "positions": Question(
        "One token, alone, at two positions",
        "the changes of q, k and v",
        Positions,
        lambda steps, query: (
            *(steps.before(steps.last)[query.position], query.position, query.other),
            *(query.layer, query.head),
        ),
        Turned,
        of_changed=False,
    ),
    "losses": Question(
        "The prediction at each position of the prompt, and its loss",
        "one prediction per position, and the bytes they need",
        Nothing,
        lambda steps, _: (steps.before(0),),
        Losses,
    ),
    "code": Question(
        "What the lines of the model's source computed in a step, at one layer",
        "the shapes, by file and line (`/api/code`)",
        Lines,
        lambda steps, query: (
            *(steps.before(query.step), steps.computed_from(query.step)),
            *(query.layer, steps.opening["sampling"], version()),
        ),
        Code,
    ),
    "calls": Question(
        "The calls of the model's functions in prefill and in a decode step; recorded at each request",
        "both trees of calls",
        Nothing,
        lambda steps, _: (steps.before(0), steps.opening["sampling"]),
        Calls,
        anew=True,
    ),
    "timing": Question(
        "Time of a step's forward passes alone, with the cache or without; measured at each request",
        "one measurement",
        Timing,
        lambda steps, query: (steps.before(query.step), query.cache == "kept"),
        StepTiming,
        anew=True,
    ),
    "weights": Question(
        "The learned weights that compute one number in a layer",
        FILE,
        MatrixRow,
        lambda _, query: (query.layer, query.of, query.index),
    ),
    "matrix": Question(
        "A weight matrix of a layer, as a grey-scale picture", FILE, Matrix, lambda _, query: (query.layer, query.of)
    ),
}
