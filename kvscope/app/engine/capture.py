"""Computes one run in this process for `kvscope run`, without server or browser, and writes one session file."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from kvscope.app.engine.process import resolve
from kvscope.model.api import Frame, Progress, RunRequest, Service
from kvscope.model.log import frames as codec
from kvscope.model.work_folder import whole_file


def capture(
    service: str, model: str | None, device: str, dtype: str, request: RunRequest, out: Path, max_tokens: int = 0
) -> None:
    """Runs `request` to its end and writes its frames to `out`, joined. Ctrl-C stops the run; its frames are written.

    The text goes to standard output as it is generated, everything else to standard error. Raises Refused, OSError.
    """
    with whole_file(out) as file:  # before the run: a file that cannot be written fails before minutes of work
        loaded: Service = resolve(service)(model, device, dtype, _show, compiled=True, max_tokens=max_tokens)
        _clear_line()
        frames = _run(loaded, request)
        file.write(codec.join(frame.payload for frame in frames))
    close = codec.header(frames[-1].payload).data
    ended = f"{close['reason']}: {close['error']}" if close["error"] else close["reason"]
    _say(f"{out}: {close['steps']} steps, {len(frames)} frames, {out.stat().st_size:,} bytes, ended by {ended}\n")


def _run(loaded: Service, request: RunRequest) -> list[Frame]:
    frames = loaded.start(request)
    with _interrupts() as interrupted:
        while frames[-1].kind != "close":
            new_frames = loaded.advance()
            frames += new_frames
            print("".join(map(_text, new_frames)), end="", flush=True)
            if interrupted.is_set() and frames[-1].kind != "close":
                interrupted.clear()
                loaded.control(request.run, "stop")
    print(flush=True)
    return frames


@contextmanager
def _interrupts() -> Iterator[Event]:
    """Yields an event that Ctrl-C sets; otherwise Ctrl-C would raise in the middle of a step."""
    event = Event()
    before = signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _text(frame: Frame) -> str:
    return str(codec.header(frame.payload).data["token"]["text"]) if frame.kind == "step" else ""


def _show(progress: Progress) -> None:
    """Replaces the progress line; does nothing if standard error is a file."""
    if sys.stderr.isatty():
        share = f" {100 * progress.done // progress.total} %" if progress.total else ""
        _clear_line()
        _say(progress.message + share)


def _clear_line() -> None:
    if sys.stderr.isatty():
        _say("\r\033[K")


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
