"""Writes a run's figures to files: pages that open without a network, with one copy of Plotly's script."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kvscope.app.reader.errors import CannotRead
from kvscope.app.reader.opening import open as open_run
from kvscope.model.work_folder import work_folder

KINDS = ("attention", "cache", "time")
"""Without the lens: it needs exact values, which are not stored with a new run."""


class CannotWrite(Exception):
    """The folder cannot be created or written to; the message is one readable sentence."""


@contextmanager
def folder_for_figures(folder: Path) -> Iterator[None]:
    """Creates `folder` if it is missing, and checks that it can be written to, before a run is computed.

    If the context fails, a folder that was created for it is removed if it is empty. Raises CannotWrite.
    """
    new = not folder.exists()
    with _writing(folder):
        folder.mkdir(exist_ok=True)
        with work_folder(folder):
            pass
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()
        raise


def write_figures(recorded: Path, folder: Path) -> list[str]:
    """Draws the run in the file `recorded`, and writes a page for each kind to `folder`, over earlier ones. Attention
    is of the head that the page shows first, up to the last step. Returns the names. Raises CannotRead, CannotWrite.
    """
    run = open_run(recorded)
    if not run.steps:
        raise CannotRead(f"{recorded} has no complete step, so there is nothing to draw.")
    with _writing(folder), work_folder(folder) as work:
        for kind in KINDS:
            figure = run.figure(kind, step=len(run.steps) - 1 if kind == "attention" else None)
            # Without div_id Plotly chooses a random id, and the file of the same run would differ each time.
            figure.write_html(Path(work, f"{kind}.html"), include_plotlyjs="directory", div_id=kind)
        names = sorted(os.listdir(work))
        for name in names:
            os.replace(Path(work, name), folder / name)
    return names


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"{folder} cannot be written: {error.strerror}.") from None
