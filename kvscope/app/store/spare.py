"""Room that is kept in reserve on the disk: an SQLite that is to delete something on a full disk needs some to begin.

A file in the data folder holds it. Whoever deletes, or opens the database, on a full disk removes that file first; the
server makes it again when there is room.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from typing import TypeVar

from kvscope.app.store.errors import Lost, StoreError

FILE = "spare"
SPARE_BYTES = 2 * 1024 * 1024
"""Deleting a run writes the pages that lead to its frames, not the frames: 0.1 MB for a run of 10 MB, measured; an
index in shared memory and a log of changes are made besides.
"""
Value = TypeVar("Value")


def spare_of(folder: Path) -> Path:
    """The file that holds it."""
    return folder / FILE


def keep_spare(folder: Path) -> None:
    """Make it where it is missing and there is room."""
    file = spare_of(folder)
    with suppress(OSError):
        if file.exists() or disk_usage(folder).free < SPARE_BYTES:
            return
        try:
            file.write_bytes(os.urandom(SPARE_BYTES))  # no hole, and nothing that a file system could compress
        except OSError:
            file.unlink()


def with_spare(folder: Path, work: Callable[[], Value]) -> Value:
    """What `work` returns. Where it raises StoreError and the disk is full, it is tried once more with the room that
    was kept for it.
    """
    try:
        return work()
    except Lost:
        raise
    except StoreError:
        if not _make_room(folder):
            raise
        return work()


def _make_room(folder: Path) -> bool:
    """Whether the disk was full, and is less so now."""
    try:
        if disk_usage(folder).free >= SPARE_BYTES:
            return False
        spare_of(folder).unlink()
    except OSError:
        return False
    return True
