"""Tells an engine process that hangs from one that works.

It says that it lives every second, from a thread of its own, so that no pass, load or compile keeps it from that. Where
a library holds Python's lock for longer, or the machine gives the process no time, the process itself is looked at: it
lives if it has used the processor since, waits for one, or waits for a disk. One that was stopped (SIGSTOP), or whose
threads all wait for each other, does none of that.
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
"""States of a thread (man 5 proc_pid_stat): running or kept from it, and waiting for a disk."""


class Vitals:
    """Watches the process `pid` until `close`. `on_hung` is called once, in a thread of this class, when nothing was
    heard or seen of it for `silence_s`, counted in looks: while this process itself is stopped, no time passes.
    """

    def __init__(self, pid: int, silence_s: float, on_hung: Callable[[], None]) -> None:
        self._pid, self._looks, self._on_hung = pid, max(1, round(silence_s / LOOK_S)), on_hung
        self._heard = 0
        self._listening = True
        self._over = Event()
        self._thread = Thread(target=self._watch, name="vitals", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()

    def heard(self) -> None:
        """The process said something."""
        self._heard += 1

    @contextmanager
    def not_listening(self) -> Iterator[None]:
        """While this lasts nothing can be heard, through no fault of the process."""
        self._listening = False
        try:
            yield
        finally:
            self._heard += 1
            self._listening = True

    def _watch(self) -> None:
        seen: tuple[int, int | None] = (-1, None)
        silent = 0
        while not self._over.wait(LOOK_S):
            now = self._heard, processor_time(self._pid)
            silent = silent + 1 if now == seen and self._listening and not at_work(self._pid) else 0
            seen = now
            if silent >= self._looks:
                self._on_hung()
                return


def processor_time(pid: int) -> int | None:
    """Processor time of all threads of a process, in ticks; None where the system does not report it."""
    with suppress(OSError):
        fields = _fields(PROCESSES / str(pid))
        return int(fields[11]) + int(fields[12])
    return None


def resident_bytes(pid: int) -> int | None:
    """Resident memory (RSS) of a process, shared pages included; None if the system does not report it."""
    with suppress(OSError, ValueError, IndexError):
        pages = (PROCESSES / str(pid) / "statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return None


def at_work(pid: int) -> bool:
    """Whether a thread of the process runs, is kept from running by others, or waits for a disk."""
    for thread in (PROCESSES / str(pid) / "task").glob("*"):
        with suppress(OSError):  # it has ended
            if _fields(thread)[0] in ALIVE:
                return True
    return False


def _fields(folder: Path) -> list[str]:
    """Those of `stat` that follow the name, which may have spaces and brackets."""
    return (folder / "stat").read_text().rpartition(")")[2].split()
