"""Makes the logs of forks and studies, which begin with another run's frames (docs/frames.md, Studies)."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any

from kvscope.model.api import ChangedRequest, ForkRequest, Frame, Refused, TwinRequest
from kvscope.model.log import frames
from kvscope.model.log.recorder import now

LARGEST_OPENING = frames.MAX_OPENING_BYTES - 512
"""Most bytes of a run's `open` frame. A fork or a study adds to it: a longer id, where it branched off, what it is
about; less than 300 bytes with ids of 64 characters."""

MOST_RECOMPUTED = {"rows": 65_536, "ms": 99_999_999.999, "held": False}
"""The `recomputed` that takes the most bytes in a frame."""

NOTHING_REUSED = {"reused": 0, "prefix": None}
"""Fields of the `open` frame of a run that computes its whole prompt."""


def fork_opening(request: ForkRequest, recomputed: Mapping[str, Any]) -> Frame:
    """Returns the `open` frame of a fork with this `recomputed` field. Raises Refused if it would be too large."""
    parent = {"run": request.parent, "position": request.position, "token": request.token, "recomputed": recomputed}
    return _opening(request.frames[0], request.run, {"parent": parent})


def forked(request: ForkRequest, token: Mapping[str, Any], recomputed: Mapping[str, Any]) -> list[Frame]:
    """Returns a fork's first frames: its parent's under the new id, with `token` forced in place of the last token.

    If that is the parent's own token, nothing is forced and the fork continues its parent. Raises as `fork_opening`.
    """
    _, *between, last = request.frames
    continued = frames.header(last).data["token"]["id"] == request.token
    return [
        fork_opening(request, recomputed),
        *(frames.relabel(payload, request.run, seq) for seq, payload in enumerate(between, 1)),
        frames.relabel(last, request.run, len(between) + 1, {} if continued else {"token": _forced(last, token)}),
    ]


def study_opening(opening: bytes, run: str, study: Mapping[str, Any], max_new_tokens: int) -> Frame:
    """Returns the `open` frame of a study: `opening`, of the run it is about, with the field `study`.

    Raises Refused if it would be too large.
    """
    opened = frames.header(opening).data
    limits = {**opened["limits"], "max_new_tokens": max_new_tokens}
    return _opening(opening, run, {"parent": None, "study": study, "limits": limits, **NOTHING_REUSED})


def changed_opening(request: ChangedRequest) -> Frame:
    """Returns a changed run's `open` frame: its original's, with the changes. Raises Refused if it is too large."""
    changes = [change.model_dump() for change in request.changes]
    return _opening(
        request.frames[0],
        request.run,
        {"parent": None, "changed": {"of": request.of, "changes": changes}, **NOTHING_REUSED},
    )


def twin_study(request: TwinRequest) -> dict[str, Any]:
    """Returns the field `study` of a twin's `open` frame."""
    about = {"kind": "twin", "of": request.of}
    if request.keeping is None:
        return {**about, "cache": request.caching}
    keeping = request.keeping
    tokens = "given" if keeping.given else "own"
    return {**about, "cache": keeping.policy, "budget": keeping.budget, "tokens": tokens}


def _opening(opening: bytes, run: str, changes: Mapping[str, Any]) -> Frame:
    frame = frames.relabel(opening, run, 0, {**changes, "created": now()})
    if (size := len(frame.payload)) > frames.MAX_OPENING_BYTES:
        message = f"With what this would add, the first frame of the run's log would have {size:,} bytes; "
        message += f"the limit is {frames.MAX_OPENING_BYTES:,}."
        raise Refused("run", message, limit=frames.MAX_OPENING_BYTES, status=409)
    return frame


def _forced(step: bytes, token: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `token` as it replaces the token of the frame `step`.

    Its raw probability is known if it is among the frame's top tokens.
    """
    log_z, stored = frames.header(step).data["log_z"], frames.tensors(step)
    logits = dict(zip(stored["top_ids"].tolist(), stored["top_logits"].tolist(), strict=True))
    prob = exp(logits[token["id"]] - log_z) if token["id"] in logits else None
    return {**token, "prob": prob, "raw_prob": prob, "forced": True}
