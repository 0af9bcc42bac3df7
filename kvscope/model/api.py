"""The interface between the model and the rest of the project: plain dataclasses and bytes, no tensors.

The web process imports only this module, `model.settings`, `model.packaged`, `model.sources` and `model.log`; none of
them imports torch. In the engine process, `model.service.load_service` creates a Service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kvscope.model.settings import Change, Join, Sampling, Workload

MAX_CANDIDATE_CHARS = 64
MAX_BEAMS = 8
MAX_BEAM_LENGTH = 32
MAX_BATCH = 16
"""Most rows of the pass with which a row alone is compared."""
MAX_COMPARED = 256
"""Largest number of positions of a run that is computed again in another way: one pass takes all, twice or more."""
BUSY = "A run is being computed. The machine can be measured only when it is idle. Try again when the run has ended."

Action = Literal["pause", "resume", "step", "stop"]

Caching = Literal["kept", "none", "forgotten"]
"""What happens to K and V after a step: "kept": they stay; "none": they are dropped and computed again; "forgotten":
they are dropped and missing (model.engine.engine.Engine.admit)."""

Policy = Literal["window", "sinks", "heavy"]
"""Which positions of K and V stay after a step (model.engine.eviction.staying)."""

Weights = Literal[
    "attn.norm",
    "attn.q",
    "attn.k",
    "attn.v",
    "attn.q_norm",
    "attn.k_norm",
    "attn.rope",
    "attn.out",
    "attn.post_norm",
    "mlp.norm",
    "mlp.gate",
    "mlp.up",
    "mlp.down",
    "mlp.post_norm",
]
"""Learned weights of a block. `attn.q` is W_Q, `mlp.norm` the factors of the norm. No model has all of these."""

ComputedBy = Literal["lines", "native", "graph"]
"""What computed the blocks in a pass: model/transformer.py, native code, or CUDA graphs recorded from transformer.py.
"""

Unread = Literal["off", "no_client", "evicted", "computing", "window"]
"""Why a run does not reuse the rows of K and V that an earlier run computed for the same beginning: its settings forbid
it; its client is unknown; the rows were evicted; they are not computed yet; or layers with a sliding window dropped
them.
"""

CacheDtype = Literal["float32", "bfloat16", "int8", "int4"]
"""The number formats in which K and V can be stored."""

WeightDtype = Literal["float32", "bfloat16"]
"""The number formats of matrices and the embedding."""

EffectOf = Literal["heads", "attention", "mlp", "layers", "tokens", "residual_at", "attention_at", "mlp_at"]
"""The parts that are replaced, or left out, to measure how the next token changes. `…_at`: at one position only."""

Switch = Literal["zero", "mean", "resample", "reference"]
"""What replaces a part's rows: zeros, their mean over the prompt, the rows of another prompt, or their mean over a set
of prompts."""
MAX_SOURCE_CHARS, MAX_REFERENCES = 1_000, 16
"""Most characters of the other prompts, which an address contains, and most prompts of a reference set."""

ValueLevel = Literal["qkv", "block"]
"""Which exact values of a step are stored: the rows of Q, K and V, or also the activations of each block."""
StoredLevel = Literal["kv", ValueLevel]
"""`ValueLevel`, or "kv" of a run that another program computed: what it returned of Q, K and V."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to start. `run` is the id that the caller chose for it.

    `reuse`: whether the run reads cached rows of K and V for the same beginning instead of computing them again. It
    reads only rows of runs with the same `owner`: otherwise the number of rows and the time to the first token would
    reveal how a stranger's prompt begins. A run without an owner shares no rows. `model`: the name of one of the
    server's models; "" is the first.
    """

    run: str
    prompt: str
    chat: bool = False
    max_new_tokens: int = 32
    sampling: Sampling = field(default_factory=Sampling)
    reuse: bool = True
    owner: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A new run that shares `parent`'s first `position` positions and has `token` (an id) at `position`.

    `frames`: the parent's log up to and including the `step` frame that chose the token at `position`.
    """

    run: str
    parent: str
    position: int
    token: int
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Keeping:
    """After each step, each layer keeps `budget` positions of K and V, selected by `policy`, and drops the others.

    `given`: the twin takes every token from its original run, and each step also records the token it would choose.
    """

    policy: Policy
    budget: int
    given: bool = False


