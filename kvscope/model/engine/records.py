"""Records that the engine returns: captured rows, complete steps, ended runs. Plain data without text or frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kvscope.model.api import ComputedBy
from kvscope.model.engine.candidates import Candidates
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.conditions import Conditions
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.sampling import Choice
from kvscope.model.weights import ByFormat


@dataclass(frozen=True, slots=True)
class Paged:
    """The blocks of a run in the paged cache, how many runs reference each, and their bytes."""

    block_table: tuple[int, ...]
    refcounts: tuple[int, ...]
    bytes_reserved: int


@dataclass(frozen=True, slots=True)
class KVState:
    """A run's cache after a step. Byte counts come from the tensors. `paged`: None for a cache without blocks."""

    positions: int
    bytes_written: int
    bytes_used: int
    paged: Paged | None
    windowed: tuple[int, int | None] | None = None
    """Positions and blocks in layers with a window; None if the model has none."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall times in milliseconds. `chunks`: each forward pass of the step, shared or not; `forward` is their sum.

    `capture`: the run's equal share of the capture time after these passes. `layers`: each layer's part of `forward`,
    None if not measured. `conditions`: during these passes, None if not recorded.
    """

    chunks: tuple[float, ...]
    capture: float
    sample: float
    total: float
    layers: tuple[float, ...] | None
    conditions: Conditions | None

    @property
    def forward(self) -> float:
        return sum(self.chunks)


@dataclass(frozen=True, slots=True)
class RowsRecord:
    """Captured rows of a step. More rows may follow, then the step's `StepRecord`."""

    run: str
    step: int
    rows: CapturedRows


@dataclass(frozen=True, slots=True)
class Comparison:
    """A step of a run that is fed another run's tokens. `own`: its own choice; `kl`: Σ p · ln(p ÷ q), in nats, of the
    next token's probabilities p with all rows in the cache and q with the rows that stayed."""

    own: Choice
    kl: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStep:
    """A complete step of any program: the token that it chose, and what is known of its time and its cache.

    `rows`: how many rows it computed. `batch`: how many runs shared its passes.
    """

    run: str
    step: int
    phase: Literal["prefill", "decode"]
    position: int
    choice: Choice
    candidates: Candidates
    rows: int
    timing: Timing | None
    batch: int | None
    kv: KVState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord(ObservedStep):
    """A complete step of the engine."""

    timing: Timing
    batch: int
    kv: KVState
    cost: Cost
    by: ComputedBy = "lines"
    forced: bool = False
    """Whether the token was forced and not chosen by the run."""
    comparison: Comparison | None = None
    where: np.ndarray | None = None
    """Positions of the rows that stay after the step, [rows] or [layers, Hkv, rows]; None if the run drops no rows."""


@dataclass(frozen=True, slots=True)
class BeamNode:
    """A token that a beam search considered. `parent`: the node it follows, None for the context.

    `logprob`: the token's log-probability; `total`: the sum over all tokens after the context. `kept`: it is among the
    best; the search follows it unless it `ended` its hypothesis.
    """

    id: int
    parent: int | None
    token: int
    logprob: float
    total: float
    kept: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class BeamKV:
    """The cache use of the hypotheses that may still grow, and their bytes if they shared no blocks."""

    blocks: int
    shared_blocks: int
    bytes_used: int
    bytes_if_copied: int


@dataclass(frozen=True, slots=True)
class BeamsRecord:
    """One depth of a beam search: its best candidates, best first. `best`: the last node of the best hypothesis.

    `ms`: wall time of its forward passes; `rows`: rows that they computed. The first depth includes the rows of the
    context that were not cached.
    """

    run: str
    depth: int
    nodes: tuple[BeamNode, ...]
    best: int
    ms: float
    rows: int
    kv: BeamKV
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """The end of a run. `reason`: eos, length, stopped or failed. A beam search has no steps, only depths."""

    run: str
    reason: str
    error: str | None
    steps: int


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A chosen token of a run that records only tokens."""

    run: str
    token: int


@dataclass(frozen=True, slots=True)
class PassEntry:
    """One run's part of a pass: `rows` rows from position `first`; the last `guessed` of them are guesses."""

    run: str
    first: int
    rows: int
    guessed: int


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """The cost of guessing before a pass: wall time in milliseconds, passes of the first layers, and the weights that
    they read. Prompt lookup takes no pass and reads no weights.
    """

    ms: float
    passes: int
    weights: ByFormat


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One forward pass for runs. `started`: time.perf_counter(); `ms`: wall time, with guessing and choosing tokens.

    `weights`: bytes of the matrices of blocks and head, read once for all rows. `conditions`: of the machine. `draft`:
    the cost of the guesses that it checks, None without guesses.
    """

    started: float
    ms: float
    weights: ByFormat
    entries: tuple[PassEntry, ...]
    conditions: Conditions
    draft: DraftRecord | None = None


Record = RowsRecord | StepRecord | TokenRecord | BeamsRecord | CloseRecord
