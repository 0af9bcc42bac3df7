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
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MOST_WAITING, MOST_STOLEN = 0.1, 0.05
"""A time is disturbed above one of these shares."""
MOST_SWITCHES_PER_MS = 1.0
"""The limit used instead if the system reports no waiting."""
LEAST_MS = 5.0
"""Waiting and preemptions do not count in shorter times: a share of 1 or 2 ms says nothing. So the counters are not
read more often either."""
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
    """Measures the conditions from its creation on, or from up to LEAST_MS before: one reading of the counters ends a
    pass and begins the next one.
    """

    def __init__(self) -> None:
        self._before = _counters().read()

    def conditions(self, others: int = 0) -> Conditions:
        """Returns the conditions since its creation. `others`: how many other runs the passes computed."""
        before, now = self._before, _counters().read()
        seconds = max(now.at - before.at, 1e-9)
        waiting = _share(before.waited_s, now.waited_s, seconds)
        stolen = _share(before.stolen_s, now.stolen_s, seconds)
        return Conditions(1000 * seconds, others, waiting, now.switches - before.switches, stolen)


def together(parts: Iterable[Conditions]) -> Conditions:
    """Returns the conditions of several times, one after the other."""
    whole = list(parts)
    if len(whole) == 1:
        return whole[0]
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


def _share(before: float | None, now: float | None, seconds: float) -> float | None:
    """Returns the part of so many seconds, between 0 and 1: the sum of waiting times may fall when a thread ends."""
    if before is None or now is None:
        return None
    return max(0.0, min(1.0, (now - before) / seconds))


class _Reading(NamedTuple):
    """The clock in seconds, seconds that threads have waited, preemptions, and seconds stolen."""

    at: float
    waited_s: float | None
    switches: int
    stolen_s: float | None


class _Counters:
    """Reads the system's counters. Only the engine's thread may call it.

    Files stay open between readings: to open one takes ten times as long as to read it.
    """

    def __init__(self) -> None:
        self._folder, self._stat = _descriptor(_THREADS), _descriptor(_STAT)
        self._links = 0
        """Links of the folder: it has one more for each thread."""
        self._threads: list[int] = []
        self._last: _Reading | None = None

    def read(self) -> _Reading:
        """Returns the counters now, or up to LEAST_MS ago."""
        at, last = time.perf_counter(), self._last
        if last is None or at - last.at >= LEAST_MS / 1000:
            switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            self._last = last = _Reading(at, self._waited_s(), switches, self._stolen_s())
        return last

    def _waited_s(self) -> float | None:
        waited = 0
        try:
            if (links := os.fstat(self._folder).st_nlink) != self._links:
                self._open_threads()
                self._links = links
            for thread in self._threads:
                try:
                    waited += int(os.pread(thread, 64, 0).split()[1])
                except ProcessLookupError:  # the thread has ended
                    self._links = 0
        except (OSError, ValueError, IndexError):
            return None
        return waited / 1e9

    def _open_threads(self) -> None:
        while self._threads:
            os.close(self._threads.pop())
        for thread in os.listdir(self._folder):
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread may end meanwhile
                self._threads.append(os.open(f"{thread}/schedstat", os.O_RDONLY, dir_fd=self._folder))

    def _stolen_s(self) -> float | None:
        try:
            ticks = int(os.pread(self._stat, 256, 0).split()[_STEAL])
        except (OSError, ValueError, IndexError):
            return None
        return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


def _descriptor(path: Path) -> int:
    """Returns the descriptor of a file or folder, to read as long as the process runs; -1 if there is none."""
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return -1


@cache
def _counters() -> _Counters:
    return _Counters()
