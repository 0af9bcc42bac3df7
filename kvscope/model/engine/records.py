"""What the engine says: rows captured, steps complete, runs ended. Plain data; no text, no frames."""

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
class KVState:
    """A run's cache after a step. Bytes are read off the pool's tensors."""

    positions: int
    block_table: tuple[int, ...]
    refcounts: tuple[int, ...]
    bytes_written: int
    bytes_used: int
    bytes_reserved: int
    windowed: tuple[int, int] | None = None
    """Positions and blocks that layers with a window hold, of a model that has some."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall time in milliseconds. `chunks`: each forward pass of the step, whoever shared it; `forward` is their sum.

    `capture`: the run's even share of what capturing took after those passes. `layers`: each layer's part of `forward`,
    None where it was not measured. `conditions`: of those passes.
    """

    chunks: tuple[float, ...]
    capture: float
    sample: float
    total: float
    layers: tuple[float, ...] | None
    conditions: Conditions

    @property
    def forward(self) -> float:
        return sum(self.chunks)


@dataclass(frozen=True, slots=True)
class RowsRecord:
    """Rows of a step that have been computed and captured; the step's `StepRecord` follows, perhaps after more rows."""

    run: str
    step: int
    rows: CapturedRows


@dataclass(frozen=True, slots=True)
class Comparison:
    """A step of a run that is given another's tokens. `own`: what it would have chosen; `kl`: Σ p · ln(p ÷ q), in nats,
    of the next token's probabilities p with all rows in the cache and q with those that it has kept."""

    own: Choice
    kl: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A complete step: the token it chose and what that took."""

    run: str
    step: int
    phase: Literal["prefill", "decode"]
    position: int
    choice: Choice
    candidates: Candidates
    timing: Timing
    batch: int
    kv: KVState
    cost: Cost
    by: ComputedBy = "lines"
    forced: bool = False
    """Whether the token was given to the run and not chosen by it."""
    comparison: Comparison | None = None
    where: np.ndarray | None = None
    """Of a run that drops rows, the positions of those that stay after the step: [rows], or [layers, Hkv, rows]."""


@dataclass(frozen=True, slots=True)
class BeamNode:
    """A token that a beam search considered. `parent`: the node it follows, None for the context.

    `logprob`: the token's own log-probability, `total`: that of all tokens after the context. `kept`: it was among the
    best and is followed, unless it `ended` its hypothesis.
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
    """What the hypotheses that may still grow hold of the cache, and what they would hold if none shared any of it."""

    blocks: int
    shared_blocks: int
    bytes_used: int
    bytes_if_copied: int


@dataclass(frozen=True, slots=True)
class BeamsRecord:
    """One depth of a beam search: its best candidates, best first. `best`: the node that ends the best hypothesis.

    `ms`: wall time of the forward pass, `rows` the rows it computed; a context that was not in the cache counts with
    the first depth.
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
    """A token was chosen, of a run of which nothing else is recorded."""

    run: str
    token: int


@dataclass(frozen=True, slots=True)
class PassEntry:
    """What one run brought to a pass: `rows` of its tokens, the first at position `first`, the last ones `guessed`."""

    run: str
    first: int
    rows: int
    guessed: int


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """What guessing took before a pass: wall time, how many passes of the first layers, and the weights that they read.

    Looking up earlier text takes no pass and reads no weights.
    """

    ms: float
    passes: int
    weights: ByFormat


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One forward pass for runs. `started`: time.perf_counter(); `ms`: wall time, guesses and the choice of tokens
    included.

    `weights`: the matrices of blocks and head, as it read them, once for all its rows. `conditions`: of the machine.
    `draft`: what the guesses took that it checks; None where nothing was to be guessed.
    """

    started: float
    ms: float
    weights: ByFormat
    entries: tuple[PassEntry, ...]
    conditions: Conditions
    draft: DraftRecord | None = None


Record = RowsRecord | StepRecord | TokenRecord | BeamsRecord | CloseRecord
