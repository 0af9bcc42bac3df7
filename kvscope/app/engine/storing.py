"""Puts the engine's frames into the log. A run whose frames cannot be stored ends; the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from kvscope.app.engine.calls import Calls
from kvscope.app.store.errors import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import Frame

PART_BYTES = 1024 * 1024
"""Stored in one transaction, which an SQLite writes twice: to its log of changes, which would grow by all of it."""


class Storing:
    """Used by the supervisor's thread. `report` gets one line for the operator when a run cannot be stored.

    `runs`: those that the engine has been given and that have not ended, which `interrupt` closes.
    """

    def __init__(self, log: RunLog, calls: Calls, report: Callable[[str], None]) -> None:
        self._log, self._calls, self._report = log, calls, report
        self._unopened: dict[str, str] = {}
        self.runs: set[str] = set()
        self.tokens = 0
        """That were chosen since the server started."""

    def take(self, frames: tuple[Frame, ...]) -> None:
        """Store what one message of the engine brought."""
        self.runs.update(frame.run for frame in frames if frame.kind == "open")
        self.tokens += sum(frame.kind == "step" for frame in frames)
        for some in _parts(frames):
            try:
                self._log.append(some)
            except (StoreError, ValueError):
                # Runs advance together; what one of them lacks is no fault of the others.
                for run in dict.fromkeys(frame.run for frame in some):
                    self._take_alone(run, [frame for frame in some if frame.run == run])
            self.runs.difference_update(frame.run for frame in some if frame.kind == "close")

    def why_unopened(self, run: str) -> str | None:
        """Why a run that the engine just started has no log; None where it has one. Said once."""
        return self._unopened.pop(run, None)

    def interrupt(self, why: str) -> None:
        """Close the runs that are open: their engine is gone."""
        for run in list(self.runs):
            self._log.close_run(run, "interrupted", why)
            self.runs.discard(run)

    @property
    def behind(self) -> bool:
        """Whether the ends of runs wait for a database that did not take them."""
        return self._log.has_rest

    def catch_up(self) -> None:
        """Try to store them again."""
        with suppress(StoreError):
            self._log.store_rest()

    def _take_alone(self, run: str, frames: list[Frame]) -> None:
        try:
            self._log.append(frames)
        except (StoreError, ValueError) as error:
            self._report(str(error))
            if frames[0].kind == "open":
                self._unopened[run] = str(error)
            self._log.close_run(run, "failed", str(error))
            self.runs.discard(run)
            self._calls.tell("control", run, "stop")


def _parts(frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """The frames in order, some at a time."""
    some, size = list[Frame](), 0
    for frame in frames:
        if some and size + len(frame.payload) > PART_BYTES:
            yield some
            some, size = [], 0
        some.append(frame)
        size += len(frame.payload)
    if some:
        yield some
