"""The web process's side of the engine: starts it, restarts it when it dies, stores its frames, carries calls to it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from threading import Event, Lock, Thread
from typing import Any

from kvscope.app.engine import process as engine_process
from kvscope.app.engine.messages import Call, Failure, Frames, LoadFailed, Loading, Ready, Result
from kvscope.app.settings import Settings
from kvscope.app.store.database import StoreError
from kvscope.app.store.runs import RunLog
from kvscope.model.api import BeamRequest, ForkRequest, Frame, RunRequest, TwinRequest

FIRST_RESTART_S = 0.1
SLOWEST_RESTART_S = 30.0
MAX_WAITING_CALLS = 64
STORE_AGAIN_S = 1.0
"""How long after a database could not be written it is tried again, while the engine says nothing."""
NO_ANSWER = 0
"""The number of a call whose answer nobody waits for."""


class EngineUnavailable(Exception):
    """The engine cannot answer now; the message says why, `retry_after` in how many seconds it is worth another try."""

    def __init__(self, message: str, retry_after: int = 2):
        super().__init__(message)
        self.retry_after = retry_after


class TooManyRuns(Exception):
    """As many runs are open as the server takes; `limit` is how many."""

    def __init__(self, limit: int):
        super().__init__(f"{limit} runs are open, which is as many as this server takes. Try again when one has ended.")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the model can be used.

    `state`: fetching, loading, ready, failed or restarting; `done` of `total` bytes of `phase`.
    """

    state: str
    phase: str
    done: int
    total: int
    message: str


STARTING = Readiness("loading", "loading", 0, 0, "Starting the engine")


