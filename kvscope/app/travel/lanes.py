"""A workload's first round as lanes over time, for its card and picture, as static/serving/lanes.js draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kvscope.model.log.frames import Header

ENDS = ("done", "cancelled", "refused")


@dataclass(slots=True)
class Lane:
    """One request; milliseconds since the round began."""

    prompt: str
    arrives: float
    ends: float | None = None
    """When it ended: done, cancelled or refused. None if the log does not say."""
    reads: list[tuple[float, float]] = field(default_factory=list)
    """Start and end of the passes that read its prompt."""
    words: list[float] = field(default_factory=list)
    """When each token was generated."""
    tokens: list[dict[str, Any]] = field(default_factory=list)
    """The generated tokens."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """`passes`: number in the round. `ends`: time of the last event."""

    lanes: list[Lane]
    passes: int
    ends: float


def lanes_of(log: Iterable[Header]) -> Lanes:
    """Returns the lanes of a workload's frames, `open` first."""
    opening, *frames = log
    study = opening.data["study"]
    speed = study["rounds"][0].get("speed", 1)
    lanes = [Lane(request["prompt"], request["arrives_ms"] / speed) for request in study["requests"]]
    passes, ends = 0, 0.0
    for frame in frames:
        if frame.kind == "asked":
            lanes.append(Lane(frame.data["request"]["prompt"], frame.data["request"]["arrives_ms"] / speed))
        if frame.data.get("round") != 0:
            continue
        if frame.kind == "pass":
            begin = frame.data["start_ms"]
            passes, ends = passes + 1, begin + frame.data["ms"]
            for member in frame.data["members"]:
                lane = lanes[member["request"]]
                if member["phase"] == "prefill":
                    lane.reads.append((begin, ends))
                chosen = [*([member["token"]] if member["token"] else []), *member["more"]]
                lane.tokens += chosen
                lane.words += [ends] * len(chosen)
        for event in frame.data["events"]:
            if event["what"] in ENDS:
                # The last token exists when its pass ends, whatever time the log has for the event.
                by_pass = frame.kind == "pass" and event["what"] == "done"
                lanes[event["request"]].ends = ends if by_pass else event["ms"]
    last = [lane.ends for lane in lanes if lane.ends is not None]
    return Lanes(lanes, passes, max([ends, *last]))
