"""Work that gives way: to the browser that shows a run on the same machine, and to whoever waits for tokens."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")
"""Where Linux keeps the niceness of this process's session (man 7 sched, "The autogroup feature")."""


def lower_priority(niceness: int) -> None:
    """Leave the processors to others from now on: all threads of this process, and its session, which is to be its own.

    Linux shares the processors between sessions first, and a process's own niceness counts only against others of its
    session, never against a browser.
    """
    os.setpriority(os.PRIO_PGRP, 0, os.nice(0) + niceness)
    with suppress(OSError):  # macOS, and a Linux without autogroups, where a process's own niceness is what counts
        AUTOGROUP.write_text(str(niceness))
