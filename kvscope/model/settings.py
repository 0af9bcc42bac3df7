"""The settings of runs, changes and workloads, with their bounds.

These classes define the bodies of HTTP requests, the log's first frame and the limits of the page's forms. Within one
version of the log's format a bound can be widened but not narrowed, because stored logs are checked by it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

MAX_PROMPT_CHARS = 8192
MAX_POSITIONS = 8192
"""Most positions of a run in a log: a bound of the format. An engine accepts fewer (model.service.longest)."""
MAX_ASKS = 24
"""Most requests of a workload whose passes record each request's blocks, and that requests may join."""
MAX_LOAD = 500
"""Most requests of a workload."""
MAX_ARRIVAL_MS = 3_600_000
MAX_JOIN_PROMPT, MAX_JOIN_TOKENS = 512, 64
"""Most tokens of the prompt and of the answer of a request that joins a running workload."""
MAX_WORKLOAD_ROWS = 1_500_000
"""Most tokens of the prompts and answers of a workload, over all of its rounds."""
MAX_MESSAGES, MAX_CONVERSATION = 128, 65_536
"""Most messages of a conversation, and most characters of all of them."""
MAX_KEPT = 1024
MAX_LAYERS = 512
MAX_RESERVED = 2048
MAX_BUDGET = 8192
MAX_CHANGES = 24
MAX_ENGINES = 4

Strategy = Literal["greedy", "sample"]

Batching = Literal["continuous", "static"]
"""Whether a request may join requests in progress, or waits until all of them have ended."""


Prefix = Literal["tokens", "blocks"]
"""What requests share of the same beginning: all of its tokens, by copying a block before it is written; or its full
blocks, which are found by their content also after their request has ended or was preempted.
"""

Route = Literal["turns", "least", "prefix"]
"""Which of several engines serves a request: the next one (round robin); the one with the fewest requests; or the one
whose cache has the most of its prompt, if that is at least half of it, else the one with the fewest requests.
"""

Tier = Literal["none", "memory", "file"]
"""Where the rows of evicted blocks are stored, to be copied back instead of computed again."""


def _encodable(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "not valid Unicode") from None
    return value


def _not_too_long(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_PROMPT_CHARS:
        raise PydanticCustomError("string_too_long", "too long", {"limit": MAX_PROMPT_CHARS})
    return value


Encodable = AfterValidator(_encodable)
"""Checks text without a pattern: the library accepts half of a surrogate pair, which is not valid Unicode."""

PromptText = Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS), Encodable, BeforeValidator(_not_too_long)]


IN_A_LOG = {"settings are of": "a log"}
"""Context of a validation: settings in a log must have all fields, because the defaults may have changed since."""


class Settings(BaseModel):
    """Settings that are checked when they are created: values are not converted, and unknown members are errors."""

    # The validators are built on first use, so that the page is served earlier.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)
    added_later: ClassVar[frozenset[str]] = frozenset()
    """Members that logs of the current version may lack; without one, its default was in force."""

    @model_validator(mode="before")
    @classmethod
    def _whole_in_a_log(cls, value: Any, info: ValidationInfo) -> Any:
        in_a_log = info.context is IN_A_LOG and isinstance(value, dict)
        if in_a_log and (missing := cls.model_fields.keys() - cls.added_later - value.keys()):
            raise PydanticCustomError("not_whole", "{member} is missing", {"member": min(missing)})
        return value

    def model_post_init(self, _context: Any) -> None:
        """Marks every member as set, so that logs include defaults too."""
        self.model_fields_set.update(type(self).model_fields)


class Sampling(Settings):
    """How the next token is chosen. `top_k` 0 and `top_p` 1 switch those filters off."""

    strategy: Strategy = "greedy"
    temperature: Annotated[float, Field(gt=0, le=5)] = 1.0
    top_k: Annotated[int, Field(ge=0, le=1000, description="0 for no limit")] = 0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class Message(Settings):
    """A part of a conversation, as chat templates have it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Annotated[str, Field(max_length=MAX_CONVERSATION), Encodable]


class Retriable(Settings):
    """What each request of a workload may have."""

    retry_of: Annotated[
        int | None,
        Field(ge=0, le=MAX_ASKS - 1, description="number of the cancelled request that this request repeats"),
    ] = None


class Join(Retriable):
    """A workload's request that arrives now, between two passes."""

    prompt: PromptText
    max_new_tokens: Annotated[int, Field(ge=1, le=MAX_JOIN_TOKENS)] = 16


