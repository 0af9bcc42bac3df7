"""The end of the log of a run or a saved session."""

from __future__ import annotations

from dataclasses import dataclass

from kvscope.model.api import Frame


@dataclass(slots=True)
class Head:
    """Where a log ends: seq of its last frame, complete steps, bytes of all frames, whether it has a `close` frame."""

    last_seq: int = -1
    steps: int = 0
    bytes: int = 0
    closed: bool = False

    def extend(self, frame: Frame) -> None:
        """Adds the log's next frame. Raises ValueError for another frame."""
        if frame.seq != self.last_seq + 1:
            raise ValueError(f"run {frame.run}: frame {frame.seq} after {self.last_seq}")
        self.last_seq = frame.seq
        self.bytes += len(frame.payload)
        self.steps += frame.kind == "step"
        self.closed = frame.kind == "close"
