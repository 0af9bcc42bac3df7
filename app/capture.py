"""`kvscope run`: one run in this process, without server or browser, written as one session file."""

from __future__ import annotations

import sys
from pathlib import Path

from app.engine_process import resolve
from model import frames as codec
from model.api import Frame, Progress, RunRequest


def capture(service: str, model: str | None, device: str, request: RunRequest, out: Path) -> None:
    """Run `request` to its end and write its frames to `out`, joined. Ctrl-C stops the run; what there is by then is written.

    The text goes to standard output as it is generated, everything else to standard error. Raises Refused, OSError.
    """
    with out.open("ab"):
        pass  # an unwritable file must be known before minutes of work
    loaded = resolve(service)(model, device, _show)
    _clear_line()
    kept: list[Frame] = []
    _keep(loaded.start(request), kept)
    while kept[-1].kind != "close":
        try:
            _keep(loaded.advance(), kept)
        except KeyboardInterrupt:
            loaded.control(request.run, "stop")
    print(flush=True)
    session = codec.join(frame.payload for frame in kept)
    out.write_bytes(session)
    close = codec.header(kept[-1].payload).data
    ended = f"{close['reason']}: {close['error']}" if close["error"] else close["reason"]
    _say(f"{out}: {close['steps']} steps, {len(kept)} frames, {len(session):,} bytes, ended by {ended}\n")


def _keep(frames: list[Frame], kept: list[Frame]) -> None:
    kept += frames
    for frame in frames:
        if frame.kind == "step":
            print(codec.header(frame.payload).data["token"]["text"], end="", flush=True)


def _show(progress: Progress) -> None:
    """One line that is written over; nothing where standard error is a file."""
    if sys.stderr.isatty():
        share = f" {100 * progress.done // progress.total} %" if progress.total else ""
        _clear_line()
        _say(progress.message + share)


def _clear_line() -> None:
    if sys.stderr.isatty():
        _say("\r\033[K")


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
