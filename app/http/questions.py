"""The questions about a log that the engine computes the answer to, each declared once.

A question is a method of the service (kvscope.model.service.questions) and a route below the log's address, both of its
name. Of what stands here are made the routes (log.py), the checks of what is asked and their messages, the published
document (openapi.py); the page asks any of them by name (static/shared/log/client.js). Types of answers are in
answers.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from kvscope.app.bodies import Bounds, Index
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
from kvscope.app.http.requests import MAX_ROWS, Query
from kvscope.model.api import MAX_CANDIDATE_CHARS, CacheDtype, Weights
from kvscope.model.log.schema import rows_of


@dataclass(frozen=True, slots=True)
class Steps:
    """The complete steps of a run that is no study. `first`: the lowest that can be asked about."""

    opening: dict[str, Any]
    chosen: list[tuple[int, int]]
    first: int

    @property
    def last(self) -> int:
        """The newest."""
        return len(self.chosen) - 1

    def bounds(self, step: int | None = None) -> Bounds:
        """Which steps, layers, heads and positions there are: positions that `step` has before it, or the newest."""
        model = self.opening["model"]
        places = 0, len(self.opening["tokens"]) + (self.last if step is None else step) - 1
        found = {"step": (self.first, self.last), "layer": (0, model["layers"] - 1), "head": (0, model["heads"] - 1)}
        return {**found, "position": places, "other": places}

    def first_row(self, step: int) -> int:
        """The first position whose exact values a step has: all of the prompt, also what the cache had, or one."""
        return rows_of(len(self.opening["tokens"]), step).start

    def before(self, step: int) -> list[int]:
        """Ids of the tokens that a step had before it."""
        return [token["id"] for token in self.opening["tokens"]] + [token for _, token in self.chosen[:step]]


class Nothing(Query):
    """The run alone is asked about."""


class Step(Query):
    step: Index = Field(description="which step; 0 is prefill")


class LaterStep(Query):
    step: Index = Field(ge=1, description="which step of decode")


class Head(Step):
    layer: Index
    head: Index


class LaterHead(LaterStep):
    layer: Index
    head: Index


class LaterLayer(LaterStep):
    layer: Index


class Block(Step):
    layer: Index
    position: Index = Field(description="which token, counted from the first of the prompt")


class Shards(Block):
    devices: int = Field(2, ge=2, le=MAX_ROWS, description="at most as many as the model has K/V heads")


class Form(Query):
    dtype: CacheDtype
    kv_heads: int = Field(ge=1, le=MAX_ROWS, description="of how many heads K and V are kept: a part of what there are")


class Positions(Query):
    layer: Index
    head: Index
    position: Index = Field(description="which token of the run, and where it stands first")
    other: Index = Field(description="where it stands then")


class Matrix(Query):
    layer: Index
    of: Weights


class MatrixRow(Matrix):
    index: int = Field(ge=0, le=MAX_ROWS, description="which number of those that these weights make")


class Timing(LaterStep):
    cache: Literal["kept", "none"] = Field("kept", description="none: all rows are computed again")


class Candidate(Step):
    text: str = Field(min_length=1, max_length=MAX_CANDIDATE_CHARS)


@dataclass(frozen=True, slots=True)
class Question:
    """`summary`, `meaning`: of the question and its answer, in words. `arguments`: what the service's method takes, of
    the run's steps and what is asked. `answer`: the type of its JSON; None: a safetensors file (docs/frames.md).
    `changes`: it is measured anew at each request.
    """

    summary: str
    meaning: str
    asked: type[Query]
    arguments: Callable[[Steps, Any], tuple[Any, ...]]
    answer: type | None = None
    changes: bool = False

    @property
    def first(self) -> int:
        """The lowest step that it can be asked about."""
        return 1 if issubclass(self.asked, LaterStep) else 0


FILE = "a safetensors file"
QUESTIONS = {
    "head": Question(
        "One attention head in one step, exactly",
        FILE,
        Head,
        lambda steps, asked: (steps.before(asked.step), steps.first_row(asked.step), asked.layer, asked.head),
    ),
    "block": Question(
        "Every value inside a layer for one token, exactly",
        FILE,
        Block,
        lambda steps, asked: (steps.before(asked.step), asked.layer, asked.position),
    ),
    "shards": Question(
        "A layer for one token, computed on several devices",
        FILE,
        Shards,
        lambda steps, asked: (steps.before(asked.step), asked.layer, asked.position, asked.devices),
    ),
    "algebra": Question(
        "One head in a step of decode, with the cache and without",
        FILE,
        LaterHead,
        lambda steps, asked: (steps.before(asked.step), asked.layer, asked.head),
    ),
    "operations": Question(
        "A layer's operations in a step of decode, with the cache and without",
        "how far each differs",
        LaterLayer,
        lambda steps, asked: (steps.before(asked.step), asked.layer),
        Operations,
    ),
    "candidates": Question(
        "How likely tokens of one's own were as the next one",
        "the tokens that the text begins with",
        Candidate,
        lambda steps, asked: (steps.before(asked.step), asked.text),
        Candidates,
    ),
    "lens": Question(
        "The next token as it would be after each layer (logit lens)",
        "the likeliest tokens after each layer",
        Step,
        lambda steps, asked: (steps.before(asked.step), steps.chosen[asked.step][1]),
        Lens,
    ),
    "smaller": Question(
        "The same tokens with K and V stored in fewer bits, or of fewer heads",
        "what that loses",
        Form,
        lambda steps, asked: (steps.before(steps.last), steps.last + 1, asked.dtype, asked.kv_heads),
        Smaller,
    ),
    "mask": Question(
        "What a step's newest token changes of the rows before it, with the causal mask and without",
        "by layer and by position",
        Step,
        lambda steps, asked: (steps.before(asked.step),),
        Masked,
    ),
    "everything": Question(
        "What the rows before a step's newest token left behind, and what is kept of it",
        "bytes, and what reading them takes",
        Step,
        lambda steps, asked: (steps.before(asked.step),),
        Everything,
    ),
    "positions": Question(
        "One token alone at two positions",
        "what that changes of q, k and v",
        Positions,
        lambda steps, asked: (
            *(steps.before(steps.last)[asked.position], asked.position, asked.other),
            *(asked.layer, asked.head),
        ),
        Turned,
    ),
    "losses": Question(
        "What each position of the prompt says of the next token, and its loss",
        "a prediction per position, and what is kept for them",
        Nothing,
        lambda steps, _: (steps.before(0),),
        Losses,
    ),
    "timing": Question(
        "How long a step's forward passes take alone, with the cache or without: measured at each request",
        "one measurement",
        Timing,
        lambda steps, asked: (steps.before(asked.step), asked.cache == "kept"),
        StepTiming,
        changes=True,
    ),
    "weights": Question(
        "The learned weights that one number in a layer is made with",
        FILE,
        MatrixRow,
        lambda _, asked: (asked.layer, asked.of, asked.index),
    ),
    "matrix": Question(
        "A weight matrix of a layer, each weight a shade", FILE, Matrix, lambda _, asked: (asked.layer, asked.of)
    ),
}
"""By name."""
