"""What the web process and the engine process say to each other over their pipe.

Every message is one of these classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvscope.model.api import Frame, Progress


@dataclass(frozen=True, slots=True)
class Call:
    """Web to engine: call `method` of the service. Answered by a Result or a Failure with the same number.

    `client`: who asks, where calls of several take turns. `within_s`: nobody waits for the answer after so many
    seconds; None: always. No moment is sent, because an engine may be on a machine with another clock.
    """

    number: int
    method: str
    arguments: tuple[Any, ...]
    client: str = ""
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Loading:
    """Engine to web: where loading the model stands."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Ready:
    """Engine to web: the model is loaded. `info` is the `model` object of an `open` frame, `room` as in Frames."""

    info: dict[str, Any]
    room: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Engine to web: on which machine of a cluster it runs."""

    machine: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """Engine to web: what was compiled to make steps faster, or why nothing was, in a line."""

    line: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """Engine to web: the model cannot be had; `message` is one readable sentence. The engine ends after it."""

    message: str


@dataclass(frozen=True, slots=True)
class Beat:
    """Engine to web: it lives. Said every second, whatever else it does."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Engine to web: what one forward pass, start or fork gave, in log order per run.

    `room`: blocks of the KV cache that no open run needs, after it.
    """

    frames: tuple[Frame, ...]
    room: int


@dataclass(frozen=True, slots=True)
class Result:
    """Engine to web: what a call returned. Frames that the call gave were sent before it."""

    number: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Engine to web: what a call raised: `Refused`, or `RuntimeError` for a fault of the engine's own."""

    number: int
    error: Exception


FromEngine = Loading | Ready | Placed | Compiled | LoadFailed | Beat | Frames | Result | Failure
"""All that an engine says."""
