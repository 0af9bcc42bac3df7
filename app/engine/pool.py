"""All engines of a server, called as if they were one: each call goes to the engine that can answer it best."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import Any, Literal

from kvscope.app.engine.calls import Calls, EngineUnavailable
from kvscope.app.engine.on_ray import Cluster, relay
from kvscope.app.engine.placement import Placement
from kvscope.app.engine.process import CALLS_WITH_FRAMES, EngineSpec, serve
from kvscope.app.engine.storing import Storing
from kvscope.app.engine.supervisor import Readiness, Supervisor
from kvscope.app.settings import Settings
from kvscope.app.store.runs import SERVER_STOPPED, RunLog
from kvscope.model.api import Refused

ENGINES_FOLDER = "engine"
"""In the data folder: temporary files, of each engine in a folder of its own."""
STARTS = (*CALLS_WITH_FRAMES, "readmit")
"""Calls that give a run to an engine."""
ABOUT_A_RUN = ("control", "evict_run", "leave", "join")
"""Calls to the engine that has the run."""
ENGINE_IS_FULL = 429
"""Status with which an engine refuses a run that its cache has no room for."""

State = Literal["starting", "ready", "draining", "failed"]


class NoSuchEngine(KeyError):
    """There is no engine of that name."""


class LastEngine(Exception):
    """The only engine cannot be drained: nothing could be computed."""


class Engine:
    """One engine: its process, the calls to it and the runs that it has."""

    def __init__(self, name: str, log: RunLog, settings: Settings, report: Callable[[str], None], slot: int) -> None:
        self.name, self.slot, self.draining = name, slot, False
        self.calls = Calls(settings.call_timeout_s)
        self.storing = Storing(log, self.calls, report)
        folder = settings.data_dir / ENGINES_FOLDER / name
        said = report if settings.engines == 1 else lambda line: report(f"Engine {name}: {line}")
        self.supervisor = Supervisor(self.calls, self.storing, settings, said, _work(settings, slot, folder), folder)
        self.starting: set[str] = set()
        """Runs that calls on their way give it. A set, since several threads change it at once."""

    @property
    def state(self) -> State:
        """Whether it takes runs."""
        if self.draining:
            return "draining"
        state = self.supervisor.readiness.state
        return "ready" if state == "ready" else "failed" if state == "failed" else "starting"


class Pool:
    """`settings.engines` engines, and those that are added.

    `report` gets one line for the operator when something goes wrong.
    """

    def __init__(self, log: RunLog, settings: Settings, report: Callable[[str], None]) -> None:
        self._log, self._settings, self._report = log, settings, report
        self._lock = Lock()
        self._made = 0
        self._started = False
        self._placement = Placement()
        self._engines: list[Engine] = []
        for _ in range(settings.engines):
            self._make()

    def start(self) -> None:
        """Start the engines, and keep them running until `close`."""
        self._clear_folder()
        with self._lock:
            self._started = True
            engines = list(self._engines)
        for engine in engines:
            engine.supervisor.start()

    def close(self) -> None:
        """End the engines. Runs that are open close as interrupted."""
        with self._lock:
            engines = list(self._engines)
        for engine in engines:
            engine.supervisor.close()
        for run in self._log.open_runs():
            self._log.close_run(run, "interrupted", SERVER_STOPPED)
        self._clear_folder()

    @property
    def engines(self) -> list[Engine]:
        """Those that are there, the oldest first."""
        with self._lock:
            return list(self._engines)

    @property
    def readiness(self) -> Readiness:
        """Where the engine stands that is furthest."""
        return self._first().supervisor.readiness

    @property
    def info(self) -> dict[str, Any] | None:
        """The `model` object of the loaded model, None until an engine has loaded it."""
        return self._first().supervisor.info

    @property
    def restarts(self) -> int:
        """How often engines were started again."""
        return sum(engine.supervisor.restarts for engine in self.engines)

    @property
    def is_open(self) -> bool:
        """Whether there is an engine to call."""
        return any(engine.calls.is_open for engine in self.engines)

    @property
    def places(self) -> int:
        """How many runs may be open: those of the engines that take runs, and of one where none does yet."""
        return self._settings.max_open_runs * max(1, sum(engine.state == "ready" for engine in self.engines))

    def engine_of(self, run: str) -> Engine | None:
        """The engine that has an open run."""
        return next((engine for engine in self.engines if run in engine.storing.runs), None)

    def add(self) -> Engine:
        """Start one more engine."""
        engine = self._make()
        if self._started:
            engine.supervisor.start()
        return engine

    def drain(self, name: str) -> Engine:
        """Give an engine no further runs. It ends with the last that it has (`end_drained`).

        Raises NoSuchEngine, LastEngine.
        """
        with self._lock:
            engine = next((each for each in self._engines if each.name == name), None)
            if engine is None:
                raise NoSuchEngine(name)
            if all(each.draining or each is engine for each in self._engines):
                raise LastEngine
            engine.draining = True
        return engine

    def end_drained(self) -> None:
        """End engines that are to be drained and have no run left."""
        for engine in self.engines:
            if engine.draining and not engine.starting and engine.storing.runs.isdisjoint(self._log.open_runs()):
                with self._lock:
                    self._engines.remove(engine)
                engine.supervisor.close()

    def why_unopened(self, run: str) -> str | None:
        """Why a run that an engine just started has no log; None where it has one. Said once."""
        return next((why for engine in self.engines if (why := engine.storing.why_unopened(run))), None)

    def call(self, method: str, *arguments: Any, noted: Callable[[Any], None] | None = None, client: str = "") -> Any:
        """What the service's `method` returns, of the engine whose turn it is. Parameters and errors as Calls.call."""
        if method in STARTS:
            return self._give(method, arguments[0], noted)
        engine = self._for(method, arguments)
        value = engine.calls.call(method, *arguments, noted=noted, client=client)
        if method == "evict_run":
            engine.storing.runs.discard(arguments[0])
        return value

    def tell(self, method: str, run: str, *arguments: Any) -> None:
        """Call the engine that has a run without waiting for the answer; without one, nothing happens."""
        engine = self.engine_of(run)
        if engine is not None:
            engine.calls.tell(method, run, *arguments)

    def _give(self, method: str, request: Any, noted: Callable[[Any], None] | None) -> Any:
        """Give a run to the first engine in the order whose cache has room for it."""
        full: Refused | None = None
        for engine in self._in_order(request):
            engine.starting.add(request.run)
            engine.storing.runs.add(request.run)
            try:
                value = engine.calls.call(method, request, noted=noted)
            except EngineUnavailable:
                # The engine may have started it after the timeout; nobody would know its id.
                engine.calls.tell("control", request.run, "stop")
                raise
            except Exception as error:
                engine.storing.runs.discard(request.run)
                if isinstance(error, Refused) and error.status == ENGINE_IS_FULL:
                    full = error
                    continue
                raise
            finally:
                engine.starting.discard(request.run)
            self._placement.note(request, engine.name)
            return value
        raise full or EngineUnavailable(self.readiness.message)

    def _in_order(self, request: Any) -> list[Engine]:
        """Engines for a run: that which may hold its blocks, where it has a place; then those with most room.

        Those that are just taking a run come last, because their room is about to change.
        """
        ready = [engine for engine in self.engines if engine.state == "ready"]
        if len(ready) < 2:
            return ready
        near, places = self._placement.near(request), self._settings.max_open_runs

        def place(engine: Engine) -> tuple[bool, int, int, int]:
            runs = len(engine.storing.runs)
            is_near = engine.name == near and runs < places
            return not is_near, len(engine.starting), -engine.supervisor.room, runs

        return sorted(ready, key=place)

    def _for(self, method: str, arguments: tuple[Any, ...]) -> Engine:
        """The engine that answers: of what is about a run, that which has it; otherwise the one with fewest runs."""
        if method in ABOUT_A_RUN:
            about = arguments[0]
            return self.engine_of(about if isinstance(about, str) else about.run) or self._first()
        ready = [engine for engine in self.engines if engine.calls.is_open]
        return min(ready, key=lambda engine: len(engine.storing.runs), default=self._first())

    def _first(self) -> Engine:
        engines = self.engines
        return next((engine for engine in engines if engine.supervisor.info is not None), engines[0])

    def _clear_folder(self) -> None:
        rmtree(self._settings.data_dir / ENGINES_FOLDER, ignore_errors=True)

    def _make(self) -> Engine:
        with self._lock:
            self._made += 1
            taken = {engine.slot for engine in self._engines}
            slot = next(number for number in count() if number not in taken)
            engine = Engine(f"engine-{self._made}", self._log, self._settings, self._report, slot)
            self._engines.append(engine)
        return engine


def _work(settings: Settings, slot: int, folder: Path) -> Callable[[Any], None]:
    """What the process of an engine does that has this slot among those of the machine."""
    spec = EngineSpec(
        settings.service, settings.model, settings.device, settings.dtype, settings.compile == "auto", folder=folder
    )
    if settings.ray:
        return partial(relay, spec=spec, cluster=Cluster(settings.ray, dict(settings.engine_resources)))
    if settings.device == "auto" and settings.engines > 1:
        spec = replace(spec, device=f"auto:{slot}")
    return partial(serve, spec=replace(spec, processors=share_of(slot, settings.engines)))


def share_of(slot: int, engines: int) -> tuple[int, ...]:
    """The processors of the engine in `slot` of so many on one machine: an equal part; none of its own where it is the
    only one, or where there are more engines than processors. Slots beyond them share with the first.
    """
    if engines == 1 or not hasattr(os, "sched_getaffinity"):
        return ()
    processors = sorted(os.sched_getaffinity(0))
    return tuple(processors[slot % engines :: engines]) if engines <= len(processors) else ()
