"""The models that this process has loaded for `kvscope.run`, and what a run asks of its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any
from weakref import WeakSet

from kvscope.app.bodies import check
from kvscope.app.engine.in_process import ask, computed, values_of
from kvscope.app.reader.errors import CannotRun
from kvscope.app.run_bodies import ChangeRun, new_id
from kvscope.app.store.value_parts import Values, describe
from kvscope.app.travel.importing import Imported
from kvscope.app.travel.words import Share
from kvscope.model.api import Advancing, ChangedRequest, ForkRequest, Frame, Refused, RunRequest, Service
from kvscope.model.log import frames as codec
from kvscope.model.log.reader import LogReader
from kvscope.model.settings import Change

OnFrame = Callable[[Frame], None]


def changes_of(changes: Iterable[Mapping[str, Any]]) -> tuple[Change, ...]:
    """Returns checked changes; none for an empty list. Raises CannotRun."""
    listed = [dict(change) for change in changes]
    try:
        return tuple(check(ChangeRun, {"changes": listed}).changes) if listed else ()
    except Refused as refused:
        raise CannotRun(str(refused)) from None


def payloads_of(service: Advancing, begun: list[Frame], on_frame: OnFrame) -> list[bytes]:
    """Computes a run to its end; returns its log. Raises CannotRun, and KeyboardInterrupt before the first step."""
    payloads = []
    for frame in computed(service, begun):
        payloads.append(frame.payload)
        on_frame(frame)
    close = codec.header(payloads[-1]).data
    if not close["steps"]:
        if close["reason"] == "stopped":
            raise KeyboardInterrupt
        raise CannotRun(f"The run ended before its first token: {close['error'] or close['reason']}.")
    return payloads


def content_of(payloads: list[bytes], exact: list[bytes]) -> Imported:
    """Returns the run as a file of it would have it. `exact`: its frames of exact values, perhaps none."""
    values = None
    if exact:
        values = Values(codec.header(exact[0]).data["level"], [describe(each) for each in exact], lambda: iter(exact))
    return Imported(Share.model_validate({}).words(), lambda: iter(payloads), values)


class LiveModel:
    """A loaded model and the open runs of it. Calls from several threads take turns."""

    def __init__(self, service: Service, forget: Callable[[], None], source: object) -> None:
        """`forget` is called when the model's last open run is closed. `source` stays referenced until then."""
        self._service: Service | None = service
        self._forget, self._source = forget, source
        self._lock = RLock()
        self._open = WeakSet[Live]()

    @property
    def is_loaded(self) -> bool:
        return self._service is not None

    @contextmanager
    def turn(self) -> Iterator[Service]:
        """Yields the service, to one thread at a time. Raises CannotRun with the service's reason, and if the model's
        memory was freed.
        """
        with self._lock:
            if self._service is None:
                raise CannotRun("The run's model is no longer in memory: its last open run was closed.")
            try:
                yield self._service
            except Refused as refused:
                raise CannotRun(str(refused)) from None

    def opened(self, run: Live) -> None:
        self._open.add(run)

    def closed(self, run: Live) -> None:
        """Frees the model's memory if `run` was its last open run."""
        with self._lock:
            self._open.discard(run)
            if not self._open and self._service is not None:
                self._service = self._source = None
                self._forget()


class Live:
    """A run whose model is in this process: its log so far, and what only the model can compute."""

    def __init__(self, model: LiveModel, payloads: list[bytes]) -> None:
        self.model, self.payloads = model, payloads
        self.log = LogReader(payloads)
        model.opened(self)

    @classmethod
    def started(cls, model: LiveModel, request: RunRequest, changes: tuple[Change, ...], on_frame: OnFrame) -> Live:
        """Computes a run, with changes if there are any. Raises CannotRun, KeyboardInterrupt before the first step."""
        with model.turn() as service:
            begun = service.start(request)
            if changes:
                service.control(request.run, "stop")
                service.advance()
                changed = ChangedRequest(new_id(), request.run, changes, (begun[0].payload,))
                begun = service.changed(changed)
            return cls._of(model, service, begun, on_frame)

    @classmethod
    def _of(cls, model: LiveModel, service: Service, begun: list[Frame], on_frame: OnFrame) -> Live:
        return cls(model, payloads_of(service, begun, on_frame))

    def changed(self, changes: tuple[Change, ...], on_frame: OnFrame) -> Live:
        """Computes the run again with changes, which replace those it has. Raises CannotRun."""
        forced = [each for each in self.payloads if codec.header(each).data.get("token", {}).get("forced")]
        request = ChangedRequest(new_id(), self.log.run, changes, (self.payloads[0], *forced))
        with self.model.turn() as service:
            return self._of(self.model, service, service.changed(request), on_frame)

    def branched(self, step: int, token: int, on_frame: OnFrame) -> Live:
        """Computes a run that has `token` as the choice of `step`, and goes on from there. Raises CannotRun."""
        position = self.log.prompt_length + step
        chosen = [at for at, each in enumerate(self.payloads) if codec.header(each).kind == "step"][step]
        frames = tuple(self.payloads[: chosen + 1])
        with self.model.turn() as service:
            begun = service.fork(ForkRequest(new_id(), self.log.run, position, token, frames))
            return self._of(self.model, service, begun, on_frame)

    @property
    def content(self) -> Imported:
        """The run as a file of it would have it, without exact values."""
        return content_of(self.payloads, [])

    def asks(self, question: str, *arguments: Any) -> Any:
        """Returns the answer to a question of kvscope.model.service.questions about this run. Raises CannotRun."""
        with self.model.turn() as service:
            return ask(service, self.log.open, question, *arguments)

    def ids(self, step: int) -> list[int]:
        """Returns the tokens that the model had read when it chose the token of `step`."""
        return [token["id"] for token in self.log.tokens[: self.log.prompt_length + step]]

    def values(self, step: int, layers: list[int] | None = None) -> list[bytes]:
        """Returns the frames of a step's exact values. Raises CannotRun."""
        with self.model.turn() as service:
            return values_of(service, self.payloads, step, layers=layers)

    def close(self) -> None:
        """Ends this run's use of the model."""
        self.model.closed(self)