class Ask(Retriable):
    """A request of a workload, with a prompt or a conversation. Times are in milliseconds from the beginning of the
    round.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "The sky is"}]})

    prompt: PromptText | None = None
    messages: Annotated[
        list[Message] | None,
        Field(min_length=1, max_length=MAX_MESSAGES, description="a conversation, in place of prompt and system"),
    ] = None
    max_new_tokens: Annotated[int, Field(ge=1, le=MAX_POSITIONS)] = 16
    arrives_ms: Annotated[int, Field(ge=0, le=MAX_ARRIVAL_MS)] = 0
    cancel_ms: Annotated[
        int | None, Field(ge=0, le=MAX_ARRIVAL_MS, description="when the client cancels the request")
    ] = None
    cancel_tokens: Annotated[
        int | None,
        Field(ge=1, le=MAX_POSITIONS, description="the client cancels the request once it has so many tokens"),
    ] = None

    @model_validator(mode="after")
    def _fits(self) -> Ask:
        if (self.prompt is None) == (self.messages is None):
            kind = "prompt_or_messages" if self.prompt is None else "prompt_and_messages"
            raise PydanticCustomError(kind, "{member}", {"member": ".prompt"})
        return self

    @property
    def is_cancelled(self) -> bool:
        """Whether the client will cancel it, unless it ends earlier."""
        return self.cancel_ms is not None or self.cancel_tokens is not None


class Drafting(Settings):
    """Guess tokens and check them in one pass. If `layers` is not 0, the model's first layers guess, with its final
    norm and LM head (arXiv:2309.08168); otherwise the guess is the text that followed the same tokens last time.
    """

    tokens: int = Field(ge=1, le=16, description="tokens guessed per pass")
    layers: Annotated[
        int, Field(ge=0, le=MAX_LAYERS, description="how many of the model's first layers compute the guesses")
    ] = 0


class Kept(Settings):
    """The rows that stay in the cache after each token. All others are dropped."""

    sinks: int = Field(ge=0, le=MAX_KEPT, description="first rows that stay in the cache")
    heavy: int = Field(ge=0, le=MAX_KEPT, description="rows between that were looked at most")
    recent: int = Field(ge=1, le=MAX_KEPT, description="newest rows that stay in the cache")

    @property
    def rows(self) -> int:
        """Number of rows that stay."""
        return self.sinks + self.heavy + self.recent


class Contiguous(Settings):
    """A cache without paging: each request reserves one unbroken stretch of blocks when it joins, and shares none
    (arXiv:2309.06180, section 3.1).
    """

    new_tokens: int = Field(
        ge=1, le=MAX_RESERVED, description="tokens of an answer that are reserved; at least the request's own limit is"
    )


class Engines(Settings):
    """Several engines, each with a cache of its own (docs/frames.md, Serving)."""

    count: int = Field(ge=1, le=MAX_ENGINES)
    route: Annotated[
        Route,
        Field(
            description="the engine that a request goes to: the next one, the one with the fewest requests, or the one "
            "whose cache has the most of its prompt, if it has half of it"
        ),
    ] = "turns"
    prefill: Annotated[
        int,
        Field(
            ge=0, lt=MAX_ENGINES, description="engines that only read prompts; the others only decode. 0: all do both"
        ),
    ] = 0
    stages: Annotated[
        int,
        Field(
            ge=1, le=2, description="2: each engine has half of the layers, and `count` batches take turns (pipeline)"
        ),
    ] = 1

    @model_validator(mode="after")
    def _fits(self) -> Engines:
        if self.prefill >= self.count:
            raise PydanticCustomError(
                "prefill_engines", "{member}", {"member": ".prefill", "limit": [0, self.count - 1]}
            )
        if self.stages > 1 and self.prefill:
            raise PydanticCustomError("prefill_of_stages", "{member}", {"member": ".prefill"})
        return self


class ServingSettings(Settings):
    """How a round of a workload is served (docs/frames.md, Serving)."""

    added_later = frozenset({"budget", "prefix", "speed", "engines", "tier"})

    batching: Batching = "continuous"
    at_once: Annotated[int, Field(ge=1, le=16)] = 8
    chunk: Annotated[
        int,
        Field(ge=1, le=512, description="most tokens of one request's prompt in a pass; prompts read together add up"),
    ] = 128
    sharing: bool = True
    reserve: Annotated[bool, Field(description="reserve blocks for the longest answer from the start")] = False
    blocks: Annotated[int, Field(ge=1, le=256)] = 96
    draft: Drafting | None = None
    keep: Kept | None = None
    contiguous: Contiguous | None = None
    budget: Annotated[
        int | None,
        Field(
            ge=1, le=MAX_BUDGET, description="most rows of all requests in a pass, next tokens first; null for no limit"
        ),
    ] = None
    prefix: Prefix = "tokens"
    speed: Annotated[float, Field(ge=1, le=64, description="arrival times are divided by it")] = 1.0
    engines: Annotated[
        Engines | None,
        Field(description="engines of this round's own; null: the one that computes all runs"),
    ] = None
    tier: Annotated[
        Tier, Field(description="where evicted blocks go, to be brought back: nowhere, other memory, or a file")
    ] = "none"

    @property
    def most_guessed(self) -> int:
        """The most tokens of a request that a pass checks as guesses."""
        return self.draft.tokens if self.draft else 0

    @model_validator(mode="after")
    def _fits(self) -> ServingSettings:
        least = self.at_once * (1 + self.most_guessed)
        if self.budget is not None and self.budget < least:
            raise PydanticCustomError("small_budget", "{member}", {"member": ".budget", "limit": [least, MAX_BUDGET]})
        plain = {"sharing": self.sharing, "reserve": not self.reserve, "keep": not self.keep}
        others = [name for name, suits in (plain | {"contiguous": not self.contiguous}).items() if not suits]
        if self.prefix == "blocks" and others:
            raise PydanticCustomError("not_with_blocks", "{member}", {"member": f".{others[0]}"})
        if self.engines and self.engines.stages > 1 and self.draft:
            raise PydanticCustomError("draft_of_stages", "{member}", {"member": ".draft"})
        if self.engines and self.tier != "none":
            raise PydanticCustomError("tier_of_engines", "{member}", {"member": ".tier"})
        of_blocks = {"engines": self.engines is not None, "tier": self.tier != "none"}
        if self.prefix != "blocks" and (needing := [name for name, needs in of_blocks.items() if needs]):
            raise PydanticCustomError("only_with_blocks", "{member}", {"member": f".{needing[0]}"})
        return self


Site = Literal["token", "head", "attention", "mlp", "layer", "residual", "k", "v", "expert"]
"""The parts of the model that a run can change (model.activations.change.PLACES)."""

Op = Literal["zero", "mean", "scale", "patch", "steer"]
"""How the values change (docs/frames.md, Changed runs)."""


class Change(Settings):
    """A change of the values at one site of the model (docs/frames.md, Changed runs)."""

    site: Site
    op: Op
    layer: Annotated[int | None, Field(ge=0, lt=MAX_LAYERS, description="not of a token")] = None
    head: Annotated[
        int | None,
        Field(
            ge=0,
            lt=MAX_LAYERS,
            description="of head, k, v, expert; of k and v it is the K/V head, of expert its number",
        ),
    ] = None
    position: Annotated[int | None, Field(ge=0, le=MAX_POSITIONS, description="null: all")] = None
    from_step: Annotated[int, Field(ge=0, le=MAX_POSITIONS, description="the first step whose rows are changed")] = 0
    factor: Annotated[
        float, Field(ge=-1e9, le=1e9, allow_inf_nan=False, description="what scale multiplies with; strength of steer")
    ] = 1.0
    source: Annotated[PromptText | None, Field(description="of patch and steer: prompt whose rows are taken")] = None
    away: Annotated[PromptText | None, Field(description="of steer: prompt whose row is subtracted")] = None

    @model_validator(mode="after")
    def _fits(self) -> Change:
        needed = {
            "layer": self.site != "token",
            "head": self.site in ("head", "k", "v", "expert"),
            "source": self.op in ("patch", "steer"),
            "away": self.op == "steer",
        }
        for name, needs in needed.items():
            if (getattr(self, name) is not None) != needs:
                kind = "missing" if needs else "not_of_change"
                raise PydanticCustomError(kind, "{member}", {"member": f".{name}"})
        if self.site == "expert" and self.op not in ("zero", "scale"):
            raise PydanticCustomError("not_of_expert", "{member}", {"member": ".op"})
        if self.site == "token" and self.position is None:
            raise PydanticCustomError("missing", "{member}", {"member": ".position"})
        return self

    def counts(self, model: Mapping[str, Any]) -> dict[str, int]:
        """Returns the numbers of layers, and of heads or experts at this site. `model`: as in an `open` frame."""
        if self.site == "expert":
            return {"layer": model["layers"], "head": model["experts"]["count"] if model["experts"] else 0}
        return {"layer": model["layers"], "head": model["kv_heads" if self.site in ("k", "v") else "heads"]}


def has_states(requests: int) -> bool:
    """Returns whether the passes of a workload with so many requests record the state of each."""
    return requests <= MAX_ASKS


class Workload(Settings):
    """The same requests in each round; each round has its own settings. `system`: the beginning of all prompts."""

    system: Annotated[str, Field(max_length=2000), Encodable] = ""
    requests: list[Ask] = Field(min_length=1, max_length=MAX_LOAD)
    rounds: list[ServingSettings] = Field(min_length=1, max_length=5)

    @model_validator(mode="after")
    def _fits(self) -> Workload:
        several = any(settings.engines for settings in self.rounds)
        if several and any(ask.is_cancelled or ask.retry_of is not None for ask in self.requests):
            raise PydanticCustomError("not_with_engines", "{member}", {"member": ".requests"})
        return self
