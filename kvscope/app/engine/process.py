"""The engine process: loads the model, then answers calls and computes runs until the web process ends.

Started by app.engine.supervisor with the spawn method, because fork and CUDA do not mix.
"""

from __future__ import annotations

import importlib
import logging
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

from kvscope.app import rate_limited_log
from kvscope.app.engine.inbox import Inbox, Share
from kvscope.app.engine.messages import Beat, Call, Compiled, Failure, Frames, LoadFailed, Loading, Ready, Result
from kvscope.app.engine.vitals import BEAT_S
from kvscope.model.api import Refused, Service
from kvscope.model.niceness import lower_priority
from kvscope.model.pieces import Pieces

CALLS_WITH_FRAMES = ("start", "fork", "twin", "changed", "beam", "workload")
CALLS_ABOUT_RUNS = (*CALLS_WITH_FRAMES, "most_bytes", "join", "leave", "control", "evict_run", "readmit")
"""Methods of the service that start or control runs; the others answer questions (kvscope.app.http.questions)."""

ENVIRONMENT = {
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
    "LRU_CACHE_CAPACITY": "64",
    "OMP_WAIT_POLICY": "passive",
}
"""Environment variables that the service's libraries read when they are imported; the operator's values come first.
oneDNN and torch's binding to it each cache the code for 64 shapes of a product, not for 1,024. Threads that wait for
each other sleep, because browsers and the web process need processors too. docs/measurements.md says why."""
NICENESS = 5
"""The browser that shows a run is often on the same machine, and its cores are busy with the next step. If another
process is busy, the engine gets a quarter of a processor: docs/measurements.md, "The engine steps back"."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """The model that an engine loads, and the resources that it uses.

    `service` names the loader, `module:function`. `compiled`: whether code may be compiled to make steps faster.
    `max_tokens`: the most tokens of a run; 0 lets the engine derive it.
    `processors`: the processors that it may use; empty for all. `folder`: for temporary files, which the engine does
    not delete; None for the system's folder.
    """

    service: str
    model: str | None
    device: str
    dtype: str
    compiled: bool = False
    max_tokens: int = 0
    processors: tuple[int, ...] = ()
    folder: Path | None = None


class Channel(Protocol):
    """The engine's end of the connection to the web process, like multiprocessing.connection.Connection."""

    def send(self, message: Any, /) -> None:
        """Sends a message. Raises ConnectionError if the other end is closed."""
        ...

    def recv(self) -> Any:
        """Waits for the next message, and returns it. Raises EOFError or OSError if the other end is closed."""
        ...


def serve(connection: Channel, spec: EngineSpec) -> None:
    """Runs until the other end of `connection` closes."""
    if spec.folder is not None:
        spec.folder.mkdir(parents=True, exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(spec.folder)
    if spec.processors:
        os.sched_setaffinity(0, spec.processors)  # before torch is imported, which counts them
    os.environ.update(ENVIRONMENT | os.environ)
    rate_limited_log.install()
    with suppress(PermissionError):  # raised if this process already leads a group
        os.setsid()  # so that the terminal's Ctrl-C reaches the web process alone
    calls = Inbox(CALLS_ABOUT_RUNS)
    Thread(target=receive, args=(connection, calls.put), name="receive", daemon=True).start()
    send = Sender(connection)
    Thread(target=_beat, args=(send,), name="beat", daemon=True).start()
    loaded = _load(send, spec)
    if loaded is None:
        return
    lower_priority(NICENESS)  # not earlier: with two other busy processes, loading would take minutes
    loaded.report_compiled(lambda line: send(Compiled(line)))
    send(Ready(loaded.info, loaded.room))
    loop = Loop(send, loaded, calls)
    while True:
        loop.turn()


class Loop:
    """Does the engine's work in turns: calls that start or control runs, a pass for all runs, a piece of an answer."""

    def __init__(self, send: Callable[[Any], None], service: Service, calls: Inbox) -> None:
        self._send, self._service, self._calls = send, service, calls
        self._share = Share()
        self._starts, self._answers = Pieces("starts"), Pieces("answers")

    def turn(self) -> None:
        """Does one of each; if there is nothing to do, waits for a call."""
        starts, answers = self._starts, self._answers
        if not (self._service.busy or starts.in_progress or answers.in_progress):
            self._calls.wait()
        while True:
            if not starts.in_progress:
                if (call := self._calls.urgent()) is None:
                    break
                starts.begin(partial(_answer, self._send, self._service, call))
            self._share.earn(starts.go_on)
            if starts.in_progress:
                break
        if self._service.busy:
            self._share.earn(self._advance)
            answers.is_interrupted = True
        if not (self._service.busy or starts.in_progress):
            self._answer_piece()
        elif self._share.is_left:
            self._share.spend(self._answer_piece)

    def _advance(self) -> None:
        if frames := self._service.advance():
            self._send(Frames(tuple(frames), self._service.room))

    def _answer_piece(self) -> None:
        """Computes a piece of the answer in progress, or of the next one."""
        answers = self._answers
        if answers.in_progress and not self._calls.is_waited_for:
            answers.abandon()
        if not answers.in_progress:
            call = self._calls.question()
            if call is None:
                return
            answers.begin(partial(_answer, self._send, self._service, call))
        answers.go_on()


def resolve(dotted: str) -> Callable[..., Any]:
    """Returns the object that `module:name` names. Raises ImportError or AttributeError."""
    module, _, name = dotted.partition(":")
    member: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return member


def receive(connection: Channel, put: Callable[[Any], None]) -> None:
    """Passes on the calls of the web process.

    When the web process ends, even by kill -9, this process ends at once, whatever the other thread computes.
    """
    try:
        while True:
            put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)


class Sender:
    """Sends messages to the web process, from any thread."""

    def __init__(self, connection: Channel) -> None:
        self._connection, self._lock = connection, Lock()

    def __call__(self, message: Any) -> None:
        """Sends a message. Ends this process if the web process has ended, as `receive` does."""
        try:
            with self._lock:
                self._connection.send(message)
        except ConnectionError:
            os._exit(0)


def _beat(send: Sender) -> None:
    """Sends beats for as long as this process lives."""
    while True:
        send(Beat())
        time.sleep(BEAT_S)


def _load(send: Sender, spec: EngineSpec) -> Service | None:
    try:
        load = resolve(spec.service)
        loaded: Service = load(
            spec.model,
            spec.device,
            spec.dtype,
            lambda progress: send(Loading(progress)),
            spec.compiled,
            spec.max_tokens,
        )
        return loaded
    except Refused as refused:
        send(LoadFailed(refused.message))
    except Exception as error:
        log.exception("the model could not be loaded")
        send(LoadFailed(f"The model could not be loaded: {type(error).__name__}: {error}"))
    return None


def _answer(send: Callable[[Any], None], service: Service, call: Call) -> None:
    try:
        value = getattr(service, call.method)(*call.arguments)
        if call.method in CALLS_WITH_FRAMES:
            send(Frames(tuple(value), service.room))
            value = None
        send(Result(call.number, value))
    except Refused as refused:
        send(Failure(call.number, refused))
    except Exception as error:
        log.exception("call %s failed", call.method)
        send(Failure(call.number, RuntimeError(f"{type(error).__name__}: {error}")))
