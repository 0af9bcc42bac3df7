"""Adds frames of the run that a request names to that request, when its run begins, not while it is queued."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import TypeAdapter

from kvscope.app.store.head import Head
from kvscope.app.store.runs import Gone, RunLog
from kvscope.model.api import (
    BeamRequest,
    ChangedRequest,
    ForkRequest,
    ReadmitRequest,
    Refused,
    RunRequest,
    TwinRequest,
    WorkloadRequest,
)
from kvscope.model.log import frames as codec

Request = RunRequest | ForkRequest | TwinRequest | ChangedRequest | BeamRequest | WorkloadRequest
KINDS: dict[str, type[Request]] = {
    "start": RunRequest,
    "fork": ForkRequest,
    "twin": TwinRequest,
    "changed": ChangedRequest,
    "beam": BeamRequest,
    "workload": WorkloadRequest,
}
"""Types of requests, by the method of the engine's service that begins each."""
METHODS = {kind: method for method, kind in KINDS.items()}


def filled(request: Request, log: RunLog) -> Request:
    """Returns the request with the frames of the run that it names. Raises Refused if that was deleted, StoreError."""
    match request:
        case ForkRequest(frames=()):
            try:
                first = len(log.opening(request.parent)["tokens"])
                last = log.chosen(request.parent)[request.position - first][0]
            except (Gone, IndexError):
                last = -1
            shared = tuple(log.all_frames(request.parent, last=last))
            if last < 0 or len(shared) != last + 1:
                raise Refused("run", "The run to branch from was deleted.", status=404)
            return replace(request, frames=shared)
        case TwinRequest(frames=()):
            steps = [seq for seq, _ in log.chosen(request.of)]
            frames = tuple(frame for seq in (0, *steps) for frame in log.frames(request.of, seq - 1, 1))
            _refuse_gone(bool(steps) and len(frames) == 1 + len(steps))
            return replace(request, frames=frames)
        case ChangedRequest(frames=()):
            opened = log.frames(request.of, -1, 1)
            _refuse_gone(bool(opened))
            return replace(request, frames=(opened[0], *_forced(log, request.of)))
        case BeamRequest(opening=b""):
            opened = log.frames(request.of, -1, 1)
            _refuse_gone(bool(opened))
            return replace(request, opening=opened[0])
        case RunRequest() | WorkloadRequest() | ForkRequest() | TwinRequest() | ChangedRequest() | BeamRequest():
            return request  # it names no other run, or already has the frames


def readmit_request(run: str, head: Head, log: RunLog) -> ReadmitRequest:
    """Returns the request to compute an evicted run again: with its `open` frame and each `step` frame. `head`: where
    its log ends. Raises StoreError.
    """
    seqs = (0, *(seq for seq, _ in log.chosen(run)))
    return ReadmitRequest(run, head.last_seq + 1, tuple(log.frames(run, seq - 1, 1)[0] for seq in seqs))


def _forced(log: RunLog, run: str) -> Iterator[bytes]:
    """Yields the `step` frames whose token a branch set: the first step of each branch."""
    for seq, _ in log.chosen(run):
        (step,) = log.frames(run, seq - 1, 1)
        if codec.header(step).data["token"].get("forced"):
            yield step


def to_json(request: Request) -> str:
    """Returns a request, without frames of another run, as JSON for `from_json`."""
    return TypeAdapter(type(request)).dump_json(request).decode()


def from_json(kind: str, text: str) -> Request:
    """Returns the request. Raises ValueError for JSON that another version wrote."""
    if kind not in KINDS:
        raise ValueError(kind)
    request: Request = TypeAdapter(KINDS[kind]).validate_json(text)
    return request


def _refuse_gone(is_stored: bool) -> None:
    if not is_stored:
        raise Refused("run", "The original run was deleted.", status=404)
