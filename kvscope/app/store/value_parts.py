"""Describes the exact values of a session: their level and their frames (docs/sessions.md).

This module imports no database: code that reads a file from elsewhere needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, get_args

from kvscope.model.log import frames as codec

Level = Literal["attention", "qkv", "block"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""What a session can store of its run: only the log, also Q, K and V, or also every value inside the blocks."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a whole log at `level`, "qkv" or "block".

    `parts`: {step, layer, bytes, sha256} of each frame, ordered by step, then layer. `payloads` returns the frames in
    that order, the same in each call.
    """

    level: str
    parts: Sequence[dict[str, Any]]
    payloads: Callable[[], Iterator[bytes]]

    @property
    def about(self) -> dict[str, Any]:
        """The manifest's `values`: {level, bytes, parts}."""
        return {"level": self.level, "bytes": sum(part["bytes"] for part in self.parts), "parts": list(self.parts)}


def describe(payload: bytes) -> dict[str, Any]:
    """Returns the part for a `values` frame. Raises model.log.frames.BadFrame for another frame."""
    header = codec.header(payload)
    if header.kind != codec.VALUES:
        raise codec.BadFrame(f"a {codec.VALUES} frame is expected, not {header.kind!r}")
    digest = sha256(payload).hexdigest()
    return {"step": header.data["step"], "layer": header.data["layer"], "bytes": len(payload), "sha256": digest}
