"""Messages between the web process and the engine process over their pipe. Each is one of these classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvscope.model.api import Frame, Progress


@dataclass(frozen=True, slots=True)
class Call:
    """Web to engine: call `method` of the service. Answered by a Result or a Failure with the same number.

    `client`: who asks; calls of several clients take turns. `within_s`: seconds for which somebody waits for the
    answer, None for ever. It is no point in time, because an engine may be on a machine with another clock.
    """

    number: int
    method: str
    arguments: tuple[Any, ...]
    client: str = ""
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Loading:
    """Engine to web: how far the model is loaded."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Ready:
    """Engine to web: the model is loaded. `info` is the `model` object of an `open` frame, `room` as in Frames."""

    info: dict[str, Any]
    room: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Engine to web: the machine of a cluster on which the engine runs."""

    machine: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """Engine to web: one line that says what was compiled to make steps faster, or why nothing was."""

    line: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """Engine to web: the model cannot be loaded; `message` is one readable sentence. The engine ends after it."""

    message: str


@dataclass(frozen=True, slots=True)
class Beat:
    """Engine to web: the engine process lives. Sent every second, whatever else it does."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Engine to web: the frames of one forward pass, start or fork, in log order per run.

    `room`: blocks of the KV cache that no open run needs afterwards.
    """

    frames: tuple[Frame, ...]
    room: int


@dataclass(frozen=True, slots=True)
class Result:
    """Engine to web: the value that a call returned. The frames of the call were sent before it."""

    number: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Engine to web: the exception of a call: `Refused`, or `RuntimeError` for a fault inside the engine."""

    number: int
    error: Exception


FromEngine = Loading | Ready | Placed | Compiled | LoadFailed | Beat | Frames | Result | Failure
"""Every message that an engine sends."""
