"""What requests may say: the JSON bodies and the queries of the HTTP contract.

The models check what comes, and the published document (openapi.py) is made of them. Bodies of shared runs are in
kvscope.app.travel.words, as files have the same.
"""

from __future__ import annotations

import re
import secrets
from typing import Annotated, Any, Literal, TypeVar

from flask import request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from kvscope.app import bodies
from kvscope.app.bodies import Body, Bounds, Encodable, Index
from kvscope.app.http.problems import Problem
from kvscope.app.store.value_parts import Level
from kvscope.model.api import (
    MAX_ARRIVAL_MS,
    MAX_ASKS,
    MAX_AT_ONCE,
    MAX_BEAM_LENGTH,
    MAX_BEAMS,
    MAX_CHUNK,
    MAX_DRAFT,
    MAX_KEPT,
    MAX_NEW_TOKENS,
    MAX_PROMPT_CHARS,
    MAX_ROUNDS,
    MAX_SEED,
    MAX_SYSTEM_CHARS,
    MAX_TEMPERATURE,
    MAX_TOP_K,
    MAX_WORKLOAD_BLOCKS,
    MAX_WORKLOAD_TOKENS,
    Action,
    Ask,
    Batching,
    Drafting,
    JoinRequest,
    Kept,
    Refused,
    RunRequest,
    Sampling,
    ServingSettings,
    Strategy,
    WorkloadRequest,
)

MAX_BODY_BYTES = 128 * 1024
"""A prompt of the greatest length still fits when every character is written as two escapes of six bytes."""
ID_CHARS = 32
MAX_KNOWN = 64
MAX_SEQ = 2**31
"""What a database's column takes, and more than a log can have."""
MAX_ROWS = 2**20
"""More than a weight matrix has; the model says how many it has."""
PLAIN_INTEGER = re.compile(r"-?[0-9]{1,30}")
"""No underscores, spaces or digits of other scripts, which `int` takes."""
PLAIN_RUN, PLAIN_SAMPLING, PLAIN_SERVING = RunRequest("", ""), Sampling(), ServingSettings()
"""The defaults."""

Model = TypeVar("Model", bound=BaseModel)


def _not_too_long(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_PROMPT_CHARS:
        raise PydanticCustomError("string_too_long", "too long", {"limit": MAX_PROMPT_CHARS})
    return value


PromptText = Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS), Encodable, BeforeValidator(_not_too_long)]


class Prompt(Body):
    prompt: PromptText
    chat: bool = Field(PLAIN_RUN.chat, description="wrap the prompt in the model's chat template")


class NewRun(Prompt):
    max_new_tokens: int = Field(PLAIN_RUN.max_new_tokens, ge=1, le=MAX_NEW_TOKENS)
    strategy: Strategy = PLAIN_SAMPLING.strategy
    temperature: float = Field(PLAIN_SAMPLING.temperature, gt=0, le=MAX_TEMPERATURE)
    top_k: int = Field(PLAIN_SAMPLING.top_k, ge=0, le=MAX_TOP_K, description="0 for no limit")
    top_p: float = Field(PLAIN_SAMPLING.top_p, gt=0, le=1)
    seed: int = Field(PLAIN_SAMPLING.seed, ge=0, le=MAX_SEED)
    reuse: bool = Field(
        PLAIN_RUN.reuse,
        description="read the beginning of the prompt from the cache, as far as a run of the same client has left it "
        "there, and compute only the rest; the `open` frame says how many tokens that are. A client is named by "
        "X-KVScope-Client; whoever names none shares with nobody",
    )
    model: Annotated[str, Encodable] | None = Field(
        None, description="the name of the model that must be loaded; null for any"
    )

    def of(self, run: str, owner: str) -> RunRequest:
        """The same for the model side, under the id `run`."""
        sampling = Sampling(self.strategy, self.temperature, self.top_k, self.top_p, self.seed)
        return RunRequest(run, self.prompt, self.chat, self.max_new_tokens, sampling, self.reuse, owner)


class Control(Body):
    action: Action


class Fork(Body):
    position: Index = Field(description="of the token that is put in another's place: one that the run chose")
    token: Index = Field(description="its id in the vocabulary")


class Twin(Body):
    cache: Literal["none", "forgotten"]


class Beam(Body):
    step: Index
    beams: int = Field(ge=1, le=MAX_BEAMS)
    length: int = Field(ge=1, le=MAX_BEAM_LENGTH)


class WorkloadAsk(Body):
    """Milliseconds count from the beginning of the round."""

    prompt: PromptText
    max_new_tokens: int = Field(16, ge=1, le=MAX_WORKLOAD_TOKENS)
    arrives_ms: int = Field(0, ge=0, le=MAX_ARRIVAL_MS)
    cancel_ms: int | None = Field(None, ge=0, le=MAX_ARRIVAL_MS, description="when whoever asked goes away")
    retry_of: int | None = Field(None, ge=0, le=MAX_ASKS - 1, description="which request before it this one is again")


class WorkloadJoin(Body):
    """It arrives now, between two passes."""

    prompt: PromptText
    max_new_tokens: int = Field(16, ge=1, le=MAX_WORKLOAD_TOKENS)
    retry_of: int | None = Field(None, ge=0, le=MAX_ASKS - 1, description="which cancelled request is asked again")

    def of(self, run: str) -> JoinRequest:
        """The same for the model side, of the workload `run`."""
        return JoinRequest(run, self.prompt, self.max_new_tokens, self.retry_of)


