"""Writes a run or a saved session to a file, also while a server uses the same data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kvscope.app.store.database import FILE
from kvscope.app.store.errors import Damaged, Deleted
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.file import NotStored, SessionFile, of_run, of_session
from kvscope.app.travel.page import SessionPage
from kvscope.app.travel.widget_module import session_module
from kvscope.model.work_folder import whole_file

SUFFIXES = (".html", ".mjs", ".safetensors")


class CannotExport(Exception):
    """Nothing to write, or no place for it; the message is one sentence."""


def export(folder: Path, url: str | None, name: str, out: Path, level: str | None) -> int:
    """Writes the session or ended run `name` to `out`, by its suffix as a page, as the script of a widget, or as data.

    `folder`, `url`: as in store.database.connect. `out` appears when it is complete. Returns the bytes written. Raises
    CannotExport, StoreError.
    """
    if out.suffix not in SUFFIXES:
        raise CannotExport(f"{out} must end in {', '.join(SUFFIXES)}: the ending selects the format.")
    with stored(folder, url, name, level) as file:
        if out.suffix == ".mjs" and file.manifest.get("workload"):
            raise CannotExport(f"{name} is a workload, which a widget cannot show; choose .html.")
        try:
            return _write(_content(file, out.suffix), out)
        except OSError as error:
            raise CannotExport(f"{out} cannot be written: {error.strerror}.") from None


@contextmanager
def stored(folder: Path, url: str | None, name: str, level: str | None = None) -> Iterator[SessionFile]:
    """Opens the session or ended run `name` for reading. Raises CannotExport, StoreError."""
    if not url and not (folder / FILE).exists():
        raise CannotExport(f"{folder} contains no runs or sessions. Name the data folder with --data.")
    with RunLog(folder, url, alone=False) as runs:
        try:
            yield _found(runs, name, level)
        except (Damaged, Deleted, NotStored) as error:
            raise CannotExport(str(error)) from None


def _found(runs: RunLog, name: str, level: str | None) -> SessionFile:
    sessions = SessionStore(runs)
    try:
        return of_session(sessions, name, level)
    except KeyError:
        pass
    if level not in (None, "attention"):
        raise CannotExport("A run has no stored exact values. Share it with exact values, then export the session.")
    try:
        return of_run(runs, name)
    except KeyError:
        raise CannotExport(f"No saved session and no ended run has the id {name[:80]!r}.") from None


def _content(file: SessionFile, suffix: str) -> Iterable[bytes]:
    if suffix == ".html":
        return SessionPage(file)
    return [session_module(file).encode() if suffix == ".mjs" else file.archive()]


def _write(chunks: Iterable[bytes], out: Path) -> int:
    with whole_file(out) as file:
        return sum(file.write(chunk) for chunk in chunks)