@dataclass(frozen=True, slots=True)
class TwinRequest:
    """A repetition of the run `of` with the same prompt and settings except `caching` and `keeping`.

    `frames`: the `open` and `step` frames of `of`. The twin takes as many steps.
    """

    run: str
    of: str
    caching: Caching
    frames: tuple[bytes, ...]
    keeping: Keeping | None = None


@dataclass(frozen=True, slots=True)
class ChangedRequest:
    """A repetition of the run `of` with `changes` to the model's computation. They replace the changes of `of`, if it
    has any.

    `frames`: the `open` frame of `of`, and its `step` frames whose token a branch set.
    """

    run: str
    of: str
    changes: tuple[Change, ...]
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """The parts of a changed run that determine its values. `tokens`: ids of its prompt."""

    tokens: tuple[int, ...]
    chat: bool
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, opening: Mapping[str, Any]) -> ChangedRun | None:
        """Returns the changed run that an `open` frame's data describe; None for an ordinary run."""
        changed = opening["changed"]
        if changed is None:
            return None
        changes = tuple(Change.model_validate(change) for change in changed["changes"])
        return cls(tuple(token["id"] for token in opening["tokens"]), opening["chat"], changes)


@dataclass(frozen=True, slots=True)
class Switching:
    """How parts are switched, and against which other token. `prompt`: how many tokens of the step's text are the run's
    prompt; `chat`: whether it is in the chat template, in which the other prompts are then written too.

    `source`: the other prompt of `resample`, or the prompts of `reference`, one per line; "": the set that ships with
    KVScope. `foil`: id of the token that the step's token is compared with; None: the likeliest other one.
    """

    switch: Switch
    source: str
    foil: int | None
    prompt: int
    chat: bool


