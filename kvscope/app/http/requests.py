"""Models of the JSON bodies and queries of the HTTP contract.

They check requests, and the published document (openapi.py) is made from them. The bodies of shared runs are in
kvscope.app.travel.words, because files have the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

from flask import request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from kvscope.app import bodies
from kvscope.app.bodies import Body, Bounds, Index, PositiveIndex
from kvscope.app.http.problems import Problem
from kvscope.app.run_bodies import ID_CHARS, MODEL, Prompt
from kvscope.app.store.value_parts import Level
from kvscope.model.api import MAX_BEAM_LENGTH, MAX_BEAMS, Action, Keeping, Refused
from kvscope.model.by_hand.examples import Phase
from kvscope.model.settings import Encodable

MAX_BODY_BYTES = 128 * 1024
"""The longest prompt fits even if every character is written as two escapes of six bytes."""
MAX_KNOWN = 64
MAX_SEQ = 2**31
"""The largest value of a database column; no log has as many frames."""
MAX_ROWS = 2**20
"""More rows than a weight matrix has; the model states its own number."""
MAX_MODEL_CHARS = 300
MAX_WORDS, MAX_WORD_CHARS = 8, 40
"""Most words that are compared, and most characters of one."""
PLAIN_INTEGER = re.compile(r"-?[0-9]{1,30}")
"""`int` would also accept underscores, spaces and digits of other scripts."""
Model = TypeVar("Model", bound=BaseModel)


class Typed(Prompt):
    """A prompt to tokenize."""

    model: Annotated[str, Encodable] | None = Field(None, description=f"{MODEL}; null is the first")


class Control(Body):
    action: Action


class Fork(Body):
    position: Index = Field(description="position of the generated token to replace")
    token: Index = Field(description="id of the new token in the vocabulary")


class Twin(Body):
    """A run to repeat with another cache: without one, with a cleared one, or with only some positions."""

    cache: Literal["none", "forgotten", "window", "sinks", "heavy"]
    budget: PositiveIndex | None = Field(
        None, description="positions that stay in each layer after a step; for window, sinks and heavy alone"
    )
    tokens: Literal["given", "own"] | None = Field(
        None,
        description="own: the repeated run chooses its tokens. given: it gets those of the run, and each step is "
        "compared; for window, sinks and heavy alone. null is own",
    )

    @model_validator(mode="after")
    def _only_where_some_stay(self) -> Self:
        some = self.cache not in ("none", "forgotten")
        if some and self.budget is None:
            raise PydanticCustomError("missing", "no budget", {"member": "budget"})
        for name in ("budget", "tokens"):
            if not some and getattr(self, name) is not None:
                raise PydanticCustomError("keeps_nothing", "keeps nothing", {"member": name})
        return self

    def keeping(self) -> Keeping | None:
        """Returns which positions stay in the cache; None if none or all do."""
        if self.cache == "none" or self.cache == "forgotten" or self.budget is None:
            return None
        return Keeping(self.cache, self.budget, given=self.tokens == "given")


class Beam(Body):
    step: Index
    beams: int = Field(ge=1, le=MAX_BEAMS)
    length: int = Field(ge=1, le=MAX_BEAM_LENGTH)


class Measure(Body):
    """No members. A body is required because other sites' pages cannot send JSON without permission."""


class Query(BaseModel):
    """Parameters of an address. Unknown ones are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)


class AfterQuery(Query):
    after: int = Field(-1, ge=-1, le=MAX_SEQ, description="seq of the last frame received; -1 for none")


class Words(Body):
    words: list[Annotated[str, Field(min_length=1, max_length=MAX_WORD_CHARS), Encodable]] = Field(
        min_length=2, max_length=MAX_WORDS
    )
    model: Annotated[str, Encodable] | None = Field(None, description=f"{MODEL}; null is the first")


class EmbeddingQuery(Query):
    token: int = Field(ge=0, le=MAX_ROWS, description="id of the token in the vocabulary")
    model: str = Field("", max_length=MAX_MODEL_CHARS, description=f"{MODEL}; the first when absent")


class ReadyQuery(Query):
    model: str = Field("", max_length=MAX_MODEL_CHARS, description=f"{MODEL}; when absent, whether any can be used")


class LoadModel(Body):
    model: Annotated[str, Encodable] = Field(description=MODEL)


class FamilyQuery(Query):
    known: str = Field(
        "",
        max_length=MAX_KNOWN * (ID_CHARS + 1),
        description="ids of runs, separated by commas. Of the branches of a run that ships with KVScope, only those "
        "connected with one of these are listed",
    )


class ValuesQuery(Query):
    layer: Index
    step: Index | None = Field(None, description="the step; all steps when absent")


class PageQuery(Query):
    level: Level | None = Field(None, description="which stored exact values the page contains; all when absent")


class ByHandQuery(Query):
    """Changed inputs of a worked example. An empty text counts as absent."""

    prompt: str = Field("", max_length=64, description="ids of tokens, separated by commas")
    given: str = Field("", max_length=8, description="id of the token after the prompt, if there is no LM head")
    temperature: str = Field("", max_length=40)
    embeddings: str = Field("", max_length=4096, description="rows separated by semicolons, numbers by commas")
    positions: str = Field("", max_length=4096, description="in the format of `embeddings`, as are the others")
    w_q1: str = Field("", max_length=4096, description="W_Q of the first head")
    w_k1: str = Field("", max_length=4096)
    w_v1: str = Field("", max_length=4096)
    w_q2: str = Field("", max_length=4096, description="W_Q of the second head")
    w_k2: str = Field("", max_length=4096)
    w_v2: str = Field("", max_length=4096)
    w_o: str = Field("", max_length=4096)
    w_gate: str = Field("", max_length=4096, description="of the MLP, if the example has one, as `w_up` and `w_down`")
    w_up: str = Field("", max_length=4096)
    w_down: str = Field("", max_length=4096)
    lm_head: str = Field("", max_length=4096)


class ByHandCodeQuery(ByHandQuery):
    step: Phase = "decode"
    source: str = Field("", max_length=64, description="`version` of `/api/code`, for caches: lines of others differ")


class OEmbedQuery(Query):
    maxwidth: int | None = Field(None, ge=1, le=999_999_999)
    maxheight: int | None = Field(None, ge=1, le=999_999_999)
    url: str = Field(min_length=1)
    format: Literal["json"] = Field("json", description="json; any other format is a 501")


def query(model: type[Model], bounds: Bounds | None = None, status: int = 422) -> Model:
    """Parses the request's query. Raises Problem with `status`."""
    try:
        return parsed(model, request.args, bounds)
    except Refused as refused:
        raise Problem(status, refused.message, field=refused.field, limit=refused.limit) from None


def parsed(model: type[Model], texts: Mapping[str, str], bounds: Bounds | None = None) -> Model:
    """Parses the parameters of an address. Raises Refused."""
    parameters = {name: texts[name] for name in model.model_fields if name in texts}
    numbers = {
        name: int(text)
        for name, text in parameters.items()
        if model.model_fields[name].annotation is not str and PLAIN_INTEGER.fullmatch(text)
    }
    return bodies.check(model, parameters | numbers, bounds)


def body(model: type[Model], bounds: Bounds | None = None) -> Model:
    """Parses the request's JSON body. Raises Refused, and Problem for another Content-Type."""
    if request.mimetype != "application/json":
        raise Problem(
            415, "The Content-Type must be application/json.", field="Content-Type", limit=["application/json"]
        )
    return bodies.read(model, request.get_data(), bounds)
