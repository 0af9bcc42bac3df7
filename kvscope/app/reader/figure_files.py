"""A run's figures as files: pages that open without a network, with Plotly's script beside them once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kvscope.app.reader.errors import CannotRead
from kvscope.app.reader.opening import open as open_run
from kvscope.model.work_folder import work_folder

KINDS = ("attention", "cache", "time")
"""Not the lens: it needs exact values, and a run that was just made has none stored."""


class CannotWrite(Exception):
    """The folder cannot be made or written to; the message is one readable sentence."""


@contextmanager
def folder_for_figures(folder: Path) -> Iterator[None]:
    """Make `folder` unless it is there, and make sure that it can be written to, before time is spent on a run.

    If what is done meanwhile fails, a folder that was made for it goes again. Raises CannotWrite.
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
            with suppress(OSError):  # something else is in it by now
                folder.rmdir()
        raise


def write_figures(recorded: Path, folder: Path) -> list[str]:
    """Draw the run in the file `recorded` and write a page for each kind to `folder`, over an earlier one; their names.

    Attention is of the head that the page opens with, up to the last step. Raises CannotRead, CannotWrite.
    """
    run = open_run(recorded)
    if not run.steps:
        raise CannotRead(f"{recorded} has no complete step, so there is nothing to draw.")
    with _writing(folder), work_folder(folder) as work:
        for kind in KINDS:
            figure = run.figure(kind, step=len(run.steps) - 1 if kind == "attention" else None)
            # The id is Plotly's own by chance otherwise, and the same run would be another file each time.
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
