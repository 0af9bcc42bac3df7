"""Runs an engine process: starts it, reads its messages, and starts it again when it ends."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Thread
from typing import Any

from kvscope.app.engine.calls import Calls
from kvscope.app.engine.messages import (
    Beat,
    Compiled,
    Failure,
    Frames,
    FromEngine,
    LoadFailed,
    Loading,
    Placed,
    Ready,
    Result,
)
from kvscope.app.engine.storing import Storing
from kvscope.app.engine.vitals import Vitals
from kvscope.app.settings import Settings

FIRST_RESTART_S = 0.1
SLOWEST_RESTART_S = 30.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the model can be used.

    `state`: fetching, loading, ready, failed, restarting or unloaded; `done` of `total` bytes of `phase`. `compiled`:
    one line that says what was compiled to make steps faster, or why nothing was; empty if it was not tried.
    """

    state: str
    phase: str
    done: int
    total: int
    message: str
    compiled: str = ""


STARTING = Readiness("loading", "loading", 0, 0, "Starting the engine")
RESTARTING = replace(STARTING, state="restarting", message="The engine stopped and is restarting.")
STOPPED = "The engine stopped before the run ended."
HUNG = "The engine stopped responding before the run ended."


class Supervisor:
    """Runs one engine process at a time; its frames go to `storing`, its answers to `calls`.

    `work`: a function that can be pickled; the process calls it with its end of the connection. `folder`: for the
    engine's temporary files; the engine is always killed, so it cannot remove them itself. `report` gets one line for
    the operator on an error.
    """

    def __init__(
        self,
        calls: Calls,
        storing: Storing,
        settings: Settings,
        report: Callable[[str], None],
        work: Callable[[Connection], None],
        folder: Path,
    ) -> None:
        self._calls, self._storing, self._settings, self._report = calls, storing, settings, report
        self._work, self._folder = work, folder
        self._closing = Event()
        self._process: BaseProcess | None = None
        self._hung: Readiness | None = None
        self._info: dict[str, Any] | None = None
        self._room = 0
        self._machine = ""
        self._restarts = 0
        self._started = self._loading_since = self._ready_since = time.monotonic()
        self._load_s: float | None = None
        self._last_failure: str | None = None
        self._thread = Thread(target=self._supervise, name="supervisor", daemon=True)
        self._wait_for(STARTING)

    def start(self) -> None:
        """Starts the engine, and restarts it when it ends, until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Ends the engine. Open runs close as interrupted."""
        self._closing.set()
        process = self._process
        if process is not None:
            process.kill()
        self._thread.join()

    @property
    def readiness(self) -> Readiness:
        """Whether the model can be used now."""
        return self._readiness

    @property
    def info(self) -> dict[str, Any] | None:
        """The `model` object of the loaded model, None until it is loaded."""
        return self._info

    @property
    def room(self) -> int:
        """Blocks of the KV cache that no open run needs, as the engine last reported."""
        return self._room

    @property
    def machine(self) -> str:
        """The machine of a cluster that the engine runs on; empty for this machine, or if it is not known yet."""
        return self._machine

    @property
    def pid(self) -> int | None:
        """The engine's process id."""
        process = self._process
        return process.pid if process is not None else None

    @property
    def uptime_s(self) -> float | None:
        """Seconds since the engine process was started, None if there is none."""
        return None if self._process is None else time.monotonic() - self._started

    @property
    def load_s(self) -> float | None:
        """Seconds from the last start until the model could be used, without downloads; None before the first."""
        return self._load_s

    @property
    def ready_s(self) -> float | None:
        """Seconds since the model could be used; None while it cannot."""
        return None if self._info is None else time.monotonic() - self._ready_since

    @property
    def restarts(self) -> int:
        """How often the engine was restarted."""
        return self._restarts

    def _supervise(self) -> None:
        delay = FIRST_RESTART_S
        context = multiprocessing.get_context("spawn")
        while not self._closing.is_set():
            self._clear_folder()
            ours, theirs = context.Pipe()
            process = context.Process(target=self._work, args=(theirs,), name="kvscope-engine", daemon=True)
            self._started = self._loading_since = time.monotonic()
            process.start()
            theirs.close()
            self._process = process
            if self._closing.is_set():
                process.kill()
            with self._watching(process) as vitals:
                self._read(ours, vitals)
            was_ready = self._info is not None
            self._clean_up(ours, process)
            if self._closing.is_set():
                return
            delay = FIRST_RESTART_S if was_ready else min(delay * 2, SLOWEST_RESTART_S)
            self._closing.wait(self._settings.reload_after_s if self._readiness.state == "failed" else delay)
            self._restarts += 1

    @contextmanager
    def _watching(self, process: BaseProcess) -> Iterator[Vitals]:
        """Ends the process if it hangs while the context is open; this ends `_read` too."""
        silence_s = self._settings.hung_after_s
        vitals = Vitals(process.pid or 0, silence_s, lambda: self._end_hung(process))
        self._hung = None
        if silence_s:
            vitals.start()
        try:
            yield vitals
        finally:
            if silence_s:
                vitals.close()

    def _end_hung(self, process: BaseProcess) -> None:
        """Kills the process. Callers get the error at once, viewers when their run is closed."""
        silence = f"The engine did not respond for {self._settings.hung_after_s:g} s and is restarting."
        self._hung = replace(RESTARTING, message=silence)
        self._wait_for(self._hung)
        process.kill()

    def _read(self, connection: Connection, vitals: Vitals) -> None:
        """Takes the engine's messages until its connection closes."""
        while True:
            try:
                message: FromEngine = connection.recv()
            except (EOFError, OSError):
                return
            vitals.heard()
            match message:
                case Beat():
                    if self._storing.behind:
                        with vitals.not_listening():
                            self._storing.catch_up()
                case Frames(frames, room):
                    self._room = room
                    with vitals.not_listening():
                        self._storing.take(frames)
                case Result() | Failure():
                    self._calls.answer(message)
                case Loading(progress):
                    state = "fetching" if progress.phase == "fetching" else "loading"
                    if state == "fetching":
                        self._loading_since = time.monotonic()
                    self._wait_for(Readiness(state, **asdict(progress)))
                case Placed(machine):
                    self._machine = machine
                case Ready(info, room):
                    self._room = room
                    self._ready_since = time.monotonic()
                    self._load_s = self._ready_since - self._loading_since
                    self._calls.open(connection)
                    self._info = info
                    self._readiness = Readiness("ready", "ready", 0, 0, "Ready", self.readiness.compiled)
                case Compiled(line):
                    self._readiness = replace(self._readiness, compiled=line)
                case LoadFailed(reason):
                    if self._last_failure != reason:
                        self._report(reason)
                    self._last_failure = reason
                    self._wait_for(replace(STARTING, state="failed", phase="failed", message=reason))

    def _wait_for(self, readiness: Readiness) -> None:
        """Notes that the model cannot be used, and closes the calls with the reason."""
        self._readiness = readiness
        self._calls.close(readiness.message)

    def _clean_up(self, connection: Connection, process: BaseProcess) -> None:
        """Fails the pending calls and closes the open runs, after the engine's end."""
        connection.close()
        process.kill()
        process.join()
        self._clear_folder()
        self._process, self._machine = None, ""
        was_ready, self._info = self._info is not None, None
        if self._readiness.state != "failed" or self._hung:
            self._wait_for(self._hung or RESTARTING)
        self._storing.interrupt(HUNG if self._hung else STOPPED)
        if (was_ready or self._hung) and not self._closing.is_set():
            self._report(self._readiness.message)

    def _clear_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
