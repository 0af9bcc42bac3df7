"""The live widget of a notebook: the Stage in a cell, which follows a run and asks the run's model."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from typing import Any
from uuid import uuid4

from kvscope.app.bodies import Bounds, check
from kvscope.app.reader.asking import answered
from kvscope.app.reader.errors import CannotRun
from kvscope.app.reader.player import player
from kvscope.app.reader.run import Run
from kvscope.app.store.manifest import is_workload
from kvscope.app.travel.page import described_values
from kvscope.app.travel.widget_module import widget_module
from kvscope.app.travel.words import Opening, bounds_of
from kvscope.model.api import Frame, Refused
from kvscope.model.log.frames import to_stream

try:
    import anywidget
    import traitlets
except ImportError:
    raise CannotRun("kvscope.Widget needs anywidget; install it: pip install anywidget.") from None

SENT_AFTER = ("open", "step", "close")
"""Kinds of frames that end what is sent in one message."""


class Widget(anywidget.AnyWidget):
    """The Stage in a notebook's cell: it plays a run, also while it is computed, and shows what its model answers.

    `kvscope.Widget(run)` shows a run of `kvscope.run` or `kvscope.open`. A widget without a run, shown before
    `kvscope.run(..., widget=w)`, follows that run step by step.

    `selection` is what the picture shows, {step, layer, head, query, key, view}. It changes with the picture; when it
    is set, the picture moves to it. Members may be left out; null query and key are the newest and the strongest.
    """

    selection = traitlets.Dict().tag(sync=True)
    _id = traitlets.Unicode().tag(sync=True)
    _session = traitlets.Dict().tag(sync=True)
    """What the page needs before it reads frames (travel/page.py, `opened`); `live`: the run was followed."""
    _log = traitlets.Bytes().tag(sync=True)
    """The frames of an ended run, as a stream (docs/frames.md), deflated."""
    _answers = traitlets.Bool(False).tag(sync=True)
    """Whether the run's model is in this process."""
    _esm = traitlets.Unicode().tag(sync=True)

    def __init__(self, run: Run | None = None) -> None:
        """Raises CannotRun for another object than a run."""
        name = uuid4().hex
        self._run: Run | None = None
        self._deflated = bytearray()
        self._page_thread: int | None = None
        super().__init__(model_id=name, _id=name, _esm=widget_module(), **self._state_of(run))
        self.on_msg(self._received)

    @property
    def run(self) -> Run | None:
        """The run that it shows. Set it to show another one."""
        return self._run

    @run.setter
    def run(self, run: Run) -> None:
        if self._session.get("run") == run.log.run and self._log:
            self._run, self._answers = run, _has_model(run)
            return
        with self.hold_sync():
            for name, value in self._state_of(run).items():
                setattr(self, name, value)

    def _state_of(self, run: Run | None) -> dict[str, Any]:
        """Returns the traits that show a run, and remembers it."""
        if run is None:
            return {}
        if not isinstance(run, Run):
            raise CannotRun(
                f"run is of the type {type(run).__name__}; it must be a run of kvscope.run or kvscope.open."
            )
        if is_workload(run.log.open):
            raise CannotRun(
                "run is a workload, which a widget cannot show; show the run itself as the result of a cell."
            )
        self._run, content = run, run._content
        values = content.values
        session = {
            **{name: content.words[name] for name in ("title", "notes", "open")},
            "values": values and described_values(values.about, run.model["layers"]),
        }
        log = zlib.compress(b"".join(to_stream(content.frames())))
        return {
            "selection": {},
            "_session": _session(run.log.run, session),
            "_log": log,
            "_answers": _has_model(run),
        }

    @contextmanager
    def following(self) -> Iterator[Callable[[Frame], None]]:
        """Yields a function that takes each frame of a run while it is computed, and shows it."""
        deflating = zlib.compressobj()
        payloads: list[bytes] = []
        begun = False

        def deflated(mode: int) -> bytes:
            piece = deflating.compress(b"".join(to_stream(payloads))) + deflating.flush(mode)
            payloads.clear()
            self._deflated += piece
            return piece

        def take(frame: Frame) -> None:
            nonlocal begun
            if not begun:
                self._begin(frame.run)
                begun = True
            payloads.append(frame.payload)
            if frame.kind in SENT_AFTER:
                at = len(self._deflated)
                piece = deflated(zlib.Z_SYNC_FLUSH)
                self.send({"type": "log", "run": frame.run, "at": at}, [piece])

        try:
            yield take
        finally:
            if begun:
                deflated(zlib.Z_FINISH)
                self._log = bytes(self._deflated)

    def _begin(self, run: str) -> None:
        self._run = None
        self._deflated = bytearray()
        words: dict[str, Any] = {"title": "", "notes": [], "open": None, "values": None, "live": True}
        with self.hold_sync():
            self._log, self._answers, self.selection = b"", False, {}
            self._session = _session(run, words)

    @traitlets.validate("selection")
    def _checked(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(proposal["value"])
        bounds: Bounds = {}
        if (run := self._run) is not None:
            model = run.model
            bounds = bounds_of(model["layers"], model["heads"], len(run.steps), len(run.tokens))
        try:
            check(Opening, given, bounds)
        except Refused as refused:
            raise CannotRun(f"selection: {refused}") from None
        return given

    @traitlets.observe("selection")
    def _moved(self, change: Mapping[str, Any]) -> None:
        if self._page_thread != get_ident() and self._session and change["new"]:
            self.send({"type": "goto", "place": change["new"]})

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Takes what a page has changed. Jupyter may call it in another thread than the cells'."""
        self._page_thread = get_ident()
        try:
            super().set_state(sync_data)
        finally:
            self._page_thread = None

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Returns the widget and, for viewers of a stored notebook without widgets, the page of an ended run."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None or self._run is None:
            return bundle
        data, metadata = bundle
        return {**data, "text/html": player(self._run._content)}, metadata

    def _received(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        if message["type"] == "hello":
            self.send({"type": "here"})
        if message["type"] == "ask":
            answer = answered(self._run, message["path"])
            about = {"type": "answer", "id": message["id"], "status": answer.status, "media": answer.media}
            self.send(about, [answer.body])


def _has_model(run: Run) -> bool:
    return run._live is not None and run._live.model.is_loaded


def _session(run: str, words: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": run, "run": run, **words}
