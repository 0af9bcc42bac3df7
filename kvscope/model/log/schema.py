"""Defines the log's format: the data and tensors of each kind of frame. docs/frames.md explains it.

Each kind of frame is a class: its fields are the frame's `data`, and `tensors` lists the frame's tensors. The recorder
builds frames from these classes, and the checker refuses files that do not match them. Every field is in every log,
except fields with a default: docs/frames.md says when they are absent. Fields marked `OWN`, and tensors of `OBSERVED`,
are absent only in logs of runs that another program computed; `missing_in` names one that is absent elsewhere. Readers
ignore unknown fields.

This module does not import torch or the engine. It imports numpy only where it reads the values of tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvscope.model.api import ComputedBy, StoredLevel, Unread
from kvscope.model.log.untrusted import DTYPES, BadFile
from kvscope.model.settings import IN_A_LOG, MAX_CHANGES, Change, Sampling, ServingSettings

if TYPE_CHECKING:
    import numpy as np

MOST_LAYERS, MOST_HEADS, MOST_POSITIONS, MOST_TOP, TAIL_BINS = 512, 512, 65_536, 256, 256
MOST_HEAD_DIM, MOST_WIDTH, MOST_MLP_WIDTH = 4096, 2**16, 2**18
MOST_BLOCK_SIZE = 1024
LONGEST_MS = 7 * 24 * 60 * 60 * 1000
"""Longest time of a step, pass or round."""
MOST_PROMPT = 100_000
"""Most characters of a prompt."""
MOST_ERROR = 10_000
"""Most characters of the message of an error that ended a run."""

Natural = Annotated[int, Field(ge=0, le=2**53)]
Positive = Annotated[int, Field(ge=1, le=2**31)]
TokenId = Annotated[int, Field(ge=0, lt=2**31)]
Logit = Annotated[float, Field(ge=-(2.0**128), le=2.0**128)]
"""A raw logit or a sum of them, in the range of float32."""
Share = Annotated[float, Field(ge=0, le=1.001)]
"""A part of 1; a sum of rounded shares may be a little greater than 1."""
Ms = Annotated[float, Field(ge=0, le=LONGEST_MS)]
WholeMs = Annotated[int, Field(ge=0, le=LONGEST_MS)]
Temperature = Annotated[float, Field(ge=0, le=1e6)]
Place = Annotated[int, Field(ge=0, le=MOST_POSITIONS)]
"""The number or count of positions, rows, steps or blocks."""
Places = Annotated[int, Field(ge=1, le=MOST_POSITIONS)]
Vocabulary = Annotated[int, Field(ge=1, le=2**24)]
Name = Annotated[str, Field(max_length=1000)]
Reason = Literal["eos", "length", "stopped", "failed", "interrupted"]
Layers = Annotated[int, Field(ge=1, le=MOST_LAYERS)]
Heads = Annotated[int, Field(ge=1, le=MOST_HEADS)]
PerPosition = Annotated[list[Natural], Field(max_length=MOST_POSITIONS)]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a frame. `shape`: numbers, or names of sizes; the first tensor with a new name sets that size.

    Values are from `least` to below the size that `below` names.
    """

    dtypes: tuple[str, ...]
    shape: tuple[str | int, ...]
    optional: bool = False
    """Whether a frame may lack it: some models, steps or layers do not have this tensor."""
    finite: bool = True
    """Whether all values must be finite; if not, they must be finite in a complete step (see `not_finite`)."""
    least: int | None = None
    below: str | None = None
    descending: bool = False
    """Whether values must be in order, the greatest first."""
    distinct: bool = False
    """Whether all values must differ."""


Tensors = Mapping[str, Tensor]


class Own:
    """Marks a field that every log of KVScope's own runs has. A log of another program's run may lack it."""


OWN = Own()


class Data(BaseModel):
    """Part of a frame's data."""

    # Built when first used: most importers of this module need few of the classes.
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)


class FrameData(Data):
    """All data of a frame."""

    @property
    def tensors(self) -> Tensors:
        """Returns the tensors that the frame may have, by name."""
        return {}


class Token(Data):
    id: TokenId
    text: str = Field(max_length=4096)
    bytes: str = Field(max_length=8192, pattern=r"^(?:[0-9A-Fa-f]{2})*$")
    special: bool


class ChosenToken(Token):
    prob: Share | None
    """None if a fork forced the token and it is not among `top_ids`."""
    raw_prob: Share | None
    forced: bool = False


