"""The process that reads one imported file: `python -m kvscope.app.travel.reading FD`.

Standard input is the file. It writes the session's frames to the descriptor FD as a frame stream, those of exact values
after those of the log. Standard output gets a JSON report: `words`, `frames` (of the log), `level` and `parts` of the
values; or `refused`; or `errno` of a full disk.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

from kvscope.app.travel.importing import MAX_FILE_BYTES, read_file
from kvscope.model.api import Refused
from kvscope.model.log.frames import to_stream

DEADLINE_S, PROCESSOR_S = 120, 60
"""Wall time, and processor time: 100 MB take 7 s of a processor."""
MOST_MEMORY_BYTES = 1024 * 1024 * 1024
"""Besides the file, which is not copied."""
MOST_FRAMES_BYTES = 2 * MAX_FILE_BYTES
"""Most bytes that a file may unpack to."""
NICENESS = 5
LIMITS = (
    (resource.RLIMIT_DATA, MOST_MEMORY_BYTES),
    (resource.RLIMIT_CPU, PROCESSOR_S),
    (resource.RLIMIT_FSIZE, MOST_FRAMES_BYTES),
    (resource.RLIMIT_CORE, 0),
)


def main() -> None:
    """Reads the file and reports its content."""
    keep_within_limits()
    try:
        report = _read(int(sys.argv[1]))
    except Refused as refused:
        report = {"refused": [refused.field, refused.message, refused.limit, refused.status]}
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)  # as a library does that meets the limit
    except OSError as error:
        report = {"errno": error.errno}
    json.dump(report, sys.stdout)


def keep_within_limits() -> None:
    """Sets the limits. What exceeds one fails, or ends this process."""
    for limit, most in LIMITS:
        with suppress(ValueError):  # a lower limit holds already
            resource.setrlimit(limit, (most, most))
    signal.alarm(DEADLINE_S)  # also if nobody waits for it
    os.nice(NICENESS)


def _read(descriptor: int) -> dict[str, Any]:
    imported = read_file(memoryview(mmap.mmap(0, 0, access=mmap.ACCESS_READ)))
    frames, values = 0, imported.values
    with open(descriptor, "wb", closefd=False) as out:
        for payload in imported.frames():
            frames += 1
            out.writelines(to_stream([payload]))
        out.writelines(to_stream(values.payloads() if values else ()))
    level, parts = (values.level, values.parts) if values else (None, [])
    return {"words": imported.words, "frames": frames, "level": level, "parts": parts}


if __name__ == "__main__":
    main()
