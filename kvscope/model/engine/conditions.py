"""Whether something else than the work itself took part of a measured time: other runs, or the rest of the machine.

Linux tells three things of the time in between two looks: how long threads of this process were ready and waited for a
processor (/proc/self/task/*/schedstat), how often one was made to give its processor up (getrusage), and how much
processor time a hypervisor gave to others (/proc/stat). docs/measurements.md, "When a time is disturbed", has what they
say of a quiet machine and of busy ones.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_WAITING, MOST_STOLEN = 0.1, 0.05
"""Shares of a time above which it is called disturbed."""
MOST_SWITCHES_PER_MS = 1.0
"""The same where the system does not tell of waiting threads; a share says nothing of a millisecond or two."""
LEAST_MS = 5.0
_THREADS, _STAT = Path("/proc/self/task"), Path("/proc/stat")
_STEAL = 8
"""Column of /proc/stat."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Of a time. `others`: most other runs in one of its passes. `waiting`: how long threads of this process waited for
    a processor, as a share of it; `switches`: times one had to give its processor up; `stolen`: processor time that a
    hypervisor took, as a share. None where the system does not say.
    """

    ms: float = 0.0
    others: int = 0
    waiting: float | None = None
    switches: int = 0
    stolen: float | None = None

    @property
    def disturbed(self) -> bool:
        """Whether the time says something of other work too."""
        if self.others or (self.stolen or 0.0) > MOST_STOLEN:
            return True
        if self.ms < LEAST_MS:
            return False
        if self.waiting is None:
            return self.switches > MOST_SWITCHES_PER_MS * self.ms
        return self.waiting > MOST_WAITING


def conditions_record(conditions: Conditions) -> dict[str, Any]:
    """The form of frames and answers (docs/frames.md)."""

    def rounded(share: float | None) -> float | None:
        return None if share is None else round(share, 3)

    return {
        "disturbed": conditions.disturbed,
        "others": conditions.others,
        "waiting": rounded(conditions.waiting),
        "switches": conditions.switches,
        "stolen": rounded(conditions.stolen),
    }


class Watch:
    """Looks at the machine from here on."""

    def __init__(self) -> None:
        self._before = _look()

    def conditions(self, others: int = 0) -> Conditions:
        """Of the time since. `others`: how many other runs were computed together with it."""
        (at, waited, switches, steal), (at_now, waited_now, switches_now, steal_now) = self._before, _look()
        seconds = max(at_now - at, 1e-9)
        waiting = None if waited is None or waited_now is None else _share(waited_now - waited, seconds)
        stolen = None if steal is None or steal_now is None else _share(steal_now - steal, seconds)
        return Conditions(1000 * seconds, others, waiting, switches_now - switches, stolen)


def together(parts: Iterable[Conditions]) -> Conditions:
    """Of several times, one after the other."""
    whole = list(parts)
    ms = sum(part.ms for part in whole)
    return Conditions(
        ms,
        max((part.others for part in whole), default=0),
        _mean((part.waiting, part.ms) for part in whole),
        sum(part.switches for part in whole),
        _mean((part.stolen, part.ms) for part in whole),
    )


def _mean(shares: Iterable[tuple[float | None, float]]) -> float | None:
    known = [(share, ms) for share, ms in shares if share is not None]
    weight = sum(ms for _, ms in known)
    return sum(share * ms for share, ms in known) / weight if weight else None


def _look() -> tuple[float, float | None, int, float | None]:
    """Now, seconds that threads have waited, times this process had to give a processor up, seconds stolen."""
    return time.perf_counter(), _waited_s(), resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, _steal_s()


def _share(part: float, whole: float) -> float:
    """Of what may have grown less than it did, by a thread that has ended."""
    return max(0.0, min(1.0, part / whole))


def _waited_s() -> float | None:
    waited = 0
    try:
        for thread in os.listdir(_THREADS):
            gone = suppress(FileNotFoundError, ProcessLookupError)  # it has ended meanwhile
            with gone, open(f"{_THREADS}/{thread}/schedstat", "rb") as file:
                waited += int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return waited / 1e9


def _steal_s() -> float | None:
    try:
        with _STAT.open("rb") as file:
            return int(file.readline().split()[_STEAL]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)
    except (OSError, ValueError, IndexError):
        return None
