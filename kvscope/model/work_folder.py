"""Create temporary folders that are removed when their process ends, in any way.

A process locks each of its folders (flock). The system releases the lock when the process ends, even after kill -9. A
process that creates a folder first removes the unlocked ones in the same parent. On a file system without such locks,
a folder is removed only by its own process.
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
    """Creates a folder in `parent`, which must exist, and removes it at the end. Raises OSError."""
    clear_away(parent)
    while True:
        path = parent / f"{PREFIX}{secrets.token_hex(8)}"
        try:
            path.mkdir(mode=0o700)
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if _is_at(lock, path):  # otherwise another process removed it before it was locked
                    yield path
                    return
            finally:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
        finally:
            shutil.rmtree(path, ignore_errors=True)  # if a signal came before it was locked


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Writes a file that replaces `path` once it is complete; an error leaves `path` as it was. Raises OSError."""
    with work_folder(path.parent) as work:
        with (work / "file").open("wb") as file:
            yield file
        (work / "file").replace(path)


def clear_away(parent: Path) -> None:
    """Removes the work folders of ended processes from `parent`."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # locked, another user's, or already removed
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(lock, path):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
