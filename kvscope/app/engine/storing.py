"""Stores the engine's frames in the log. A run whose frames cannot be stored ends; the other runs continue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from kvscope.app.engine.calls import Calls
from kvscope.app.store.errors import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import Frame

PART_BYTES = 1024 * 1024
"""The most bytes in one transaction. SQLite writes them twice: its log of changes grows by the whole transaction."""


class Storing:
    """Stores frames in the supervisor's thread. `report` gets one line for the operator when a run cannot be stored.

    `runs`: the engine's runs that have not ended; `interrupt` closes them.
    """

    def __init__(self, log: RunLog, calls: Calls, report: Callable[[str], None]) -> None:
        self._log, self._calls, self._report = log, calls, report
        self._unopened: dict[str, str] = {}
        self.runs: set[str] = set()
        self.tokens = 0
        """How many tokens were chosen since the server started."""

    def take(self, frames: tuple[Frame, ...]) -> None:
        """Stores the frames of one message of the engine."""
        self.runs.update(frame.run for frame in frames if frame.kind == "open")
        self.tokens += sum(frame.kind == "step" for frame in frames)
        for part in _parts(frames):
            try:
                self._log.append(part)
            except (StoreError, ValueError):
                # A message has frames of several runs; an error of one run must not end the others.
                for run in dict.fromkeys(frame.run for frame in part):
                    self._take_alone(run, [frame for frame in part if frame.run == run])
            self.runs.difference_update(frame.run for frame in part if frame.kind == "close")

    def why_unopened(self, run: str) -> str | None:
        """Returns why a run that the engine just started has no log, None if it has one. Forgets the reason."""
        return self._unopened.pop(run, None)

    def interrupt(self, why: str) -> None:
        """Closes the open runs, because their engine has ended."""
        for run in list(self.runs):
            self._log.close_run(run, "interrupted", why)
            self.runs.discard(run)

    @property
    def behind(self) -> bool:
        """Whether `close` frames that the database did not take wait in memory."""
        return self._log.has_rest

    def catch_up(self) -> None:
        """Tries to store these `close` frames again."""
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
    """Yields the frames in order, in parts of at most PART_BYTES or one frame."""
    part, size = list[Frame](), 0
    for frame in frames:
        if part and size + len(frame.payload) > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(frame)
        size += len(frame.payload)
    if part:
        yield part
