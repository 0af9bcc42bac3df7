"""Shows a run while it is computed: to a callback, else in a notebook."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from kvscope.app.engine import capture
from kvscope.model.api import Frame, Progress
from kvscope.model.log.frames import header

OnStep = Callable[[dict[str, Any]], None]
Following = AbstractContextManager[Callable[[Frame], None]]
"""Takes each frame of a run, until the run ends or breaks off."""


@contextmanager
def watching(on_step: OnStep | None, following: Following | None = None) -> Iterator[Callable[[Frame], None]]:
    """Yields a function that takes each frame of a run. It passes the data of `step` frames to `on_step`, and all
    frames to what follows; without both, a notebook prints the text of each step, in one line of output that grows.
    Elsewhere nothing is shown.
    """
    prints = on_step is None and following is None and _in_notebook()
    shown = _printer() if prints else on_step or (lambda step: None)

    with following or nullcontext(lambda frame: None) as follow:

        def take(frame: Frame) -> None:
            follow(frame)
            if frame.kind == "step":
                shown(header(frame.payload).data)

        yield take
    if prints:
        print()


def _printer() -> OnStep:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")  # tokens can share the bytes of a character

    def print_step(step: dict[str, Any]) -> None:
        if not step["token"]["special"]:
            print(decoder.decode(bytes.fromhex(step["token"]["bytes"])), end="", flush=True)

    return print_step


def show_progress(progress: Progress) -> None:
    """Shows how far a model is loaded, on a terminal; in a notebook, that a download begins."""
    if _in_notebook():
        if progress.phase == "fetching" and not progress.done:
            print(progress.message)
    else:
        capture.show(progress)


def _in_notebook() -> bool:
    """Returns whether this is a kernel of Jupyter."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None
