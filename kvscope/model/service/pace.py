"""Sums the rows and times of all steps since the engine started whose passes had no other run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from kvscope.model.engine.records import StepRecord


@dataclass(slots=True)
class Taken:
    """Totals over some steps: rows computed, and milliseconds of their forward passes."""

    steps: int = 0
    rows: int = 0
    ms: float = 0.0
    disturbed: int = 0
    """How many of the steps have disturbed times."""

    def add(self, record: StepRecord) -> None:
        timing = record.timing
        self.steps += 1
        self.rows += record.cost.rows
        self.ms += timing.forward
        self.disturbed += bool(timing.conditions and timing.conditions.disturbed)

    @property
    def row_ms(self) -> float | None:
        """Milliseconds of a row; None without rows."""
        return self.ms / self.rows if self.rows else None


@dataclass(slots=True)
class Pace:
    """Totals by phase. A decode step of more than one row reads no cache and is not counted."""

    prefill: Taken = field(default_factory=Taken)
    decode: Taken = field(default_factory=Taken)

    def take(self, record: StepRecord) -> None:
        """Counts a step, unless other runs shared its passes."""
        if record.batch > 1:
            return
        if record.phase == "prefill":
            self.prefill.add(record)
        elif record.cost.rows == 1:
            self.decode.add(record)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
