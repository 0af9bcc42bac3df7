"""How much memory a process has, as the system reports it."""

from __future__ import annotations

import os
from contextlib import suppress

from kvscope.app.engine.vitals import PROCESSES


def resident_bytes(pid: int) -> int | None:
    """Resident memory (RSS) of a process, shared pages included; None where the system does not report it."""
    with suppress(OSError, ValueError, IndexError):
        pages = (PROCESSES / str(pid) / "statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return None