class EngineLink:
    """One engine process at a time. `report` gets one line for the operator when something goes wrong."""

    def __init__(self, log: RunLog, settings: Settings, report: Callable[[str], None]) -> None:
        self._log = log
        self._settings = settings
        self._report = report
        self._lock = Lock()
        self._sending = Lock()
        self._closing = Event()
        self._connection: Connection | None = None
        self._process: multiprocessing.process.BaseProcess | None = None
        self._readiness = STARTING
        self._info: dict[str, Any] | None = None
        self._calls: dict[int, Future[Any]] = {}
        self._last_call = 0
        self._starting: set[str] = set()
        self._unopened: dict[str, str] = {}
        self._paused: dict[str, float] = {}
        self._restarts = 0
        self._last_failure: str | None = None
        self._supervisor = Thread(target=self._supervise, name="engine-link", daemon=True)

    def start(self) -> None:
        """Start the engine and keep one running until `close`."""
        self._supervisor.start()

    def close(self) -> None:
        """End the engine. Runs that are open close as interrupted."""
        self._closing.set()
        with self._lock:
            process = self._process
        if process is not None:
            process.kill()
        self._supervisor.join()

    @property
    def readiness(self) -> Readiness:
        """Where the engine stands."""
        return self._readiness

    @property
    def info(self) -> dict[str, Any] | None:
        """The `model` object of the loaded model, None until it is loaded."""
        return self._info

    @property
    def pid(self) -> int | None:
        """The engine's process id."""
        process = self._process
        return process.pid if process is not None else None

    @property
    def restarts(self) -> int:
        """How often the engine was started again."""
        return self._restarts

    def start_run(self, request: RunRequest) -> None:
        """Start a run; its `open` frame is stored on return.

        Raises Refused, TooManyRuns, EngineUnavailable, StoreError.
        """
        self._open("start", request)

    def fork_run(self, request: ForkRequest) -> None:
        """Start a fork; its log so far is stored on return.

        Raises Refused, TooManyRuns, EngineUnavailable, StoreError.
        """
        self._open("fork", request)

    def study_run(self, request: TwinRequest | BeamRequest) -> None:
        """Start a twin or a beam search; its `open` frame is stored on return.

        Raises Refused, TooManyRuns, EngineUnavailable, StoreError.
        """
        self._open("twin" if isinstance(request, TwinRequest) else "beam", request)

    def control(self, run: str, action: str) -> str:
        """Pause, resume, step or stop a run; returns its new status. Raises Refused, EngineUnavailable."""
        status = self.call("control", run, action)
        with self._lock:
            self._paused.pop(run, None)
            if status == "paused":
                self._paused[run] = time.monotonic()
        return str(status)

    def is_paused(self, run: str) -> bool:
        """Whether the run was last told to pause."""
        with self._lock:
            return run in self._paused

    def call(self, method: str, *arguments: Any) -> Any:
        """What the service's `method` returns.

        Raises Refused, EngineUnavailable, RuntimeError for a fault inside the engine.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._info is None or self._connection is None:
                raise EngineUnavailable(self._readiness.message)
            if len(self._calls) >= MAX_WAITING_CALLS:
                raise EngineUnavailable("The engine has too many requests waiting.")
            self._last_call += 1
            number = self._last_call
            self._calls[number] = future
            connection = self._connection
        try:
            with self._sending:
                connection.send(Call(number, method, arguments))
            return future.result(self._settings.call_timeout_s)
        except TimeoutError:
            raise EngineUnavailable("The engine did not answer in time.", retry_after=10) from None
        except OSError:
            raise EngineUnavailable("The engine stopped.") from None
        finally:
            with self._lock:
                self._calls.pop(number, None)

    def _open(self, method: str, request: RunRequest | ForkRequest | TwinRequest | BeamRequest) -> None:
        with self._room(request.run):
            try:
                self.call(method, request)
            except EngineUnavailable:
                self._tell(
                    "control", request.run, "stop"
                )  # an answer that came too late must not leave a run nobody knows
                raise
            why = self._unopened.pop(request.run, None)
            if why is not None:
                raise StoreError(why)

    @contextmanager
    def _room(self, run: str) -> Iterator[None]:
        """Hold a place among the open runs, at need the place of a paused run that nobody came back to."""
        limit = self._settings.max_open_runs
        with self._lock:
            taken = len(self._starting.union(self._log.open_runs()))
            abandoned = self._abandoned() if taken >= limit else None
            if taken >= limit and abandoned is None:
                raise TooManyRuns(limit)
            self._starting.add(run)
        try:
            if abandoned is not None:
                self.call("control", abandoned, "stop")
            yield
        finally:
            with self._lock:
                self._starting.remove(run)

    def _abandoned(self) -> str | None:
        oldest = min(self._paused.items(), key=lambda item: item[1], default=None)
        if oldest is None or time.monotonic() - oldest[1] < self._settings.abandoned_after_s:
            return None
        del self._paused[oldest[0]]
        return oldest[0]

    def _supervise(self) -> None:
        delay = FIRST_RESTART_S
        context = multiprocessing.get_context("spawn")
        while not self._closing.is_set():
            ours, theirs = context.Pipe()
            process = context.Process(
                target=engine_process.serve,
                args=(theirs, self._settings.service, self._settings.model, self._settings.device),
                name="kvscope-engine",
                daemon=True,
            )
            process.start()
            theirs.close()
            with self._lock:
                self._connection, self._process = ours, process
            if self._closing.is_set():
                process.kill()
            self._read(ours)
            was_ready = self._info is not None
            self._clean_up(ours, process)
            if self._closing.is_set():
                return
            delay = FIRST_RESTART_S if was_ready else min(delay * 2, SLOWEST_RESTART_S)
            self._closing.wait(self._settings.reload_after_s if self._readiness.state == "failed" else delay)
            self._restarts += 1

    def _read(self, connection: Connection) -> None:
        """Take the engine's messages until it is gone."""
        while True:
            try:
                if self._log.has_rest and not connection.poll(STORE_AGAIN_S):
                    with suppress(StoreError):
                        self._log.store_rest()
                    continue
                message = connection.recv()
            except (EOFError, OSError):
                return
            match message:
                case Frames(frames):
                    self._store(frames)
                case Result(number, value):
                    if (future := self._waiting(number)) is not None:
                        future.set_result(value)
                case Failure(number, error):
                    if (future := self._waiting(number)) is not None:
                        future.set_exception(error)
                case Loading(progress):
                    self._readiness = Readiness(
                        "fetching" if progress.phase == "fetching" else "loading", **asdict(progress)
                    )
                case Ready(info):
                    with self._lock:
                        self._info = info
                        self._readiness = replace(STARTING, state="ready", phase="ready", message="Ready")
                case LoadFailed(reason):
                    if self._last_failure != reason:
                        self._report(reason)
                    self._last_failure = reason
                    self._readiness = replace(STARTING, state="failed", phase="failed", message=reason)

    def _store(self, frames: tuple[Frame, ...]) -> None:
        try:
            self._log.append(frames)
        except (StoreError, ValueError):
            # Runs advance together; what one of them lacks is no fault of the others.
            for run in dict.fromkeys(frame.run for frame in frames):
                self._store_alone(run, [frame for frame in frames if frame.run == run])
        closed = {frame.run for frame in frames if frame.kind == "close"}
        with self._lock:
            for run in closed:
                self._paused.pop(run, None)

    def _store_alone(self, run: str, frames: list[Frame]) -> None:
        try:
            self._log.append(frames)
        except (StoreError, ValueError) as error:
            self._report(str(error))
            if frames[0].kind == "open":
                self._unopened[run] = str(error)
            self._log.close_run(run, "failed", str(error))
            self._tell("control", run, "stop")

    def _tell(self, method: str, *arguments: Any) -> None:
        """Call without waiting for the answer; without an engine, nothing happens."""
        with self._lock:
            connection = self._connection
        if connection is not None:
            with self._sending, suppress(OSError):
                connection.send(Call(NO_ANSWER, method, arguments))

    def _waiting(self, number: int) -> Future[Any] | None:
        with self._lock:
            return self._calls.pop(number, None)

    def _clean_up(self, connection: Connection, process: multiprocessing.process.BaseProcess) -> None:
        """After the engine's end: no call stays unanswered, no run stays open."""
        connection.close()
        process.kill()
        process.join()
        with self._lock:
            calls = list(self._calls.values())
            self._calls.clear()
            self._paused.clear()
            self._connection = self._process = None
            was_ready, self._info = self._info is not None, None
            if self._readiness.state != "failed":
                self._readiness = replace(
                    STARTING, state="restarting", message="The engine stopped and is being started again."
                )
        for future in calls:
            future.set_exception(EngineUnavailable("The engine stopped."))
        for run in self._log.open_runs():
            self._log.close_run(run, "interrupted", "The engine stopped before the run had ended.")
        if was_ready and not self._closing.is_set():
            self._report("The engine stopped and is being started again.")