class OwnToken(Token):
    prob: Share
    raw_prob: Share


class RatedToken(Token):
    prob: Share


Activation = Literal["silu", "gelu_tanh", "gelu_erf"]
Factor = Annotated[float, Field(gt=0, le=2.0**64, allow_inf_nan=False)]

ByFormat = Annotated[dict[Name, Natural], Field(max_length=16)]
"""Bytes of weights by their format in memory or in a file."""


class Weights(Data):
    """Bytes of the whole model: in its file (`stored`), and in memory when the run began (`held`)."""

    stored: ByFormat
    held: ByFormat


class ModelExperts(Data):
    """Experts of each layer that has some: their number, how many a row goes through, and the width of one."""

    count: Annotated[int, Field(ge=1, le=MOST_MLP_WIDTH)]
    chosen: Annotated[int, Field(ge=1, le=MOST_MLP_WIDTH)]
    width: Annotated[int, Field(ge=1, le=MOST_MLP_WIDTH)]


class Model(Data):
    """The model that computed a log (docs/frames.md)."""

    computed_by: Name | None = None
    """The program that computed the run; absent if KVScope did."""
    name: Name
    sha256: Annotated[Name | None, OWN] = None
    arch: Annotated[Name | None, OWN] = None
    layers: Layers
    heads: Heads
    kv_heads: Annotated[Heads | None, OWN] = None
    head_dim: Annotated[int | None, Field(ge=1, le=MOST_HEAD_DIM), OWN] = None
    d: Annotated[int | None, Field(ge=1, le=MOST_WIDTH), OWN] = None
    d_mlp: Annotated[int | None, Field(ge=1, le=MOST_MLP_WIDTH), OWN] = None
    vocab: Vocabulary
    context: Annotated[Positive | None, OWN] = None
    norm: Annotated[Literal["rms", "layer"] | None, OWN] = None
    gated: Annotated[bool | None, OWN] = None
    activation: Annotated[Activation | None, OWN] = None
    positions: Annotated[Literal["rotary", "learned", "none"] | None, OWN] = None
    qk_norm: Annotated[bool | None, OWN] = None
    post_norms: Annotated[bool | None, OWN] = None
    embedding_scale: Annotated[Factor | None, OWN] = None
    score_width: Annotated[Factor | None, OWN] = None
    rotary_dim: Annotated[int, Field(ge=2, le=MOST_HEAD_DIM)] | None = None
    """Absent if all numbers of a head are rotated."""
    score_cap: Factor | None = None
    """Absent if scores are not capped; the same for logits."""
    logit_cap: Factor | None = None
    parallel: bool = False
    """Absent if the MLP reads the row after attention."""
    windows: Annotated[Annotated[list[Positive | None], Field(max_length=MOST_LAYERS)] | None, OWN] = None
    experts: Annotated[ModelExperts | None, OWN] = None
    tied: Annotated[bool | None, OWN] = None
    dtype: Annotated[Name | None, OWN] = None
    element_bytes: Annotated[int | None, Field(ge=1, le=16), OWN] = None
    weight_dtype: Annotated[Name | None, OWN] = None
    weight_bytes: Annotated[Natural | None, OWN] = None
    weights: Annotated[Weights | None, OWN] = None
    parameters: Annotated[Natural | None, OWN] = None
    device: Annotated[Name | None, OWN] = None
    eos: Annotated[list[TokenId] | None, Field(max_length=1000), OWN] = None

    @property
    def sizes(self) -> dict[str, int]:
        """Returns the sizes that shapes of tensors name, as far as they are known."""
        names = ("layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab")
        sizes = {name: size for name in names if (size := getattr(self, name)) is not None}
        return sizes if self.head_dim is None else {**sizes, "head_dim / 2": self.head_dim // 2}


class Limits(Data):
    max_new_tokens: Place
    max_positions: Annotated[Positive | None, OWN] = None


class Recomputed(Data):
    """Rows that the KV cache, or the engine, no longer had when a branch began: `rows` were computed again in `ms`.

    `held`: whether the engine still had blocks of the parent.
    """

    rows: Place
    ms: Ms
    held: bool


class Parent(Data):
    run: Name
    position: Place
    token: TokenId | None
    recomputed: Recomputed
    """The work before the branch's first step."""


class Twin(Data):
    kind: Literal["twin"]
    of: Name
    cache: Literal["none", "forgotten", "window", "sinks", "heavy"]
    budget: Places | None = None
    """Positions that stay in each layer after a step; None if the twin drops none."""
    tokens: Literal["given", "own"] | None = None
    """Whether it gets the tokens of the run it is about, or chooses its own."""


class Beam(Data):
    kind: Literal["beam"]
    of: Name
    step: Place
    beams: Place
    length: Place


class Changed(Data):
    """A changed run's changes, and the run that it was made from."""

    of: Name
    changes: list[Change] = Field(min_length=1, max_length=MAX_CHANGES)


class ServedRequest(Data):
    """One request of a workload; times are milliseconds since its round began."""

    prompt: str = Field(max_length=MOST_PROMPT)
    tokens: Places
    max_new_tokens: Place
    arrives_ms: WholeMs
    cancel_ms: WholeMs | None
    cancel_tokens: Place | None
    """Its client cancels it when it has this many tokens."""
    retry_of: Place | None
    """The number of the cancelled request that this one repeats."""
    messages: Place | None = None
    """How many messages its conversation has; None if it has only a prompt. Older logs lack it."""

    @property
    def is_cancelled(self) -> bool:
        """Returns whether its client cancels it, if it has not ended before."""
        return self.cancel_ms is not None or self.cancel_tokens is not None


class Serving(Data):
    kind: Literal["serving"]
    system: str = Field(max_length=MOST_PROMPT)
    requests: list[ServedRequest] = Field(min_length=1, max_length=1000)
    rounds: list[ServingSettings] = Field(min_length=1, max_length=100)


class Prefix(Data):
    """How many of a prompt's first tokens other runs of the same client had computed when the run began (`common`),
    and why not all of these were read from the cache.
    """

    common: Place
    reason: Unread | None


class Open(FrameData):
    model: Model
    prompt: str = Field(max_length=MOST_PROMPT)
    chat: bool
    sampling: Annotated[Sampling | None, OWN] = None
    limits: Annotated[Limits | None, OWN] = None
    tokens: list[Token] = Field(min_length=1, max_length=MOST_POSITIONS)
    block_size: Annotated[int | None, Field(ge=1, le=MOST_BLOCK_SIZE), OWN] = None
    parent: Parent | None
    study: Annotated[Twin | Beam | Serving, Field(discriminator="kind")] | None
    changed: Changed | None
    reused: Place
    """Rows of the prompt that an earlier run had left in the cache and this run read."""
    prefix: Prefix | None
    created: Name


class Layer(FrameData):
    step: Place
    first_layer: Place
    first_head: Place
    first_query: Place
    companding: Literal["sqrt"]

    @property
    def tensors(self) -> Tensors:
        return ATTENTION | NORMS if self.first_head == 0 else ATTENTION


class Tail(Data):
    low: Logit
    high: Logit
    count: Natural


class Filters(Data):
    temperature: Temperature
    kept_top_k: Natural
    kept_top_p: Natural
    mass_top_k: Share
    mass_top_p: Share


class Milliseconds(Data):
    forward: Ms
    capture: Ms
    sample: Ms
    total: Ms
    chunks: list[Ms] = Field(max_length=MOST_POSITIONS)
    layers: Annotated[list[Ms], Field(max_length=MOST_LAYERS)] | None


class Conditions(Data):
    """What else the machine did during a measured time (docs/frames.md)."""

    disturbed: bool
    others: Natural
    waiting: Annotated[float, Field(ge=0, le=1)] | None
    switches: Natural
    stolen: Annotated[float, Field(ge=0, le=1)] | None


class Windowed(Data):
    positions: Place
    blocks: Annotated[Place | None, OWN] = None


class KV(Data):
    positions: Place
    blocks: Annotated[Place | None, OWN] = None
    block_table: Annotated[PerPosition | None, OWN] = None
    refcounts: Annotated[PerPosition | None, OWN] = None
    bytes_written: Natural
    bytes_used: Natural
    bytes_reserved: Annotated[Natural | None, OWN] = None
    windowed: Windowed | None = None
    """What layers with a sliding window have in the cache; absent if it cannot be less than other layers have."""


class Step(FrameData):
    step: Place
    phase: Literal["prefill", "decode"]
    position: Place
    token: ChosenToken
    entropy: Annotated[float, Field(ge=-0.001, le=64)]
    """Rounding can make it slightly negative."""
    log_z: Logit
    top_tokens: list[Token] = Field(max_length=MOST_TOP)
    tail: Tail
    filters: Annotated[Filters | None, OWN] = None
    ms: Annotated[Milliseconds | None, OWN] = None
    batch: Annotated[int | None, Field(ge=1, le=65_536), OWN] = None
    kv: Annotated[KV | None, OWN] = None
    flops: Annotated[Natural | None, OWN] = None
    bytes_read: Annotated[Natural | None, OWN] = None
    weights_read: Annotated[ByFormat | None, OWN] = None
    rows_computed: Place
    computed_by: Annotated[ComputedBy | None, OWN] = None
    conditions: Conditions | None
    own: OwnToken | None = None
    """The token that a twin would have chosen, if it gets its tokens from another run."""
    kl: Annotated[float, Field(ge=0, le=2.0**128)] | None = None

    @property
    def tensors(self) -> Tensors:
        return CANDIDATES | KEPT


class BeamNode(Data):
    id: Natural
    parent: Natural | None
    token: Token
    logprob: Logit
    total: Logit
    kept: bool
    ended: bool


class BeamKV(Data):
    blocks: Natural
    shared_blocks: Natural
    bytes_used: Natural
    bytes_if_copied: Natural


class Beams(FrameData):
    depth: Natural
    nodes: list[BeamNode]
    best: Natural
    ms: Ms
    rows_computed: Natural
    kv: BeamKV
    conditions: Conditions


Waits = Literal["static", "places", "budget", "blocks", "stretch", "order"]


Copies = Literal["moved", "stored", "fetched"]


class ServingEvent(Data):
    """An event of a request. `count`: how many tokens or blocks; `other`: the number of the other request.

    `why` it waits: no request may join the running ones (static); all places are taken (places); the next pass has
    all rows that it may have (budget); too few blocks are free (blocks); no stretch of free blocks is long enough
    (stretch); another request is before it (order). `free`: the number of free blocks when `count` are needed;
    `longest`: blocks of the longest free stretch. `bytes`, `took_ms`: of blocks that were copied, here from the other
    engine (moved), to the tier below (stored) or from there (fetched).
    """

    ms: Ms
    what: Literal[
        "arrived",
        "waits",
        "joined",
        "shared",
        "first",
        "copied",
        "preempted",
        "cancelled",
        "done",
        "evicted",
        "refused",
        "moved",
        "stored",
        "fetched",
    ]
    request: Place
    count: Place | None = None
    other: Place | None = None
    why: Waits | None = None
    free: Place | None = None
    longest: Place | None = None
    bytes: Natural | None = None
    took_ms: Ms | None = None


class PassMember(Data):
    """The rows of one request of the workload in a pass."""

    request: Place
    phase: Literal["prefill", "decode"]
    first: Place
    rows: Places
    token: Token | None
    more: list[Token] = Field(max_length=1000)
    guessed: Place


class OtherMembers(Data):
    requests: Place
    rows: Place


class RequestState(Data):
    state: Literal["coming", "waiting", "running", "preempted", "done", "cancelled", "refused"]
    positions: Place
    dropped: Place
    table: PerPosition


class Region(Data):
    """Consecutive blocks, `blocks` of them from `first` on."""

    first: Place
    blocks: Places


class Slots(Data):
    """The rows of the blocks that a round may use: filled by running requests; reserved by them and empty; cached of
    ended requests only; free; and, without paging, free in the longest stretch.
    """

    filled: Place
    empty: Place
    cached: Place
    free: Place
    longest: Place | None


class CachedBlock(Data):
    """A block that no request holds, and the request that computed its rows."""

    block: Place
    request: Place


class PoolState(Data):
    blocks: Places
    others: PerPosition
    slots: Slots | None
    region: Region | None
    cached: list[CachedBlock] | None = Field(default=None, max_length=MOST_POSITIONS)
    """Blocks that are found by their content, the next to be evicted first; None if the round shares by token."""


class Asked(FrameData):
    """A request joined the running workload; `number` is its place among the workload's requests."""

    number: Natural
    request: ServedRequest


class Draft(Data):
    """The cost of the drafted tokens that a pass checks, of all its requests."""

    ms: Ms
    passes: Place
    weight_bytes: Natural


class Stage(Data):
    """A half of the layers in a pass. `bytes`, `took_ms`: of the rows that came from the stage before."""

    start_ms: Ms
    ms: Ms
    bytes: Natural
    took_ms: Ms


class Pass(FrameData):
    number: Natural
    round: Natural
    engine: Place | None = None
    """Which of the round's engines computed it; None if the round has none of its own."""
    stages: list[Stage] | None = Field(default=None, min_length=2, max_length=2)
    """None if one engine has all layers."""
    start_ms: Ms
    ms: Ms
    weight_bytes: Natural
    weights_read: ByFormat
    draft: Draft | None
    members: list[PassMember] = Field(max_length=1000)
    others: OtherMembers
    requests: list[RequestState] = Field(max_length=1000)
    pool: PoolState
    events: list[ServingEvent]
    conditions: Conditions | None


class Round(FrameData):
    round: Place
    ms: Ms
    others: Place
    events: list[ServingEvent]


class Close(FrameData):
    reason: Reason
    error: Annotated[str, Field(max_length=MOST_ERROR)] | None
    steps: Natural


class Standing(Data):
    prob: Share
    rank: Natural


class LensLayer(Data):
    layer: Natural
    top: list[RatedToken] = Field(max_length=MOST_TOP)
    chosen: Standing


class Lens(Data):
    token: Token
    layers: list[LensLayer] = Field(max_length=MOST_LAYERS)


class Values(FrameData):
    step: Natural
    layer: Natural
    first_query: Natural
    level: StoredLevel
    """"kv" only of runs that another program computed."""
    window: Annotated[int, Field(ge=1, le=2**53)] | None
    score_width: Factor | None = None
    """Absent if it is head_dim."""
    score_cap: Factor | None = None
    """Absent if scores are not capped."""
    activation: Activation | None = None
    """Absent if it is SiLU with a gate or GELU without one."""
    lens: Lens | None = None
    """Only the last layer's frame has it."""

    @property
    def tensors(self) -> Tensors:
        return {"kv": observed(QKV), "qkv": QKV, "block": QKV | BLOCK}[self.level]


ATTENTION: dict[str, Tensor] = {"attention": Tensor(("U8",), ("part_layers", "part_heads", "queries", "keys"))}
# A model that fails may leave a step unfinished that has values that are not numbers.
NORMS = {
    "q_norm": Tensor(("F16",), ("part_layers", "heads", "queries"), finite=False, least=0),
    "k_norm": Tensor(("F16",), ("part_layers", "kv_heads", "queries"), finite=False, least=0),
    "v_norm": Tensor(("F16",), ("part_layers", "kv_heads", "queries"), finite=False, least=0),
    "residual_norm": Tensor(("F16",), ("part_layers", "queries"), finite=False, least=0),
    "experts": Tensor(("I32",), ("part_layers", "queries", "experts of a row"), optional=True, least=-1),
    "expert_shares": Tensor(
        ("F16",), ("part_layers", "queries", "experts of a row"), optional=True, finite=False, least=0
    ),
}
CANDIDATES = {
    "top_ids": Tensor(("I32",), ("n",), least=0, below="vocab", distinct=True),
    "top_logits": Tensor(("F32",), ("n",), descending=True),
    "tail_counts": Tensor(("I32",), (TAIL_BINS,), least=0),
}
KEPT = {"kept": Tensor(("U8",), ("kept_layers", "kept_heads", "kept_bytes"), optional=True)}
QKV = {
    "q": Tensor(("F32",), ("heads", "T", "head_dim")),
    "k": Tensor(("F32",), ("kv_heads", "T", "head_dim")),
    "v": Tensor(("F32",), ("kv_heads", "T", "head_dim")),
}
_HALVED = ("F16", "F32")
"""F32 if a value does not fit into F16."""
BLOCK = {
    **dict.fromkeys(
        ("resid_in", "attn.normed", "attn.change", "mlp.normed", "mlp.change"), Tensor(_HALVED, ("T", "d"))
    ),
    "mlp.gate": Tensor(_HALVED, ("T", "d_mlp"), optional=True),
    "mlp.raised": Tensor(_HALVED, ("T", "d_mlp")),
    "rope": Tensor(("F32",), ("head_dim / 2",), optional=True),
}
OBSERVED = NORMS.keys() | QKV.keys()
"""Tensors that a log of another program's run has only if that program returned their values."""
_MAY_BE_NULL = ("windows", "experts")
FRAMES: dict[str, type[FrameData]] = {
    "open": Open,
    "layer": Layer,
    "step": Step,
    "beams": Beams,
    "asked": Asked,
    "pass": Pass,
    "round": Round,
    "close": Close,
    "values": Values,
}

KINDS: dict[type[FrameData], str] = {data: kind for kind, data in FRAMES.items()}


def rows_of(prompt: int, step: int, reused: int = 0) -> range:
    """Returns the positions that a step computes: in step 0 those from `reused` to before `prompt`, later one."""
    return range(prompt + step - 1 if step else reused, prompt + step)


_Frame = TypeVar("_Frame", bound=Data)


def observed(tensors: Tensors) -> Tensors:
    """Returns tensors as a log of another program's run may have them: each of `OBSERVED` may be absent."""
    return {name: replace(each, optional=True) if name in OBSERVED else each for name, each in tensors.items()}


def missing_in(data: Data) -> str | None:
    """Returns the first field that every log of KVScope's own runs has and `data` lacks, with a dot before it and
    before each name inside it; None if there is none. Only `windows` and `experts` may be null.
    """
    for name, field in type(data).model_fields.items():
        value = getattr(data, name)
        is_there = name in data.model_fields_set and (value is not None or name in _MAY_BE_NULL)
        if OWN in field.metadata and not is_there:
            return f".{name}"
        if isinstance(value, Data) and (inside := missing_in(value)) is not None:
            return f".{name}{inside}"
    return None


def read_data(kind: type[_Frame], value: Any, where: str) -> _Frame:
    """Returns `value`, parsed from JSON, as frame data of the class `kind`. Raises BadFile."""
    try:
        return kind.model_validate(value, extra="ignore", context=IN_A_LOG)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:80]}" for part in first["loc"])
        reason = "is missing" if first["type"] == "missing" else f"is refused: {first['msg']}"
        raise BadFile(where + place, reason) from None


