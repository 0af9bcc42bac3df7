"""Computes runs and their exact values in this process, without a server: for `kvscope run` and `kvscope.run`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from kvscope.app.engine.process import resolve
from kvscope.model.api import Advancing, Frame, Progress, Refused, Service, ValueLevel, ValuesRequest, under_changes
from kvscope.model.log import frames as codec
from kvscope.model.log.schema import rows_of


def load(
    service: str, model: str | None, device: str, dtype: str, show: Callable[[Progress], None], max_tokens: int = 0
) -> Service:
    """Loads a model with the loader that `service` names, `module:function`. Raises Refused."""
    loaded: Service = resolve(service)(model, device, dtype, show, compiled=True, max_tokens=max_tokens)
    return loaded


def computed(service: Advancing, begun: list[Frame]) -> Iterator[Frame]:
    """Yields the frames of a run, `begun` first: those with which the service has admitted it.

    Ctrl-C stops the run between two passes; its log then ends there. If the caller stops iterating, so does the run.
    """
    run, closed = begun[0].run, begun[-1].kind == "close"
    try:
        yield from begun
        with _interrupts() as interrupted:
            while not closed:
                for frame in (each for each in service.advance() if each.run == run):
                    closed = frame.kind == "close"
                    yield frame
                if interrupted.is_set() and not closed:
                    interrupted.clear()
                    service.control(run, "stop")
    finally:
        if not closed:
            service.control(run, "stop")
            service.advance()


def values_of(
    service: Service, payloads: list[bytes], step: int, *, layers: range | list[int] | None = None
) -> list[bytes]:
    """Returns the `values` frames of a step of the run with this log, of some layers or (None) of all.

    Values inside blocks are included, except of a model with experts, whose inner values no frame has. Raises Refused.
    """
    opening = codec.header(payloads[0]).data
    prompt, ids = len(opening["tokens"]), codec.token_ids(payloads)
    seen = prompt + step
    level: ValueLevel = "qkv" if opening["model"]["experts"] else "block"
    request = ValuesRequest(
        codec.header(payloads[0]).run, step, ids[:seen], rows_of(prompt, step).start, ids[seen], level
    )
    frames: list[Frame] = ask(service, opening, "values", request)
    return [frame.payload for layer, frame in enumerate(frames) if layers is None or layer in layers]


def ask(service: Service, opening: dict[str, Any], question: str, *arguments: Any) -> Any:
    """Returns the answer to a question about the run with this `open` frame, with its changes. Raises Refused."""
    method, *rest = under_changes(opening, question, *arguments)
    return getattr(service, method)(*rest)


def stored_layers(text: str, layers: int) -> list[int]:
    """Returns the layers that a text such as "all" or "0,5-7" names, and the last one, whose values have the lens.

    Raises Refused("values").
    """
    if text == "all":
        return list(range(layers))
    named = {layers - 1}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise Refused("values", f"values is {text!r}; it must be all, or layers such as 0,5-7.")
        if not int(first) <= int(last or first) < layers:
            raise Refused(
                "values", f"values is {text!r}; the model has the layers 0 to {layers - 1}.", limit=layers - 1
            )
        named.update(range(int(first), int(last or first) + 1))
    return sorted(named)


@contextmanager
def _interrupts() -> Iterator[Event]:
    """Yields an event that Ctrl-C sets; otherwise Ctrl-C would raise in the middle of a step.

    Only the main thread gets signals; in another thread the event is never set.
    """
    event = Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
