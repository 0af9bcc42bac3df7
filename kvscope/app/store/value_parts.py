"""What a session stores beyond its frames: how much, and which frames of exact values (docs/sessions.md).

No database is imported here: what reads a stranger's file needs no more than this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, get_args

from kvscope.model.log import frames as codec

Level = Literal["attention", "qkv", "block"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""What a session can have of its run: the log alone, with Q, K and V, or with every value inside the blocks."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a whole log at `level`, "qkv" or "block".

    `parts`: {step, layer, bytes, sha256} of each frame, steps in order and layers within each; `payloads` gives the
    frames in that order, the same each time it is called.
    """

    level: str
    parts: Sequence[dict[str, Any]]
    payloads: Callable[[], Iterator[bytes]]

    @property
    def about(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {"level": self.level, "bytes": sum(part["bytes"] for part in self.parts), "parts": list(self.parts)}


def describe(payload: bytes) -> dict[str, Any]:
    """The part that a values frame is. Raises model.log.frames.BadFrame for another frame."""
    header = codec.header(payload)
    if header.kind != codec.VALUES:
        raise codec.BadFrame(f"a {codec.VALUES} frame is expected, not {header.kind!r}")
    digest = sha256(payload).hexdigest()
    return {"step": header.data["step"], "layer": header.data["layer"], "bytes": len(payload), "sha256": digest}
