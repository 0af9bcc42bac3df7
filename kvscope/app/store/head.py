"""Where a log ends, a run's or a saved session's."""

from __future__ import annotations

from dataclasses import dataclass

from kvscope.model.api import Frame


@dataclass(slots=True)
class Head:
    """Where a run's log ends: seq of its last frame, complete steps, bytes of all frames, whether it has its `close`
    frame.
    """

    last_seq: int = -1
    steps: int = 0
    bytes: int = 0
    closed: bool = False

    def extend(self, frame: Frame) -> None:
        """Take the log's next frame in. Raises ValueError for another one."""
        if frame.seq != self.last_seq + 1:
            raise ValueError(f"run {frame.run}: frame {frame.seq} after {self.last_seq}")
        self.last_seq = frame.seq
        self.bytes += len(frame.payload)
        self.steps += frame.kind == "step"
        self.closed = frame.kind == "close"
