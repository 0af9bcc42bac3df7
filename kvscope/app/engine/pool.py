"""All engines of a server, called as if they were one: each call goes to the engine that can answer it best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from shutil import rmtree
from threading import Lock
from typing import Any

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.engine import ENGINES_FOLDER, Engine
from kvscope.app.engine.filling import Request
from kvscope.app.engine.models import Models, ServedModel
from kvscope.app.engine.placement import Placement, origin_of
from kvscope.app.engine.process import CALLS_WITH_FRAMES
from kvscope.app.engine.supervisor import STARTING, Readiness
from kvscope.app.engine.vitals import resident_bytes
from kvscope.app.settings import Settings
from kvscope.app.store.runs import SERVER_STOPPED, Gone, RunLog
from kvscope.model.api import ReadmitRequest, Refused, RunRequest

STARTS = (*CALLS_WITH_FRAMES, "readmit")
"""Calls that give a run to an engine."""
ABOUT_A_RUN = ("control", "evict_run", "leave", "join")
"""Calls to the engine that has the run."""
JUST_LOADED_S = 5.0
"""A model counts as in use for so long after it was loaded, so that two that do not both fit do not end each other
before the run can start that one was loaded for.
"""
ENGINE_IS_FULL = 429
"""Status with which an engine refuses a run that its cache has no room for."""


class NoSuchEngine(KeyError):
    """There is no engine of that name."""


class LastEngine(Exception):
    """The only engine cannot be drained: nothing could be computed."""


class Pool:
    """`settings.engines` engines of the first model, and those that are added; one of each other model that is in use.

    A further model is loaded when it is first used (`load`). Where the memory for models is not enough, the engines of
    the model that was used least recently are ended, unless it has an open run. `report` gets one line for the operator
    when something goes wrong.
    """

    def __init__(self, log: RunLog, settings: Settings, report: Callable[[str], None]) -> None:
        self._log, self._settings, self._report = log, settings, report
        self._lock = Lock()
        self._made = 0
        self._started = False
        self._placement = Placement()
        self._engines: list[Engine] = []
        self.models = Models(settings)
        self._loading = Lock()
        """Held while room is made for a model."""
        self._evict_paused: Callable[[ServedModel], bool] = lambda _model: False
        for _ in range(settings.engines):
            self._make(self.models.first)

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
        """The `model` object of a loaded model, the first where that is loaded; None until an engine has one."""
        return self._first().supervisor.info

    def engines_of(self, model: ServedModel) -> list[Engine]:
        """The engines that have a model, or load it."""
        return [engine for engine in self.engines if engine.model is model]

    def readiness_of(self, model: ServedModel) -> Readiness:
        """Where a model stands; `unloaded` where no engine has it."""
        engines = self.engines_of(model)
        if not engines:
            return replace(STARTING, state="unloaded", phase="unloaded", message=unloaded(model))
        ready = next((engine for engine in engines if engine.supervisor.info is not None), engines[0])
        return ready.supervisor.readiness

    def info_of(self, model: ServedModel | None) -> dict[str, Any] | None:
        """The `model` object of a model, None until it was loaded once. Without a model, as `info`."""
        if model is None:
            return self.info
        for engine in self.engines_of(model):
            model.info = engine.supervisor.info or model.info
        return model.info

    def named(self, name: str) -> ServedModel:
        """The model of that name; "" is the first. Raises Refused("model")."""
        for model in self.models.all:
            self.info_of(model)
        return self.models.named(name)

    def model_of(self, request: Request | ReadmitRequest) -> ServedModel:
        """The model that is to compute a request. Raises Refused, StoreError."""
        if not self.models.several:
            return self.models.first
        if isinstance(request, RunRequest):
            return self.named(request.model)
        origin = origin_of(request)
        return self.models.first if origin is None else self._model_of_run(origin)

    def _model_of_run(self, run: str) -> ServedModel:
        """That which computed a run; the first where none of those served did, or the run was deleted."""
        try:
            return self.serving(self._log.opening(run)["model"]) or self.models.first
        except Gone:
            return self.models.first

    def serving(self, described: Mapping[str, Any]) -> ServedModel | None:
        """The served model that a log describes; None where there is none, or, of one model, where it is another."""
        for model in self.models.all:
            self.info_of(model)
        return self.models.of(described)

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

    def places_of(self, model: ServedModel) -> int:
        """How many runs of a model may be open; 0 while none of its engines can be called."""
        engines = self.engines_of(model)
        if not any(engine.calls.is_open for engine in engines):
            return 0
        return self._settings.max_open_runs * max(1, sum(engine.state == "ready" for engine in engines))

    def engine_of(self, run: str) -> Engine | None:
        """The engine that has an open run."""
        return next((engine for engine in self.engines if run in engine.storing.runs), None)

    def when_no_room(self, evict_paused: Callable[[ServedModel], bool]) -> None:
        """What evicts the paused runs of all models but the one that has no room; it returns whether there were any."""
        self._evict_paused = evict_paused

    def load(self, model: ServedModel) -> None:
        """Begin to load a model, unless an engine has it or loads it; it is used now. Raises Refused("model") where it
        cannot be had, or has no room.
        """
        model.touch()
        if not self.models.several or self.engines_of(model):
            return
        model.check()
        self.models.refuse_too_large(model)
        with self._loading:
            if self.engines_of(model):
                return
            try:
                self._make_room(model)
            except Refused:
                if not self._evict_paused(model):
                    raise
                self._make_room(model)
            engines = [self._make(model) for _ in range(self._settings.engines if model is self.models.first else 1)]
        for engine in engines:
            if self._started:
                engine.supervisor.start()

    def memory_of(self, model: ServedModel) -> tuple[int, bool]:
        """Bytes that a model's engines take, and whether that was measured, now or when it was last loaded."""
        taken = self._taken(model)
        return (taken or model.needs), model.resident is not None

    def _make_room(self, model: ServedModel) -> None:
        """End engines of models that are not in use, those used least recently first, until the model fits. None is
        ended where that would not be enough. Raises Refused("model").
        """
        taken = {each: self._taken(each) for each in self.models.all if self.engines_of(each)}
        over = sum(taken.values()) + model.needs - self.models.budget
        leaving = list[ServedModel]()
        for each in sorted(taken, key=lambda each: each.used):
            if over <= 0:
                break
            if not self._is_used(each):
                leaving.append(each)
                over -= taken[each]
        if over > 0:
            raise self.models.no_room(model, [each.name for each in taken if each not in leaving])
        for each in leaving:
            self._end(each, model)

    def _taken(self, model: ServedModel) -> int:
        """Memory of a model's engines: as the system measures it, and of one that is still loading what it needs."""
        total = 0
        for engine in self.engines_of(model):
            pid = engine.supervisor.pid
            measured = resident_bytes(pid) if pid else 0
            if engine.state == "starting" or measured is None:  # loads, or the system does not say
                total += max(measured or 0, model.needs)
                continue
            model.resident = measured or model.resident
            total += measured
        return total

    def _is_used(self, model: ServedModel) -> bool:
        """Whether a model has an open run or gets one, loads, or was just loaded."""
        open_runs = self._log.open_runs()
        return any(
            engine.starting
            or not engine.storing.runs.isdisjoint(open_runs)
            or engine.state == "starting"
            or (engine.supervisor.ready_s or JUST_LOADED_S) < JUST_LOADED_S
            for engine in self.engines_of(model)
        )

    def _end(self, model: ServedModel, other: ServedModel) -> None:
        """End a model's engines, so that another model has room."""
        self.info_of(model)
        for engine in self.engines_of(model):
            engine.draining = True
            with self._lock:
                self._engines.remove(engine)
            engine.supervisor.close()
        self._report(f"{model.name} was ended, so that {other.name} has room (--model-memory).")

    def choose(self, name: str | None) -> ServedModel:
        """The model for a new run by its name, None for the first; it is loaded. Raises Refused("model"), and
        EngineUnavailable until it is.
        """
        if self.models.several:
            model = self.named(name or "")
            self.require(model)
            return model
        if (loaded := self.info) is None:
            raise EngineUnavailable(self.readiness.message)
        if name not in (None, loaded["name"]):
            detail = f"model is {str(name)[:80]!r}; this server has loaded {loaded['name']}."
            raise Refused("model", detail, limit=[loaded["name"]])
        return self.models.first

    def require(self, model: ServedModel) -> None:
        """Load a model if need be. Raises EngineUnavailable until it is loaded, and as `load`."""
        self.load(model)
        self.refuse_unloaded(model)

    def refuse_unloaded(self, model: ServedModel) -> None:
        """Raises EngineUnavailable with what a model waits for, unless it is loaded."""
        engines = self.engines_of(model)
        if not any(engine.supervisor.info is not None for engine in engines):
            message = self.readiness_of(model).message
            raise EngineUnavailable(message if not self.models.several or not engines else f"{model.name}: {message}")

    def add(self) -> Engine:
        """Start one more engine, of the first model."""
        engine = self._make(self.models.first)
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
            if all(each.draining or each is engine for each in self._engines if each.model is engine.model):
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

    def call(
        self,
        method: str,
        *arguments: Any,
        noted: Callable[[Any], None] | None = None,
        client: str = "",
        model: ServedModel | None = None,
    ) -> Any:
        """What the service's `method` returns, of the engine whose turn it is. `model`: which answers; None: any, or of
        a request the one that it is for. Other parameters, and errors, as Calls.call.
        """
        if method in STARTS:
            return self._give(method, arguments[0], noted)
        if method == "most_bytes":
            model = self.model_of(arguments[0])
        engine = self._for(method, arguments, model)
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
        model = self.model_of(request)
        model.touch()
        for engine in self._in_order(request, model):
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
        raise full or EngineUnavailable(self.readiness_of(model).message)

    def _in_order(self, request: Any, model: ServedModel) -> list[Engine]:
        """Engines for a run: that which may hold its blocks, where it has a place; then those with most room.

        Those that are just taking a run come last, because their room is about to change.
        """
        ready = [engine for engine in self.engines_of(model) if engine.state == "ready"]
        if len(ready) < 2:
            return ready
        near, places = self._placement.near(request), self._settings.max_open_runs

        def place(engine: Engine) -> tuple[bool, int, int, int]:
            runs = len(engine.storing.runs)
            is_near = engine.name == near and runs < places
            return not is_near, len(engine.starting), -engine.supervisor.room, runs

        return sorted(ready, key=place)

    def _for(self, method: str, arguments: tuple[Any, ...], model: ServedModel | None) -> Engine:
        """The engine that answers: of what is about a run, that which has it; otherwise the one with fewest runs of the
        model, or of all. Raises EngineUnavailable."""
        if method in ABOUT_A_RUN:
            about = arguments[0]
            return self.engine_of(about if isinstance(about, str) else about.run) or self._first()
        if model is not None:
            self.refuse_unloaded(model)
        engines = self.engines if model is None else self.engines_of(model)
        ready = [engine for engine in engines if engine.calls.is_open]
        return min(ready, key=lambda engine: len(engine.storing.runs), default=self._first())

    def _first(self) -> Engine:
        engines = self.engines
        return next((engine for engine in engines if engine.supervisor.info is not None), engines[0])

    def _clear_folder(self) -> None:
        rmtree(self._settings.data_dir / ENGINES_FOLDER, ignore_errors=True)

    def _make(self, model: ServedModel) -> Engine:
        with self._lock:
            self._made += 1
            taken = {engine.slot for engine in self._engines}
            slot = next(number for number in count() if number not in taken)
            engine = Engine(f"engine-{self._made}", model, self._log, self._settings, self._report, slot)
            self._engines.append(engine)
        return engine


def unloaded(model: ServedModel) -> str:
    """What is said of a model that no engine has."""
    return f"{model.name} is not loaded. It is loaded for its next run."
