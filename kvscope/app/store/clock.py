"""Whether the wall clock can be believed where something is deleted for its age."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kvscope.app.store.database import FILE as DATABASE

FILE = "clock"
"""In the data folder; its time of modification is when the clock was last believed."""
JUMP_S = 3 * 24 * 3600.0
"""A clock that is so far from where it was expected is not believed at once."""
UPTIME_S, UPTIME_AFTER_JUMP_S = 600.0, 24 * 3600.0
"""How long the server must have been up until the clock is believed: as a rule, and after a jump."""


class Clock:
    """Compares the wall clock with where it was expected: after a start, with when it was last believed; later, with
    the time that has passed since. A machine whose clock is wrong at its start, or is set wrong, must not lose what
    only seems to be old.
    """

    def __init__(
        self, folder: Path, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic
    ) -> None:
        self._file, self._wall, self._passed = folder / FILE, wall, passed
        self._since, self._needs_s = passed(), UPTIME_S
        self._offset = wall() - passed()
        self.jumped = False
        """Whether it has jumped, and is not believed again yet."""
        with suppress(OSError):
            if not self._file.exists():
                self._believed(_changed(folder / DATABASE) or wall())
            self._look_for_jump(self._file.stat().st_mtime)

    def is_believed(self) -> bool:
        """Whether something may be deleted for its age now. Remembers when it was so."""
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
        """In how many seconds it will be believed, if it does not jump again."""
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