class WorkloadDraft(Body):
    tokens: int = Field(ge=1, le=MAX_DRAFT, description="guessed for each pass")
    layers: int = Field(
        0,
        ge=0,
        le=MAX_ROWS,
        description="how many of the model's first layers guess; 0: the text itself does",
    )


class WorkloadKeep(Body):
    sinks: int = Field(ge=0, le=MAX_KEPT, description="rows of the beginning that stay")
    heavy: int = Field(ge=0, le=MAX_KEPT, description="rows between that were looked at most")
    recent: int = Field(ge=1, le=MAX_KEPT, description="newest rows")


class WorkloadRound(Body):
    batching: Batching = PLAIN_SERVING.batching
    at_once: int = Field(PLAIN_SERVING.at_once, ge=1, le=MAX_AT_ONCE)
    chunk: int = Field(PLAIN_SERVING.chunk, ge=1, le=MAX_CHUNK, description="tokens of a prompt per pass")
    sharing: bool = PLAIN_SERVING.sharing
    reserve: bool = Field(PLAIN_SERVING.reserve, description="hold blocks for the greatest length from the start")
    blocks: int = Field(PLAIN_SERVING.blocks, ge=1, le=MAX_WORKLOAD_BLOCKS)
    draft: WorkloadDraft | None = Field(None, description="guess tokens, and check them in one pass")
    keep: WorkloadKeep | None = Field(None, description="drop all other rows of the cache after each token")

    @property
    def settings(self) -> ServingSettings:
        """The same for the model side."""
        draft, keep = self.draft and Drafting(**dict(self.draft)), self.keep and Kept(**dict(self.keep))
        return ServingSettings(**{**dict(self), "draft": draft, "keep": keep})


class Workload(Body):
    system: Annotated[str, Field(max_length=MAX_SYSTEM_CHARS), Encodable] = ""
    requests: list[WorkloadAsk] = Field(min_length=1, max_length=MAX_ASKS)
    rounds: list[WorkloadRound] = Field(min_length=1, max_length=MAX_ROUNDS)

    def of(self, run: str) -> WorkloadRequest:
        """The same for the model side, under the id `run`."""
        asks = tuple(Ask(**dict(ask)) for ask in self.requests)
        return WorkloadRequest(run, self.system, asks, tuple(each.settings for each in self.rounds))


class Measure(Body):
    """Nothing to be said: JSON is asked for, which a page elsewhere cannot send without being let."""


class Query(BaseModel):
    """Parameters of an address: those of other names are passed over."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)


class AfterQuery(Query):
    after: int = Field(-1, ge=-1, le=MAX_SEQ, description="seq of the last frame that is known already; -1 for none")


class EmbeddingQuery(Query):
    token: int = Field(ge=0, le=MAX_ROWS, description="its id in the vocabulary")


class FamilyQuery(Query):
    known: str = Field(
        "",
        max_length=MAX_KNOWN * (ID_CHARS + 1),
        description="ids, a comma between them: of what came from a run that ships with the project, that is listed "
        "too which is connected with one of these",
    )


class ValuesQuery(Query):
    layer: Index
    step: Index | None = Field(None, description="which step; all when absent")


class PageQuery(Query):
    level: Level | None = Field(None, description="how much of what is stored is in it; all when absent")


class ByHandQuery(Query):
    """What is changed of a worked example. An empty text is as if it were not there."""

    prompt: str = Field("", max_length=64, description="ids, a comma between them")
    given: str = Field("", max_length=8, description="id of the token after the prompt, where no LM head chooses one")
    temperature: str = Field("", max_length=40)
    embeddings: str = Field("", max_length=4096, description="rows with a semicolon between them, numbers with a comma")
    positions: str = Field("", max_length=4096, description="as embeddings, and so are the rest")
    w_q1: str = Field("", max_length=4096, description="of the first head")
    w_k1: str = Field("", max_length=4096)
    w_v1: str = Field("", max_length=4096)
    w_q2: str = Field("", max_length=4096, description="of the second head")
    w_k2: str = Field("", max_length=4096)
    w_v2: str = Field("", max_length=4096)
    w_o: str = Field("", max_length=4096)
    lm_head: str = Field("", max_length=4096)


class OEmbedQuery(Query):
    maxwidth: int | None = Field(None, ge=1, le=999_999_999)
    maxheight: int | None = Field(None, ge=1, le=999_999_999)
    url: str = Field(min_length=1)
    format: Literal["json"] = Field("json", description="another one is a 501")


def query(model: type[Model], bounds: Bounds | None = None, status: int = 422) -> Model:
    """What the address of the request says. Raises Problem with `status`."""
    given = {name: request.args[name] for name in model.model_fields if name in request.args}
    numbers = {
        name: int(text)
        for name, text in given.items()
        if model.model_fields[name].annotation is not str and PLAIN_INTEGER.fullmatch(text)
    }
    try:
        return bodies.check(model, given | numbers, bounds)
    except Refused as refused:
        raise Problem(status, refused.message, field=refused.field, limit=refused.limit) from None


def body(model: type[Model], bounds: Bounds | None = None) -> Model:
    """What the JSON body of the request says. Raises Problem unless it is said to be JSON; Refused."""
    if request.mimetype != "application/json":
        raise Problem(415, "The body must be application/json.", field="Content-Type", limit=["application/json"])
    return bodies.read(model, request.get_data(), bounds)


def new_id() -> str:
    """A run's id. Not to be guessed: whoever has it may watch and control the run."""
    return secrets.token_hex(ID_CHARS // 2)