@dataclass(frozen=True, slots=True)
class ReadmitRequest:
    """Readmit an evicted run, paused, at the end of its log. `seq`: the number of its next frame.

    `frames`: its `open` and `step` frames.
    """

    run: str
    seq: int
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """A beam search for the `length` tokens that follow `ids`, the tokens before step `step` of the run `of`.

    `opening`: the `open` frame of `of`.
    """

    run: str
    of: str
    step: int
    beams: int
    length: int
    ids: list[int]
    opening: bytes


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """A workload to start."""

    run: str
    workload: Workload


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request that joins the workload `run` while the server answers it."""

    run: str
    ask: Join


@dataclass(frozen=True, slots=True)
class ValuesRequest:
    """The exact values of step `step` of the run `run`, which had the tokens `ids` and chose `token`.

    `first_query`: the first row that the step computed.
    """

    run: str
    step: int
    ids: list[int]
    first_query: int
    token: int
    level: ValueLevel


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a run's log: `payload`, encoded (docs/frames.md), and the fields by which a store indexes it."""

    run: str
    seq: int
    kind: str
    step: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of loading. `phase`: "fetching" (bytes of the file), "loading" (bytes of weights), "ready"."""

    phase: str
    done: int
    total: int
    message: str


class Refused(ValueError):
    """A request that the engine rejects. `field`: the input; `limit`: the bound it broke; `status`: an HTTP status."""

    def __init__(self, field: str, message: str, *, limit: Any = None, status: int = 422):
        super().__init__(field, message, limit, status)
        self.field, self.message, self.limit, self.status = field, message, limit, status

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Callable[..., Refused], tuple[Any, ...]]:
        return _refused, (self.field, self.message, self.limit, self.status)


def _refused(field: str, message: str, limit: Any, status: int) -> Refused:
    return Refused(field, message, limit=limit, status=status)


class NotTakenOver(Refused):
    """A module of `transformers` that KVScope does not implement. It can still run itself (model.observed)."""


class Advancing(Protocol):
    """Computes runs, a pass at a time."""

    def control(self, run: str, action: str) -> str: ...

    def advance(self) -> list[Frame]: ...


class Service(Advancing, Protocol):
    """A loaded model that serves runs. Not thread-safe: one thread calls it.

    It also has a method for each question (model.service.questions), called by the question's name.
    """

    info: dict[str, Any]
    """The `model` object of an `open` frame."""

    def report_compiled(self, say: Callable[[str], None]) -> None:
        """Calls `say` with a line about the compiled code that makes steps faster, now and whenever that changes."""
        ...

    def most_bytes(
        self, request: RunRequest | ForkRequest | TwinRequest | ChangedRequest | BeamRequest | WorkloadRequest
    ) -> int:
        """Returns an upper bound, in bytes, for the log of this request. Raises Refused."""
        ...

    def start(self, request: RunRequest) -> list[Frame]:
        """Tokenizes and admits a run; returns its `open` frame. Raises Refused (prompt, max_new_tokens, capacity)."""
        ...

    def fork(self, request: ForkRequest) -> list[Frame]:
        """Admits a fork; returns its log so far: the parent's frames under the new id, with the forced token."""
        ...

    def twin(self, request: TwinRequest) -> list[Frame]:
        """Admits a twin; returns its `open` frame. Raises Refused."""
        ...

    def changed(self, request: ChangedRequest) -> list[Frame]:
        """Admits a changed run; returns its `open` frame. Raises Refused (changes, capacity)."""
        ...

    def beam(self, request: BeamRequest) -> list[Frame]:
        """Admits a beam search; returns its `open` frame. Raises Refused (beams, length, capacity)."""
        ...

    def workload(self, request: WorkloadRequest) -> list[Frame]:
        """Admits a workload; returns its `open` frame. Raises Refused (requests, rounds, capacity)."""
        ...

    def join(self, request: JoinRequest) -> int:
        """Adds a request to a workload now; returns its number there. Raises Refused (run, prompt, …)."""
        ...

    def leave(self, run: str, request: int) -> None:
        """Cancels request number `request` of a workload now. Raises Refused (run, request)."""
        ...

    def control(self, run: str, action: str) -> str:
        """`pause`, `resume`, `step` or `stop`; returns the run's new status: running, paused or closed.

        Raises Refused.
        """
        ...

    def evict_run(self, run: str) -> None:
        """Evicts a paused run without changing its log. `readmit` brings it back.

        Raises Refused for a run that is closed, active, in the middle of a step, or a study.
        """
        ...

    def readmit(self, request: ReadmitRequest) -> None:
        """Admits an evicted run again, paused; the engine computes it again from its tokens. Raises Refused."""
        ...

    @property
    def room(self) -> int:
        """Blocks of the KV cache that no open run uses or may need later."""
        ...

    @property
    def busy(self) -> bool:
        """Whether `advance` has anything to do."""
        ...

    def advance(self) -> list[Frame]:
        """Advances all active runs together by one forward pass; returns its frames, in log order per run."""
        ...

    def measure(self) -> dict[str, Any]:
        """Measures the machine's memory bandwidth and peak, as JSON-able data (docs/frames.md, Measured).

        Raises Refused while a run is active.
        """
        ...

    def of_changed(self, run: ChangedRun, question: str, *arguments: Any) -> Any:
        """Returns the answer of the method `question`, computed with the changes of that run. Raises Refused."""
        ...

    def values(self, request: ValuesRequest) -> list[Frame]:
        """Returns one `values` frame per layer (docs/frames.md). Raises Refused."""
        ...


def under_changes(opening: Mapping[str, Any], method: str, *arguments: Any) -> tuple[Any, ...]:
    """Returns the method that answers a question about a run with this `open` frame, and its arguments."""
    changed = ChangedRun.of(opening)
    return (method, *arguments) if changed is None else ("of_changed", changed, method, *arguments)


def value_bytes(model: Mapping[str, Any], rows: int, level: ValueLevel) -> int:
    """Estimates the bytes that the exact values of `rows` rows take, for a model described as in an `open` frame.

    Counts only the numbers: 4 bytes each for Q, K and V, 2 bytes each for the activations of level "block".
    """
    inner = model["heads"] + 2 * model["kv_heads"]
    row = 4 * inner * model["head_dim"]
    if level == "block":
        # The block's input, the rows after each half's norm and its changes; one or two vectors inside the MLP.
        row += 2 * (5 * model["d"] + (2 if model["gated"] else 1) * model["d_mlp"])
    return int(rows * model["layers"] * row)


def same_model(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two models, described as in `open` frames, compute the same values: same weights and dtype. Those
    of another program have no hash, and are never the same.
    """
    if "computed_by" in one or "computed_by" in other:
        return False
    return bool((one["sha256"], one["weight_dtype"]) == (other["sha256"], other["weight_dtype"]))


def called(model: Mapping[str, Any]) -> str:
    """Returns the name of a model described as in an `open` frame, with the dtype of its weights if not float32."""
    dtype = model.get("weight_dtype", "float32")
    return str(model["name"]) if dtype == "float32" else f"{model['name']} in {dtype}"
