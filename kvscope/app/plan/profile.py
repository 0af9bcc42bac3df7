"""What one machine takes for each part of serving a run, as `python -m tools.bench.capacity` measures it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from kvscope.app.bodies import read
from kvscope.app.plan.errors import CannotPlan
from kvscope.app.text_files import NotUtf8, text_of
from kvscope.model.api import Refused
from kvscope.model.settings import MAX_PROMPT_TOKENS, Settings

SHIPPED = Path(__file__).resolve().parent / "profile.json"
MOST_BYTES = 1_000_000
"""Of a profile's file."""
FRAME_WEIGHT_BYTES = 60_000
"""Of attention weights in one `layer` frame, which has at most 64 KB."""

Ms = Annotated[float, Field(gt=0, le=600_000)]
Bytes = Annotated[float, Field(gt=0, le=1e9)]
Ratio = Annotated[float, Field(gt=0, le=10)]


class StepTime(Settings):
    """A decode step of so many runs together."""

    runs: int = Field(ge=1, le=1024)
    ms: Ms


class PrefillTime(Settings):
    """All passes over a prompt of so many tokens, of one run alone."""

    tokens: int = Field(ge=1, le=MAX_PROMPT_TOKENS)
    ms: Ms


class LogBytes(Settings):
    """A pass of a run writes `step`, if it chooses a token, `row` for each row and `weight` for each attention weight.

    A pass of q rows over k keys has q · k weights, those that the causal mask hides among them.
    """

    step: Bytes
    row: Bytes
    weight: Bytes


class WebTime(Settings):
    """Processor time of the web process."""

    request_ms: Ms
    """To start a run."""
    status_ms: Ms
    """To answer a queued run's request for its place."""
    pass_ms: Ms
    """To receive and store what a pass of the engine brought, with the next two."""
    frame_ms: Ms
    mb_ms: Ms
    viewer_frame_ms: Ms
    """To send a frame to one viewer, with the next."""
    viewer_mb_ms: Ms
    deflate_mb_ms: Ms
    """To compress a frame for a viewer elsewhere."""
    deflated: Ratio
    """Compressed bytes, of the frame's."""
    read_mb_ms: Ms
    """To read a stored run over HTTP."""
    page_ms: Ms
    page_bytes: Bytes
    """A first visit, nothing in the browser's cache."""


class DatabaseCost(Settings):
    """PostgreSQL, by bytes of the log."""

    stored: Ratio
    """Bytes that tables and indexes grow by."""
    wal: Ratio
    """Bytes of the write-ahead log."""
    mb_ms: Ms
    """Processor time of PostgreSQL to store a MB."""


def _ascending(name: str) -> AfterValidator:
    def check(points: Sequence[object]) -> Sequence[object]:
        places = [getattr(point, name) for point in points]
        if places != sorted(set(places)):
            raise PydanticCustomError("ascending", "{name} must ascend", {"name": name})
        return points

    return AfterValidator(check)


class Profile(Settings):
    """Figures of one machine and one model."""

    format: Literal["kvscope capacity 1"]
    machine: str = Field(min_length=1, max_length=200)
    model: str = Field(min_length=1, max_length=200)
    date: str = Field(min_length=1, max_length=40)
    command: str = Field(min_length=1, max_length=200)
    step: Annotated[list[StepTime], Field(min_length=2, max_length=64), _ascending("runs")]
    prefill: Annotated[list[PrefillTime], Field(min_length=2, max_length=64), _ascending("tokens")]
    call_ms: Ms
    """A call to the engine between two passes. A start of a run makes two."""
    chunk: int = Field(ge=1, le=MAX_PROMPT_TOKENS)
    """Rows of a prompt in one pass."""
    positions: int = Field(ge=1, le=10**9)
    """Positions of the KV cache that may be promised to runs."""
    log: LogBytes
    web: WebTime
    database: DatabaseCost

    def step_s(self, runs: int) -> float:
        """Seconds of a pass in which so many runs decode; 0 for none."""
        if runs == 0:
            return 0.0
        return _between([(point.runs, point.ms) for point in self.step], runs) / 1000

    def prefill_s(self, tokens: int) -> float:
        """Seconds of the passes over the first `tokens` of a prompt; 0 for none."""
        if tokens == 0:
            return 0.0
        return _between([(point.tokens, point.ms) for point in self.prefill], tokens) / 1000

    @property
    def pass_s(self) -> float:
        """Seconds of a pass that do not depend on how many runs share it: the line through steps of the fewest runs,
        continued to none.
        """
        first = self.step_s(1)
        return min(max(0.0, 2 * first - self.step_s(2)), first, self.prefill_s(1))

    def pass_bytes(self, rows: int, keys: int, *, chooses: bool) -> float:
        """Bytes of the log from a run's part of a pass over so many rows and keys."""
        return self.log.step * chooses + self.log.row * rows + self.log.weight * rows * keys

    def frames(self, rows: int, keys: int, *, chooses: bool) -> int:
        """Frames of that part."""
        return chooses + max(1, round(self.log.weight * rows * keys / FRAME_WEIGHT_BYTES))

    def store_s(self, frames: int, size: float) -> float:
        """Seconds of a web process for a pass of so many frames and bytes."""
        return (self.web.pass_ms + self.web.frame_ms * frames + self.web.mb_ms * size / 1e6) / 1000

    def send_s(self, frames: int, size: float, *, elsewhere: bool) -> float:
        """Seconds of a web process to send them to one viewer. `elsewhere`: on another machine, so compressed."""
        by_mb = self.web.viewer_mb_ms + (self.web.deflate_mb_ms if elsewhere else 0)
        return (self.web.viewer_frame_ms * frames + by_mb * size / 1e6) / 1000


def _between(points: Sequence[tuple[int, float]], at: int) -> float:
    """The value on the lines through the points; beyond the ends, on the lines of the first two and the last two, but
    never less than half of the nearest point's.
    """
    places = [place for place, _ in points]
    right = min(max(bisect_left(places, at), 1), len(points) - 1)
    (x0, y0), (x1, y1) = points[right - 1 : right + 1]
    value = y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    nearest = points[0][1] if at < places[0] else points[-1][1] if at > places[-1] else value
    return max(value, nearest / 2)


def load(path: Path = SHIPPED) -> Profile:
    """The profile in a file. Raises CannotPlan."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CannotPlan(f"{path} has more than {MOST_BYTES:,} bytes, so it is not a profile.")
        return read(Profile, text_of(path.read_bytes()).encode())
    except OSError as error:
        raise CannotPlan(f"{path} cannot be read: {error.strerror}.") from None
    except NotUtf8 as error:
        raise CannotPlan(f"{path} is not a profile: {error}.") from None
    except Refused as refused:
        message = refused.message.replace("The body", "It")
        raise CannotPlan(f"{path} is not a profile of `python -m tools.bench.capacity --measure`. {message}") from None
