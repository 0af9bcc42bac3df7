"""What the engine says of its work: rows captured, steps complete, runs ended. Plain data; no text, no frames."""

from __future__ import annotations

from dataclasses import dataclass

from model.candidates import Candidates
from model.capture import CapturedRows
from model.sampling import Choice


@dataclass(frozen=True, slots=True)
class KVState:
    """A run's cache after a step. Bytes are read off the pool's tensors."""

    positions: int
    block_table: tuple[int, ...]
    refcounts: tuple[int, ...]
    bytes_written: int
    bytes_used: int
    bytes_reserved: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall time in milliseconds. `chunks`: each forward pass of the step, whoever shared it; `forward` is their sum.

    `capture`: the run's even share of what capturing took after those passes.
    """

    chunks: tuple[float, ...]
    capture: float
    sample: float
    total: float

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
class StepRecord:
    """A complete step: the token it chose and what that took."""

    run: str
    step: int
    phase: str
    position: int
    choice: Choice
    candidates: Candidates
    timing: Timing
    batch: int
    kv: KVState
    flops: int
    bytes_read: int


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """The end of a run. `reason`: eos, length, stopped or failed."""

    run: str
    reason: str
    error: str | None
    steps: int


Record = RowsRecord | StepRecord | CloseRecord
