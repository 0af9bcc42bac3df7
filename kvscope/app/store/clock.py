"""Checks whether the wall clock can be trusted before something is deleted because of its age."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kvscope.app.store.database import FILE as DATABASE

FILE = "clock"
"""File in the data folder; its modification time is when the clock was last trusted."""
JUMP_S = 3 * 24 * 3600.0
"""A clock that differs from the expected time by more than this is not trusted at once."""
UPTIME_S, UPTIME_AFTER_JUMP_S = 600.0, 24 * 3600.0
"""How long the server must run before the clock is trusted: normally, and after a jump."""


class Clock:
    """Compares the wall clock with the expected time: at the start, when it was last trusted; later, that plus the time
    that has passed. If a machine's clock is wrong, nothing may be deleted that only seems to be old.
    """

    def __init__(
        self, folder: Path, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic
    ) -> None:
        self._file, self._wall, self._passed = folder / FILE, wall, passed
        self._since, self._needs_s = passed(), UPTIME_S
        self._offset = wall() - passed()
        self.jumped = False
        """Whether the clock has jumped, and is not trusted again yet."""
        with suppress(OSError):
            if not self._file.exists():
                self._believed(_changed(folder / DATABASE) or wall())
            self._look_for_jump(self._file.stat().st_mtime)

    def is_believed(self) -> bool:
        """Returns whether something may be deleted now because of its age. Stores the time if so."""
        self._look_for_jump(self._passed() + self._offset)
        self._offset = self._wall() - self._passed()
        if self._passed() - self._since < self._needs_s:
            return False
        self.jumped = False
        with suppress(OSError):
            self._believed(self._wall())
        return True

    @property
    def believed_in_s(self) -> float:
        """Seconds until the clock is trusted, if it does not jump again."""
        return max(0.0, self._since + self._needs_s - self._passed())

    def _believed(self, at: float) -> None:
        self._file.touch()
        os.utime(self._file, (at, at))

    def _look_for_jump(self, expected: float) -> None:
        if abs(self._wall() - expected) > JUMP_S:
            self.jumped = True
            self._since, self._needs_s = self._passed(), UPTIME_AFTER_JUMP_S


def _changed(file: Path) -> float | None:
    return file.stat().st_mtime if file.exists() else None
