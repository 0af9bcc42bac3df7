"""What the rest of the project may know of the model: plain dataclasses and bytes, no tensors.

The web side imports only this module, `model.settings`, `model.packaged`, `model.sources` and `model.log`; none of
them imports torch.
`model.service.load_service` makes a Service, in the engine process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kvscope.model.settings import Change, Join, Sampling, Workload

MAX_CANDIDATE_CHARS = 64
MAX_BEAMS = 8
MAX_BEAM_LENGTH = 32
MAX_COMPARED = 256
"""Positions of a run that is run again otherwise: all of them in one pass, twice or more."""
BUSY = "A run is being computed. The machine can be measured only when it is idle. Try again when the run has ended."

Action = Literal["pause", "resume", "step", "stop"]

Caching = Literal["kept", "none", "forgotten"]
"""What becomes of K and V after a step: kept, dropped, or dropped and missed (model.engine.engine.Engine.admit)."""

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
"""Learned weights of a block. `attn.q` is W_Q, `mlp.norm` what the norm multiplies with; no model has them all."""

ComputedBy = Literal["lines", "native", "graph"]
"""What computed the blocks in a pass: the lines of model/transformer.py, native code, or CUDA graphs of the lines."""

Unread = Literal["off", "no_client", "evicted", "computing", "window"]
"""Why rows of K and V that an earlier run computed for the same beginning are not read: the run asked not to; its
client is not known; they were evicted; they are not computed yet; or layers with a sliding window have let go of them.
"""

CacheDtype = Literal["float32", "bfloat16", "int8", "int4"]
"""What K and V can be stored as."""

WeightDtype = Literal["float32", "bfloat16"]
"""What the matrices and the embedding can be kept as."""

EffectOf = Literal["heads", "attention", "mlp", "layers", "tokens"]
"""What is switched off, or left out, to see how the next token changes."""

ValueLevel = Literal["qkv", "block"]
"""How much of a step's exact values is kept: the rows of Q, K and V, or also the activations of each block."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to start. `run` is the id the caller chose for it.

    `reuse`: rows of K and V that are in the cache for the same beginning are read, and not computed again. They come
    from runs of the same `owner` alone: how much is read, and how soon the first token is there, would else tell anyone
    how a stranger's prompt begins. A run without an owner shares with none. `model`: which of those that a server
    offers is to compute it; "" is the first.
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
    """After each step, `budget` positions of K and V stay in each layer, by `policy`; all others are dropped.

    `given`: every token is that of the run it is about, and each step says what it would have chosen.
    """

    policy: Policy
    budget: int
    given: bool = False


@dataclass(frozen=True, slots=True)
class TwinRequest:
    """The run `of` once more, with the same prompt and the same settings, but for its `caching` and `keeping`.

    `frames`: its `open` and its `step` frames. The twin takes as many steps.
    """

    run: str
    of: str
    caching: Caching
    frames: tuple[bytes, ...]
    keeping: Keeping | None = None


@dataclass(frozen=True, slots=True)
class ChangedRequest:
    """The run `of` once more, with `changes` to what the model computes. With `of` itself a changed run, these are all
    of its changes.

    `frames`: its `open` frame and those `step` frames whose token a branch set.
    """

    run: str
    of: str
    changes: tuple[Change, ...]
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """What of a changed run decides its values. `tokens`: ids of its prompt."""

    tokens: tuple[int, ...]
    chat: bool
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, opening: Mapping[str, Any]) -> ChangedRun | None:
        """That of the data of an `open` frame; None of an ordinary run."""
        changed = opening["changed"]
        if changed is None:
            return None
        changes = tuple(Change.model_validate(change) for change in changed["changes"])
        return cls(tuple(token["id"] for token in opening["tokens"]), opening["chat"], changes)


@dataclass(frozen=True, slots=True)
class ReadmitRequest:
    """Readmit an evicted run, paused, at the end of its log; `seq` is that of its next frame.

    `frames`: its `open` and its `step` frames.
    """

    run: str
    seq: int
    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """A beam search for the `length` tokens that follow `ids`, which step `step` of the run `of` had before it.

    `opening`: that run's `open` frame.
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
    """Somebody who joins the workload `run` while it is answered."""

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
    """One frame of a run's log, encoded (docs/frames.md), with what a store needs to index it."""

    run: str
    seq: int
    kind: str
    step: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """Where loading stands. `phase`: "fetching" (bytes of the file), "loading" (bytes of weights), "ready"."""

    phase: str
    done: int
    total: int
    message: str


class Refused(ValueError):
    """A request the model side will not serve.

    `field` names the input, `limit` the bound it broke, `status` an HTTP status.
    """

    def __init__(self, field: str, message: str, *, limit: Any = None, status: int = 422):
        super().__init__(field, message, limit, status)
        self.field, self.message, self.limit, self.status = field, message, limit, status

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Callable[..., Refused], tuple[Any, ...]]:
        return _refused, (self.field, self.message, self.limit, self.status)


