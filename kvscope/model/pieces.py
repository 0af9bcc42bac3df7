"""Divide long computations into pieces, so that runs continue between two pieces.

A computation that may take longer than a forward pass of a run is passed to `Pieces`. It calls `pause` each time it has
done about as much work as a small pass; `Runner.run` does so inside every larger pass. In a computation outside
`Pieces`, as in a script, `pause` does nothing.

The thread works as a coroutine: it computes only while `go_on` waits for it, so only one of the two threads runs at a
time. Unlike with a generator, the functions in between need no change, and the per-thread state of torch and Python
(inference mode, trace functions) is not mixed with the runs' state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Semaphore, Thread, current_thread

PIECE_ROWS = 32
"""Rows through all layers, or as much other work, in a piece: about the time of three decode steps of one run."""


class Abandoned(BaseException):
    """The computation's result is no longer needed. As with GeneratorExit, no `except Exception` catches it."""


class Interrupted(Exception):
    """Runs continued during a pause of a measurement that must run alone."""


class Pieces(Thread):
    """A thread that computes one computation at a time, piece by piece."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._go, self._paused = Semaphore(0), Semaphore(0)
        self._work: Callable[[], None] | None = None
        self._is_abandoned = False
        self.is_unbroken = False
        self.is_interrupted = False
        """Whether runs continued since the computation began; set by the code that continues them."""

    @property
    def in_progress(self) -> bool:
        """Whether a computation has begun and not ended."""
        return self._work is not None

    def begin(self, work: Callable[[], None]) -> None:
        """Starts a computation; `go_on` computes its pieces. `work` must handle errors: exceptions end the thread."""
        assert self._work is None
        if not self.is_alive():
            self.start()
        self._work, self._is_abandoned, self.is_interrupted = work, False, False

    def go_on(self) -> None:
        """Computes up to the next pause, or to the end."""
        self._go.release()
        self._paused.acquire()

    def abandon(self) -> None:
        """Ends the computation at its pause; its `finally` clauses release its resources."""
        self._is_abandoned = True
        while self.in_progress:
            self.go_on()

    def run(self) -> None:
        """Runs the thread: computes whenever `go_on` allows it."""
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
        """Pauses until the next `go_on`. Raises Abandoned."""
        self._paused.release()
        self._go.acquire()
        if self._is_abandoned:
            raise Abandoned


def _thread() -> Pieces | None:
    """Returns the current thread if it is a `Pieces`, or else None."""
    thread = current_thread()
    return thread if isinstance(thread, Pieces) else None


def in_pieces() -> bool:
    """Returns whether `pause` pauses here."""
    thread = _thread()
    return thread is not None and not thread.is_unbroken


def pause() -> None:
    """Ends a piece, if the computation runs in `Pieces`. Raises Abandoned."""
    if (thread := _thread()) and not thread.is_unbroken:
        thread.rest()


def pause_alone() -> None:
    """Ends a piece of a measurement. Raises Interrupted if runs continued meanwhile, and Abandoned."""
    pause()
    if (thread := _thread()) and thread.is_interrupted:
        raise Interrupted


@contextmanager
def unbroken() -> Iterator[None]:
    """Disables `pause` for a short computation that must not be abandoned half done."""
    if (thread := _thread()) is None:
        yield
        return
    thread.is_unbroken = True
    try:
        yield
    finally:
        thread.is_unbroken = False
