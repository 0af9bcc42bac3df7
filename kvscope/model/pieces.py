"""Long computations in pieces: between two of them, runs go on.

A computation that may take longer than a forward pass of a run is given to `Pieces`. It calls `pause` as often as it
has done about as much work as a small pass; `Runner.run` does so inside every larger pass. Where nobody has given the
computation to `Pieces`, as in a script, `pause` does nothing.

A thread serves as a coroutine here: it computes only while `go_on` waits for it, so that one of the two threads ever
runs. Unlike a generator it needs nothing of the functions in between, and what torch and Python keep for each thread
(inference mode, trace functions) is not mixed with what the runs have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Semaphore, Thread, current_thread

PIECE_ROWS = 32
"""Rows through all layers, or as much work: a piece takes about as long as three decode steps of one run."""


class Abandoned(BaseException):
    """Nobody waits for the computation any more. Like GeneratorExit, no `except Exception` catches it."""


class Interrupted(Exception):
    """Runs went on during a pause of what is to be measured alone."""


class Pieces(Thread):
    """One computation at a time."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._go, self._paused = Semaphore(0), Semaphore(0)
        self._work: Callable[[], None] | None = None
        self._is_abandoned = False
        self.is_unbroken = False
        self.is_interrupted = False
        """Whether runs went on since the computation began; who lets them go on says so."""

    @property
    def in_progress(self) -> bool:
        """Whether a computation has begun and is not over."""
        return self._work is not None

    def begin(self, work: Callable[[], None]) -> None:
        """Take up a computation; `go_on` computes its pieces. What it raises ends the thread, so it handles errors."""
        assert self._work is None
        if not self.is_alive():
            self.start()
        self._work, self._is_abandoned, self.is_interrupted = work, False, False

    def go_on(self) -> None:
        """Compute up to the next pause, or to the end."""
        self._go.release()
        self._paused.acquire()

    def abandon(self) -> None:
        """End the computation where it has paused; it gives back what it holds."""
        self._is_abandoned = True
        while self.in_progress:
            self.go_on()

    def run(self) -> None:
        """The thread."""
        while True:
            self._go.acquire()
            try:
                assert self._work is not None
                self._work()
            except Abandoned:
                pass
            finally:
                self._work = None
                self._paused.release()

    def rest(self) -> None:
        """Let others go on. Raises Abandoned."""
        self._paused.release()
        self._go.acquire()
        if self._is_abandoned:
            raise Abandoned


def _thread() -> Pieces | None:
    """The one that computes here, where the computation was given to `Pieces`."""
    thread = current_thread()
    return thread if isinstance(thread, Pieces) else None


def in_pieces() -> bool:
    """Whether `pause` lets others go on."""
    thread = _thread()
    return thread is not None and not thread.is_unbroken


def pause() -> None:
    """The end of a piece, where the computation was given to `Pieces`. Raises Abandoned."""
    if (thread := _thread()) and not thread.is_unbroken:
        thread.rest()


def pause_alone() -> None:
    """As `pause`, of what is measured. Raises Interrupted, Abandoned."""
    pause()
    if (thread := _thread()) and thread.is_interrupted:
        raise Interrupted


@contextmanager
def unbroken() -> Iterator[None]:
    """Inside, `pause` does nothing: what is computed cannot be left half done. It should be short."""
    if (thread := _thread()) is None:
        yield
        return
    thread.is_unbroken = True
    try:
        yield
    finally:
        thread.is_unbroken = False
