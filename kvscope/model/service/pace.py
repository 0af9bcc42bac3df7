"""How fast steps were since the engine started: of those that had their passes to themselves, in all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from kvscope.model.engine.records import StepRecord


@dataclass(slots=True)
class Taken:
    """What some steps took: rows that went through the model, and the time of their forward passes."""

    steps: int = 0
    rows: int = 0
    ms: float = 0.0
    disturbed: int = 0
    """How many of the steps other programs disturbed."""

    def add(self, record: StepRecord) -> None:
        timing = record.timing
        self.steps += 1
        self.rows += record.cost.rows
        self.ms += timing.forward
        self.disturbed += bool(timing.conditions and timing.conditions.disturbed)


@dataclass(slots=True)
class Pace:
    """By phase. A decode step that computes more than one row has no cache to read, and is not counted."""

    prefill: Taken = field(default_factory=Taken)
    decode: Taken = field(default_factory=Taken)

    def take(self, record: StepRecord) -> None:
        """Count a step, unless others shared its passes."""
        if record.batch > 1:
            return
        if record.phase == "prefill":
            self.prefill.add(record)
        elif record.cost.rows == 1:
            self.decode.add(record)

    def as_json(self) -> dict[str, Any]:
        """Both."""
        return asdict(self)
