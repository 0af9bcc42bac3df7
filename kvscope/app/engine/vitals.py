"""Detects an engine process that hangs.

A separate thread of the engine sends a beat every second, also during a pass, a load or a compilation. If no beat comes
(a library has Python's lock, or the machine is busy), the process itself is checked: it lives if it has used the
processor, waits for one, or waits for a disk. A stopped process (SIGSTOP) or a deadlocked one does none of these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

BEAT_S = 1.0
LOOK_S = 0.5
PROCESSES = Path("/proc")
ALIVE = ("R", "D")
"""States of a thread (man 5 proc_pid_stat): runs or waits for a processor, and waits for a disk."""


class Vitals:
    """Watches the process `pid` until `close`. `on_hung` is called once, in a thread of this class, when the process
    sent nothing and did nothing for `silence_s`, counted in checks: no time passes while this process is stopped.
    """

    def __init__(self, pid: int, silence_s: float, on_hung: Callable[[], None]) -> None:
        self._pid, self._looks, self._on_hung = pid, max(1, round(silence_s / LOOK_S)), on_hung
        self._heard = 0
        self._listening = True
        self._over = Event()
        self._thread = Thread(target=self._watch, name="vitals", daemon=True)

    def start(self) -> None:
        """Starts to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stops watching."""
        self._over.set()
        self._thread.join()

    def heard(self) -> None:
        """Notes that the process sent a message."""
        self._heard += 1

    @contextmanager
    def not_listening(self) -> Iterator[None]:
        """Counts no silence while messages of the process are not read."""
        self._listening = False
        try:
            yield
        finally:
            self._heard += 1
            self._listening = True

    def _watch(self) -> None:
        before: tuple[int, int | None] = (-1, None)
        silent = 0
        while not self._over.wait(LOOK_S):
            now = self._heard, processor_time(self._pid)
            silent = silent + 1 if now == before and self._listening and not at_work(self._pid) else 0
            before = now
            if silent >= self._looks:
                self._on_hung()
                return


def processor_time(pid: int) -> int | None:
    """Returns the processor time of all threads of a process, in ticks; None if the system does not report it."""
    with suppress(OSError):
        fields = _fields(PROCESSES / str(pid))
        return int(fields[11]) + int(fields[12])
    return None


def resident_bytes(pid: int) -> int | None:
    """Returns the resident memory (RSS) of a process in bytes, shared pages included; None if it is not reported."""
    with suppress(OSError, ValueError, IndexError):
        pages = (PROCESSES / str(pid) / "statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return None


def at_work(pid: int) -> bool:
    """Returns whether a thread of the process runs, waits for a processor, or waits for a disk."""
    for thread in (PROCESSES / str(pid) / "task").glob("*"):
        with suppress(OSError):  # it has ended
            if _fields(thread)[0] in ALIVE:
                return True
    return False


def _fields(folder: Path) -> list[str]:
    """Returns the fields of `stat` after the name, which may have spaces and brackets."""
    return (folder / "stat").read_text().rpartition(")")[2].split()
