"""Profiles and arrivals of which it is known what a simulation must make."""

from __future__ import annotations

from random import Random
from typing import Any

from kvscope.app.plan.profile import Profile
from kvscope.app.plan.scenario import Arrival

NOTHING = 0.001
"""ms of a part that is to take no time."""
STEP_MS = 10.0


def profile(**changes: Any) -> Profile:
    """An engine whose passes take STEP_MS however many runs share them; nothing else takes time."""
    members: dict[str, Any] = {
        "format": "kvscope capacity 1",
        "machine": "made up",
        "model": "made up",
        "date": "2026-11-27",
        "command": "none",
        "step": [{"runs": 1, "ms": STEP_MS}, {"runs": 1024, "ms": STEP_MS}],
        "prefill": [{"tokens": 1, "ms": STEP_MS}, {"tokens": 512, "ms": STEP_MS}],
        "call_ms": NOTHING,
        "chunk": 128,
        "positions": 1_000_000,
        "log": {"step": 1000.0, "row": 100.0, "weight": 1.0},
        "web": {
            "request_ms": NOTHING,
            "status_ms": NOTHING,
            "pass_ms": NOTHING,
            "frame_ms": NOTHING,
            "mb_ms": NOTHING,
            "viewer_frame_ms": NOTHING,
            "viewer_mb_ms": NOTHING,
            "deflate_mb_ms": NOTHING,
            "deflated": 0.5,
            "read_mb_ms": NOTHING,
            "page_ms": NOTHING,
            "page_bytes": 1000.0,
        },
        "database": {"stored": 0.5, "wal": 0.75, "mb_ms": 10.0},
    }
    return Profile.model_validate(members | changes)


def poisson(
    count: int,
    per_s: float,
    *,
    prompt_tokens: int = 8,
    tokens: int | None = 20,
    mean_tokens: float = 100,
    seed: int = 1,
) -> list[Arrival]:
    """Arrivals at random, each of another client at another address. `tokens`: None for a geometric number of them."""
    random, at_s, found = Random(seed), 0.0, []
    for number in range(count):
        at_s += random.expovariate(per_s)
        new = tokens if tokens is not None else max(1, round(random.expovariate(1 / mean_tokens)))
        found.append(Arrival(at_s, f"client {number}", f"address {number}", prompt_tokens, new))
    return found