def check_tensors(
    expected: Tensors, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int], where: str
) -> dict[str, int]:
    """Checks that a frame's tensors are as `expected`. Returns `sizes` with the sizes that the tensors set.

    Raises BadFile, naming the tensor.
    """
    for name in arrays:
        if name not in expected:
            raise BadFile(f"{where}: tensor {name[:80]!r}", "does not belong there")
    all_sizes = dict(sizes)
    for name, tensor in expected.items():
        array, here = arrays.get(name), f"{where}: tensor {name!r}"
        if array is not None:
            _check_form(tensor, array, all_sizes, here)
            _check_values(tensor, array, all_sizes, here)
        elif not tensor.optional:
            raise BadFile(here, "is missing")
    return all_sizes


def not_finite(expected: Tensors, arrays: Mapping[str, np.ndarray], where: str) -> str | None:
    """Returns the first tensor with a non-finite value that a complete step must not have; None if there is none."""
    import numpy as np

    names = [name for name, tensor in expected.items() if not tensor.finite and name in arrays]
    return next((f"{where}: tensor {name!r}" for name in names if not np.isfinite(arrays[name]).all()), None)


def _check_form(tensor: Tensor, array: np.ndarray, sizes: dict[str, int], where: str) -> None:
    if len(array.shape) == len(tensor.shape):
        for name, size in zip(tensor.shape, array.shape, strict=True):
            if isinstance(name, str):
                sizes.setdefault(name, size)
    shape = tuple(sizes.get(name, name) if isinstance(name, str) else name for name in tensor.shape)
    if array.shape != shape or array.dtype.str not in [DTYPES[dtype] for dtype in tensor.dtypes]:
        raise BadFile(where, f"is not {' or '.join(tensor.dtypes)} [{', '.join(map(str, shape))}]")


def _check_values(tensor: Tensor, array: np.ndarray, sizes: Mapping[str, int], where: str) -> None:
    import numpy as np

    if tensor.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadFile(where, "has a value that is not a finite number")
    if tensor.least is not None and array.size and array.min() < tensor.least:
        raise BadFile(where, f"has a value below {tensor.least}")
    if tensor.below is not None and tensor.below in sizes and array.size and array.max() >= sizes[tensor.below]:
        raise BadFile(where, f"has the value {array.max()}, and {tensor.below} is {sizes[tensor.below]}")
    if tensor.descending and (np.diff(array) > 0).any():
        raise BadFile(where, "has a value that is greater than the one before it")
    if tensor.distinct and len(set(array.tolist())) != len(array):
        raise BadFile(where, "has a value twice")
