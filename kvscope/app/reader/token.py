"""A token, as `kvscope.Run` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the vocabulary. `raw`: its bytes; `text`: the bytes as text, with U+FFFD for parts of characters."""

    id: int
    text: str
    raw: bytes
    special: bool

    @classmethod
    def of(cls, token: Mapping[str, Any]) -> Self:
        """Returns a token of a frame or an answer."""
        return cls(token["id"], token["text"], bytes.fromhex(token["bytes"]), token["special"])
