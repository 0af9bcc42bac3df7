"""Folders for work under way, which are gone when their process is, however that ends.

A process holds a lock on each of its own (flock), which the system releases with the process, also after kill -9.
Whoever needs such a folder first removes those beside it that nobody holds. Where a file system has no such locks,
nothing is removed but by its own process.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PREFIX = ".kvscope-work-"


@contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """A folder below `parent`, which is there, while this lasts. Raises OSError."""
    clear_away(parent)
    while True:
        path = parent / f"{PREFIX}{secrets.token_hex(8)}"
        try:
            path.mkdir(mode=0o700)
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(held, fcntl.LOCK_EX)
                if _is_at(held, path):  # or another process took it for abandoned before it was locked
                    yield path
                    return
            finally:
                shutil.rmtree(path, ignore_errors=True)
                os.close(held)
        finally:
            shutil.rmtree(path, ignore_errors=True)  # where a signal came before it was held


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears at `path`, in place of an earlier one, once all of it is written; not if that fails.
    Raises OSError.
    """
    with work_folder(path.parent) as work:
        with (work / "file").open("wb") as file:
            yield file
        (work / "file").replace(path)


def clear_away(parent: Path) -> None:
    """Remove the folders of processes that have ended, and of none that lives."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # held, somebody else's, or gone
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(held, path):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(held)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