def _refused(field: str, message: str, limit: Any, status: int) -> Refused:
    return Refused(field, message, limit=limit, status=status)


class Service(Protocol):
    """A loaded model serving runs. Not thread-safe: one thread calls it.

    It also has a method for each question (model.service.questions), which is called by its name.
    """

    info: dict[str, Any]
    """The `model` object of an `open` frame."""

    def report_compiled(self, say: Callable[[str], None]) -> None:
        """`say` hears in a line what was compiled to make steps faster, now and whenever that changes."""
        ...

    def most_bytes(
        self, request: RunRequest | ForkRequest | TwinRequest | ChangedRequest | BeamRequest | WorkloadRequest
    ) -> int:
        """At most so many bytes the log of this request comes to have. Raises Refused."""
        ...

    def start(self, request: RunRequest) -> list[Frame]:
        """Tokenize and admit a run; returns its `open` frame. Raises Refused (prompt, max_new_tokens, capacity)."""
        ...

    def fork(self, request: ForkRequest) -> list[Frame]:
        """Admit a fork; returns its log so far: the parent's frames under the new id, with the forced token."""
        ...

    def twin(self, request: TwinRequest) -> list[Frame]:
        """Admit a twin; returns its `open` frame. Raises Refused."""
        ...

    def changed(self, request: ChangedRequest) -> list[Frame]:
        """Admit a changed run; returns its `open` frame. Raises Refused (changes, capacity)."""
        ...

    def beam(self, request: BeamRequest) -> list[Frame]:
        """Admit a beam search; returns its `open` frame. Raises Refused (beams, length, capacity)."""
        ...

    def workload(self, request: WorkloadRequest) -> list[Frame]:
        """Admit a workload; returns its `open` frame. Raises Refused (requests, rounds, capacity)."""
        ...

    def join(self, request: JoinRequest) -> int:
        """Add a request to a workload, as of now; returns its number there. Raises Refused (run, prompt, …)."""
        ...

    def leave(self, run: str, request: int) -> None:
        """Cancel request number `request` of a workload, as of now. Raises Refused (run, request)."""
        ...

    def control(self, run: str, action: str) -> str:
        """`pause`, `resume`, `step` or `stop`; returns the run's new status: running, paused or closed.

        Raises Refused.
        """
        ...

    def evict_run(self, run: str) -> None:
        """Evict a paused run without changing its log. `readmit` brings it back.

        Raises Refused for a run that is over, goes on, is in the middle of a step, or is a study.
        """
        ...

    def readmit(self, request: ReadmitRequest) -> None:
        """Admit an evicted run again, paused; the engine computes it again from its tokens. Raises Refused."""
        ...

    @property
    def room(self) -> int:
        """Blocks of the KV cache that no open run needs, or may come to need."""
        ...

    @property
    def busy(self) -> bool:
        """Whether `advance` has anything to do."""
        ...

    def advance(self) -> list[Frame]:
        """Advance every active run by one forward pass together; returns the frames that gave, in log order per run."""
        ...

    def measure(self) -> dict[str, Any]:
        """The machine's memory bandwidth and peak, as JSON-able data (docs/frames.md, Measured).

        Raises Refused while a run goes on.
        """
        ...

    def of_changed(self, run: ChangedRun, question: str, *arguments: Any) -> Any:
        """The answer of the method `question`, computed with the changes of that run. Raises Refused."""
        ...

    def values(self, request: ValuesRequest) -> list[Frame]:
        """One `values` frame per layer (docs/frames.md). Raises Refused."""
        ...


def value_bytes(model: Mapping[str, Any], rows: int, level: ValueLevel) -> int:
    """About as many bytes as the values of `rows` rows take, of a model described as in an `open` frame.

    The numbers alone, each of those at level "block" in 16 bits.
    """
    inner = model["heads"] + 2 * model["kv_heads"]
    row = 4 * inner * model["head_dim"]
    if level == "block":
        # Two halves, each with its row after the norm and its change; what comes in; one or two vectors of the MLP.
        row += 2 * (5 * model["d"] + (2 if model["gated"] else 1) * model["d_mlp"])
    return int(rows * model["layers"] * row)


def same_model(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two models, each as an `open` frame describes it, give the same values: the same weights, kept alike."""
    return (one["sha256"], one["weight_dtype"]) == (other["sha256"], other["weight_dtype"])


def called(model: Mapping[str, Any]) -> str:
    """The name of a model that an `open` frame describes, with what its weights are kept as where that is not usual."""
    dtype = model["weight_dtype"]
    return str(model["name"]) if dtype == "float32" else f"{model['name']} in {dtype}"
