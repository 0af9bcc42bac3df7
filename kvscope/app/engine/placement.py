"""Remembers which engine computed a run, because that engine may still have the run's blocks of the KV cache."""

from __future__ import annotations

from collections import OrderedDict
from itertools import takewhile
from threading import Lock

from kvscope.app.engine.filling import Request
from kvscope.model.api import (
    BeamRequest,
    ChangedRequest,
    ForkRequest,
    ReadmitRequest,
    RunRequest,
    TwinRequest,
    WorkloadRequest,
)

MOST_REMEMBERED = 1000
"""Runs. The blocks of older runs are in use by other runs."""
SHARED_CHARS = 64
"""Prompts whose first 64 characters are equal may share a block of 16 tokens."""


def origin_of(request: Request | ReadmitRequest) -> str | None:
    """Returns the run that a request continues or is about; None for a new run or workload."""
    match request:
        case ForkRequest():
            return request.parent
        case TwinRequest() | ChangedRequest() | BeamRequest():
            return request.of
        case ReadmitRequest():
            return request.run
        case RunRequest() | WorkloadRequest():
            return None


class Placement:
    """The engines of the last runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._engines: OrderedDict[str, str] = OrderedDict()
        self._prompts: dict[str, RunRequest] = {}

    def note(self, request: Request | ReadmitRequest, engine: str) -> None:
        """Notes that an engine has taken a run."""
        with self._lock:
            self._engines[request.run] = engine
            if isinstance(request, RunRequest) and request.owner:
                self._prompts[request.run] = request
            if len(self._engines) > MOST_REMEMBERED:
                run, _ = self._engines.popitem(last=False)
                self._prompts.pop(run, None)

    def near(self, request: Request | ReadmitRequest) -> str | None:
        """Returns the engine that may have blocks for the request: the engine of its origin, or of the run of the same
        owner whose prompt shares the longest beginning with it. None if there is no such engine.
        """
        with self._lock:
            if isinstance(request, RunRequest):
                run = self._longest_shared(request) if request.reuse else None
            else:
                run = origin_of(request)
            return self._engines.get(run) if run else None

    def _longest_shared(self, request: RunRequest) -> str | None:
        beginning = request.prompt[:SHARED_CHARS]
        if len(beginning) < SHARED_CHARS:
            return None
        shared = {
            run: _shared_chars(earlier.prompt, request.prompt)
            for run, earlier in self._prompts.items()
            if earlier.owner == request.owner and earlier.prompt.startswith(beginning)
        }
        return max(shared, key=lambda run: shared[run], default=None)


def _shared_chars(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
