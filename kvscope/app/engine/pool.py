"""All engines of a server, called like one engine: each call goes to the engine that can answer it best."""

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
"""Seconds after loading for which a model counts as in use. Otherwise two models that do not both fit would end each
other before their runs start."""
ENGINE_IS_FULL = 429
"""Status with which an engine refuses a run for which its cache has no room."""


class NoSuchEngine(KeyError):
    """There is no engine of that name."""


class LastEngine(Exception):
    """The only engine cannot be drained: nothing could be computed."""


class Pool:
    """`settings.engines` engines of the first model, and those added later; one of each other model that is in use.

    A further model is loaded when it is first used (`load`). If the memory for models is not enough, the engines of the
    least recently used model without an open run are ended. `report` gets one line for the operator on an error.
    """

    def __init__(self, log: RunLog, settings: Settings, report: Callable[[str], None]) -> None:
        self._log, self._settings, self._report = log, settings, report
        self._lock = Lock()
        self._created = 0
        self._started = False
        self._placement = Placement()
        self._engines: list[Engine] = []
        self.models = Models(settings)
        self._loading = Lock()
        """Locked while room is made for a model."""
        self._evict_paused: Callable[[ServedModel], bool] = lambda _model: False
        for _ in range(settings.engines):
            self._make(self.models.first)

    def start(self) -> None:
        """Starts the engines; they run until `close`."""
        self._clear_folder()
        with self._lock:
            self._started = True
            engines = list(self._engines)
        for engine in engines:
            engine.supervisor.start()

    def close(self) -> None:
        """Ends the engines. Open runs close as interrupted."""
        with self._lock:
            engines = list(self._engines)
        for engine in engines:
            engine.supervisor.close()
        for run in self._log.open_runs():
            self._log.close_run(run, "interrupted", SERVER_STOPPED)
        self._clear_folder()

    @property
    def engines(self) -> list[Engine]:
        """The engines, oldest first."""
        with self._lock:
            return list(self._engines)

    @property
    def readiness(self) -> Readiness:
        """The readiness of an engine that has loaded its model, else of the oldest engine."""
        return self._first().supervisor.readiness

    @property
    def info(self) -> dict[str, Any] | None:
        """The `model` object of the oldest engine that has loaded its model; None until there is one."""
        return self._first().supervisor.info

    def engines_of(self, model: ServedModel) -> list[Engine]:
        """Returns the engines that have a model or load it."""
        return [engine for engine in self.engines if engine.model is model]

    def readiness_of(self, model: ServedModel) -> Readiness:
        """Returns the readiness of a model; its state is `unloaded` if no engine has the model."""
        engines = self.engines_of(model)
        if not engines:
            return replace(STARTING, state="unloaded", phase="unloaded", message=unloaded(model))
        ready = next((engine for engine in engines if engine.supervisor.info is not None), engines[0])
        return ready.supervisor.readiness

    def info_of(self, model: ServedModel | None) -> dict[str, Any] | None:
        """Returns the `model` object of a model, None until it was loaded once; without a model, `info`."""
        if model is None:
            return self.info
        for engine in self.engines_of(model):
            model.info = engine.supervisor.info or model.info
        return model.info

    def named(self, name: str) -> ServedModel:
        """Returns the model of that name; "" is the first. Raises Refused("model")."""
        for model in self.models.all:
            self.info_of(model)
        return self.models.named(name)

    def model_of(self, request: Request | ReadmitRequest) -> ServedModel:
        """Returns the model that computes a request. Raises Refused, StoreError."""
        if not self.models.several:
            return self.models.first
        if isinstance(request, RunRequest):
            return self.named(request.model)
        origin = origin_of(request)
        return self.models.first if origin is None else self._model_of_run(origin)

    def _model_of_run(self, run: str) -> ServedModel:
        """Returns the model that computed a run; the first if the server does not have that, or the run was deleted."""
        try:
            return self.serving(self._log.opening(run)["model"]) or self.models.first
        except Gone:
            return self.models.first

    def serving(self, described: Mapping[str, Any]) -> ServedModel | None:
        """Returns the model of this server that a log describes; None if the server does not have it."""
        for model in self.models.all:
            self.info_of(model)
        return self.models.of(described)

    @property
    def restarts(self) -> int:
        """How often engines were restarted."""
        return sum(engine.supervisor.restarts for engine in self.engines)

    @property
    def is_open(self) -> bool:
        """Whether there is an engine to call."""
        return any(engine.calls.is_open for engine in self.engines)

    @property
    def places(self) -> int:
        """How many runs may be open on the engines that take runs; if none does yet, on one engine."""
        return self._settings.max_open_runs * max(1, sum(engine.state == "ready" for engine in self.engines))

    def places_of(self, model: ServedModel) -> int:
        """Returns how many runs of a model may be open; 0 while none of its engines can be called."""
        engines = self.engines_of(model)
        if not any(engine.calls.is_open for engine in engines):
            return 0
        return self._settings.max_open_runs * max(1, sum(engine.state == "ready" for engine in engines))

    def engine_of(self, run: str) -> Engine | None:
        """Returns the engine that has an open run, None if there is none."""
        return next((engine for engine in self.engines if run in engine.storing.runs), None)

    def when_no_room(self, evict_paused: Callable[[ServedModel], bool]) -> None:
        """Sets the function that evicts the paused runs of all other models when a model has no room. It returns
        whether it freed a place."""
        self._evict_paused = evict_paused

    def load(self, model: ServedModel) -> None:
        """Begins to load a model, unless an engine has it or loads it, and notes that it is used now. Raises
        Refused("model") if it cannot be loaded, or has no room.
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
        """Returns the bytes that a model's engines take, and whether that was measured, now or earlier."""
        taken = self._taken(model)
        return (taken or model.needs), model.resident is not None

    def _make_room(self, model: ServedModel) -> None:
        """Ends engines of models that are not in use, least recently used first, until the model fits. If that cannot
        free enough, no engine is ended. Raises Refused("model").
        """
        taken = {each: self._taken(each) for each in self.models.all if self.engines_of(each)}
        over = sum(taken.values()) + model.needs - self.models.budget
        to_end = list[ServedModel]()
        for each in sorted(taken, key=lambda each: each.used):
            if over <= 0:
                break
            if not self._is_used(each):
                to_end.append(each)
                over -= taken[each]
        if over > 0:
            raise self.models.no_room(model, [each.name for each in taken if each not in to_end])
        for each in to_end:
            self._end(each, model)

    def _taken(self, model: ServedModel) -> int:
        """Returns the bytes that a model's engines take: as measured, but at least `model.needs` while one loads."""
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
        """Returns whether a model has an open run or is given one, loads, or was just loaded."""
        open_runs = self._log.open_runs()
        return any(
            engine.starting
            or not engine.storing.runs.isdisjoint(open_runs)
            or engine.state == "starting"
            or (engine.supervisor.ready_s or JUST_LOADED_S) < JUST_LOADED_S
            for engine in self.engines_of(model)
        )

    def _end(self, model: ServedModel, other: ServedModel) -> None:
        """Ends a model's engines to make room for the model `other`."""
        self.info_of(model)
        for engine in self.engines_of(model):
            engine.draining = True
            with self._lock:
                self._engines.remove(engine)
            engine.supervisor.close()
        self._report(f"{model.name} was ended, so that {other.name} has room (--model-memory).")

    def choose(self, name: str | None) -> ServedModel:
        """Returns the model of this name for a new run, the first for None. Raises Refused("model"), and
        EngineUnavailable until the model is loaded.
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
        """Loads a model unless it is loaded. Raises EngineUnavailable until it is loaded, and the errors of `load`."""
        self.load(model)
        self.refuse_unloaded(model)

    def refuse_unloaded(self, model: ServedModel) -> None:
        """Raises EngineUnavailable, which says what a model waits for, unless it is loaded."""
        engines = self.engines_of(model)
        if not any(engine.supervisor.info is not None for engine in engines):
            message = self.readiness_of(model).message
            raise EngineUnavailable(message if not self.models.several or not engines else f"{model.name}: {message}")

    def add(self) -> Engine:
        """Starts another engine of the first model."""
        engine = self._make(self.models.first)
        if self._started:
            engine.supervisor.start()
        return engine

    def drain(self, name: str) -> Engine:
        """Gives an engine no further runs. It ends when its last run has ended (`end_drained`).

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
        """Ends draining engines that have no open run."""
        for engine in self.engines:
            if engine.draining and not engine.starting and engine.storing.runs.isdisjoint(self._log.open_runs()):
                with self._lock:
                    self._engines.remove(engine)
                engine.supervisor.close()

    def why_unopened(self, run: str) -> str | None:
        """Returns why a run that an engine just started has no log, None if it has one. Forgets the reason."""
        return next((why for engine in self.engines if (why := engine.storing.why_unopened(run))), None)

    def call(
        self,
        method: str,
        *arguments: Any,
        noted: Callable[[Any], None] | None = None,
        client: str = "",
        model: ServedModel | None = None,
    ) -> Any:
        """Returns the result of the service's `method` in the engine chosen for the call. `model`: the model that
        answers; None for any, or for a request's own model. Other parameters, and errors, as in Calls.call.
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
        """Calls the engine that has a run without waiting for the answer. Does nothing if no engine has it."""
        engine = self.engine_of(run)
        if engine is not None:
            engine.calls.tell(method, run, *arguments)

    def _give(self, method: str, request: Any, noted: Callable[[Any], None] | None) -> Any:
        """Gives a run to the first engine of `_in_order` whose cache has room for it."""
        full: Refused | None = None
        model = self.model_of(request)
        model.touch()
        for engine in self._in_order(request, model):
            engine.starting.add(request.run)
            engine.storing.runs.add(request.run)
            try:
                value = engine.calls.call(method, request, noted=noted)
            except EngineUnavailable:
                # The engine may start the run after the timeout; nobody would know its id.
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
        """Returns the engines for a run: first the engine that may have its blocks, if it has a place; then by room,
        most first. Engines that are just taking a run come last, because their room is about to change.
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
        """Returns the engine for a call: the engine that has the run if the call is about one; otherwise the engine
        with fewest runs, of the model if given. Raises EngineUnavailable."""
        if method in ABOUT_A_RUN:
            subject = arguments[0]
            return self.engine_of(subject if isinstance(subject, str) else subject.run) or self._first()
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
            self._created += 1
            taken = {engine.slot for engine in self._engines}
            slot = next(number for number in count() if number not in taken)
            engine = Engine(f"engine-{self._created}", model, self._log, self._settings, self._report, slot)
            self._engines.append(engine)
        return engine


def unloaded(model: ServedModel) -> str:
    """Returns the message for a model that no engine has."""
    return f"{model.name} is not loaded. It is loaded for its next run."
