"""Logs that begin with another run's: those of forks and of studies (docs/frames.md, Studies)."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any

from kvscope.model.api import ChangedRequest, ForkRequest, Frame, Refused, TwinRequest
from kvscope.model.log import frames
from kvscope.model.log.recorder import now

LARGEST_OPENING = frames.MAX_FRAME_BYTES - 512
"""Most bytes of a run's `open` frame. A fork's or a study's is this one and more: a longer id, where it branched off,
what it is about. With ids of 64 characters that is less than 300 bytes."""

MOST_RECOMPUTED = {"rows": 65_536, "ms": 99_999_999.999, "held": False}
"""As long in a frame as any."""

NOTHING_REUSED = {"reused": 0, "prefix": None}
"""Fields of the `open` frame of a run that computes its whole prompt."""


def fork_opening(request: ForkRequest, recomputed: Mapping[str, Any]) -> Frame:
    """The `open` frame of a fork. `recomputed`: as it has it. Raises Refused when it would be too large."""
    parent = {"run": request.parent, "position": request.position, "token": request.token, "recomputed": recomputed}
    return _opening(request.frames[0], request.run, {"parent": parent})


def forked(request: ForkRequest, token: Mapping[str, Any], recomputed: Mapping[str, Any]) -> list[Frame]:
    """The log that a fork begins with: its parent's frames under the new id, `token` forced in place of the last one.
    Where that is the parent's own token, nothing is forced: the fork continues what its parent began.

    Raises as `fork_opening`.
    """
    _, *between, last = request.frames
    continued = frames.header(last).data["token"]["id"] == request.token
    return [
        fork_opening(request, recomputed),
        *(frames.relabel(payload, request.run, seq) for seq, payload in enumerate(between, 1)),
        frames.relabel(last, request.run, len(between) + 1, {} if continued else {"token": _forced(last, token)}),
    ]


def study_opening(opening: bytes, run: str, study: Mapping[str, Any], max_new_tokens: int) -> Frame:
    """The `open` frame of a study: that of the run it is about, with what it is.

    Raises Refused when it would be too large.
    """
    opened = frames.header(opening).data
    limits = {**opened["limits"], "max_new_tokens": max_new_tokens}
    return _opening(opening, run, {"parent": None, "study": study, "limits": limits, **NOTHING_REUSED})


def changed_opening(request: ChangedRequest) -> Frame:
    """The `open` frame of a changed run: that of the run it was made from, with what is changed. Raises Refused."""
    changes = [change.model_dump() for change in request.changes]
    return _opening(
        request.frames[0],
        request.run,
        {"parent": None, "changed": {"of": request.of, "changes": changes}, **NOTHING_REUSED},
    )


def twin_study(request: TwinRequest) -> dict[str, Any]:
    """What a twin is about, as its `open` frame has it."""
    about = {"kind": "twin", "of": request.of}
    if request.keeping is None:
        return {**about, "cache": request.caching}
    keeping = request.keeping
    tokens = "given" if keeping.given else "own"
    return {**about, "cache": keeping.policy, "budget": keeping.budget, "tokens": tokens}


def _opening(opening: bytes, run: str, changes: Mapping[str, Any]) -> Frame:
    made = frames.relabel(opening, run, 0, {**changes, "created": now()})
    if len(made.payload) > frames.MAX_FRAME_BYTES:
        message = f"With what this would add, the first frame of the run's log would have {len(made.payload):,} bytes; "
        message += f"the limit is {frames.MAX_FRAME_BYTES:,}."
        raise Refused("run", message, limit=frames.MAX_FRAME_BYTES, status=409)
    return made


def _forced(step: bytes, token: Mapping[str, Any]) -> dict[str, Any]:
    """The `token` that is put in place of the one that the frame `step` has.

    Its raw probability is known where it is among the frame's top tokens.
    """
    log_z, stored = frames.header(step).data["log_z"], frames.tensors(step)
    logits = dict(zip(stored["top_ids"].tolist(), stored["top_logits"].tolist(), strict=True))
    prob = exp(logits[token["id"]] - log_z) if token["id"] in logits else None
    return {**token, "prob": prob, "raw_prob": prob, "forced": True}
