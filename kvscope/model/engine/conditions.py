"""Whether other runs or the rest of the machine took part of a measured time.

Between two readings, Linux reports how long threads of this process waited for a processor
(/proc/self/task/*/schedstat), how often a thread was preempted (getrusage), and how much processor time a hypervisor
gave to others (/proc/stat). docs/measurements.md, "When a time is disturbed", has measurements on quiet and busy
machines.
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
"""A time is disturbed above one of these shares."""
MOST_SWITCHES_PER_MS = 1.0
"""The limit used instead if the system reports no waiting."""
LEAST_MS = 5.0
"""Waiting and preemptions do not count in shorter times: a share of 1 or 2 ms says nothing."""
_THREADS, _STAT = Path("/proc/self/task"), Path("/proc/stat")
_STEAL = 8
"""Column of /proc/stat."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions during `ms` milliseconds. `others`: the most other runs in one pass. `waiting`: how long threads of
    this process waited for a processor, as a share of the time. `switches`: how often a thread was preempted.
    `stolen`: processor time that a hypervisor took, as a share. A share is None if the system does not report it.
    """

    ms: float = 0.0
    others: int = 0
    waiting: float | None = None
    switches: int = 0
    stolen: float | None = None

    @property
    def disturbed(self) -> bool:
        """Whether other work took part of the time."""
        if self.others or (self.stolen or 0.0) > MOST_STOLEN:
            return True
        if self.ms < LEAST_MS:
            return False
        if self.waiting is None:
            return self.switches > MOST_SWITCHES_PER_MS * self.ms
        return self.waiting > MOST_WAITING


def conditions_record(conditions: Conditions) -> dict[str, Any]:
    """Returns the conditions in the form of frames and answers (docs/frames.md)."""

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
    """Measures the conditions from its creation on."""

    def __init__(self) -> None:
        self._before = _read()

    def conditions(self, others: int = 0) -> Conditions:
        """Returns the conditions since its creation. `others`: how many other runs the passes computed."""
        (at, waited, switches, steal), (at_now, waited_now, switches_now, steal_now) = self._before, _read()
        seconds = max(at_now - at, 1e-9)
        waiting = None if waited is None or waited_now is None else _share(waited_now - waited, seconds)
        stolen = None if steal is None or steal_now is None else _share(steal_now - steal, seconds)
        return Conditions(1000 * seconds, others, waiting, switches_now - switches, stolen)


def together(parts: Iterable[Conditions]) -> Conditions:
    """Returns the conditions of several times, one after the other."""
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


def _read() -> tuple[float, float | None, int, float | None]:
    """Returns the clock in seconds, seconds that threads have waited, preemptions, and seconds stolen."""
    return time.perf_counter(), _waited_s(), resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, _steal_s()


def _share(part: float, whole: float) -> float:
    """Returns part / whole between 0 and 1: the sum of waiting times may fall when a thread ends."""
    return max(0.0, min(1.0, part / whole))


def _waited_s() -> float | None:
    waited = 0
    try:
        for thread in os.listdir(_THREADS):
            ended = suppress(FileNotFoundError, ProcessLookupError)  # the thread may end meanwhile
            with ended, open(f"{_THREADS}/{thread}/schedstat", "rb") as file:
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
