"""Lower the priority of the engine's work, so that a browser on the same machine stays responsive."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")
"""Where Linux keeps the niceness of this process's session (man 7 sched, "The autogroup feature")."""


def lower_priority(niceness: int) -> None:
    """Lowers the priority of all threads of this process, and of its session, which should contain no other process.

    Linux first divides the processors among sessions. A process's niceness counts only within its session, and so not
    against a browser.
    """
    os.setpriority(os.PRIO_PGRP, 0, os.nice(0) + niceness)
    with suppress(OSError):  # on macOS and on Linux without autogroups, the niceness of the process counts
        AUTOGROUP.write_text(str(niceness))
