"""Reserves room on the disk, because SQLite needs some room even to delete something on a full disk.

A file in the data folder takes the room. Before the database is opened, or something is deleted, on a full disk, that
file is removed; the server creates it again when there is room.
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
"""Deleting a run writes the pages that point to its frames, not the frames: measured 0.1 MB for a run of 10 MB. SQLite
also creates an index in shared memory and a log of changes."""
Value = TypeVar("Value")


def spare_of(folder: Path) -> Path:
    """Returns the file that takes the reserved room."""
    return folder / FILE


def keep_spare(folder: Path) -> None:
    """Creates the file if it is missing and there is room."""
    file = spare_of(folder)
    with suppress(OSError):
        if file.exists() or disk_usage(folder).free < SPARE_BYTES:
            return
        try:
            file.write_bytes(os.urandom(SPARE_BYTES))  # no hole, and nothing that a file system could compress
        except OSError:
            file.unlink()


def with_spare(folder: Path, work: Callable[[], Value]) -> Value:
    """Returns the result of `work`. If that raises StoreError on a full disk, removes the file and calls it again."""
    try:
        return work()
    except Lost:
        raise
    except StoreError:
        if not _make_room(folder):
            raise
        return work()


def _make_room(folder: Path) -> bool:
    """Removes the file if the disk is full. Returns whether that was done."""
    try:
        if disk_usage(folder).free >= SPARE_BYTES:
            return False
        spare_of(folder).unlink()
    except OSError:
        return False
    return True
