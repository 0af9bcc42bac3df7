"""Computes one run in this process for `kvscope run`, without server or browser, and writes one session file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kvscope.app.engine.in_process import computed, load, stored_layers, values_of
from kvscope.model.api import Frame, Progress, RunRequest, Service
from kvscope.model.log import frames as codec
from kvscope.model.work_folder import whole_file


def capture(
    service: str,
    model: str | None,
    device: str,
    dtype: str,
    request: RunRequest,
    out: Path,
    max_tokens: int = 0,
    values: str | None = None,
) -> None:
    """Runs `request` to its end and writes its frames to `out`, joined. Ctrl-C stops the run; its frames are written.

    `values`: the layers whose exact values are written too, as in `stored_layers`. The text goes to standard output as
    it is generated, everything else to standard error. Raises Refused, OSError.
    """
    with whole_file(out) as file:  # before the run: a file that cannot be written fails before minutes of work
        loaded = load(service, model, device, dtype, show, max_tokens)
        _clear_line()
        layers = [] if values is None else stored_layers(values, loaded.info["layers"])
        frames = []
        for frame in computed(loaded, loaded.start(request)):
            frames.append(frame)
            print(_text(frame), end="", flush=frame.kind == "step")
        print(flush=True)
        payloads = [frame.payload for frame in frames]
        exact = _values(loaded, payloads, layers) if layers else ()
        file.write(codec.join(payloads, values=exact))
    close = codec.header(frames[-1].payload).data
    ended = f"{close['reason']}: {close['error']}" if close["error"] else close["reason"]
    _say(f"{out}: {close['steps']} steps, {len(frames)} frames, {out.stat().st_size:,} bytes, ended by {ended}\n")


def _values(service: Service, payloads: list[bytes], layers: list[int]) -> Iterator[bytes]:
    steps = codec.header(payloads[-1]).data["steps"]
    for step in range(steps):
        yield from values_of(service, payloads, step, layers=layers)


def _text(frame: Frame) -> str:
    return str(codec.header(frame.payload).data["token"]["text"]) if frame.kind == "step" else ""


def show(progress: Progress) -> None:
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
