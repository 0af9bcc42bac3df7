"""The process that reads one file of a stranger's: `python -m kvscope.app.travel.reading FD`.

The file is its standard input. It writes the frames of the session to the descriptor FD, as a frame stream, those of
exact values after those of the log, and says on its standard output what they are, as JSON: `words`, `frames` (how
many are of the log), `level` and `parts` of the values; or `refused`, or `errno` of a disk that cannot take them.
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
"""On the clock, and of a processor: 100 MB take 7 s of one."""
MOST_MEMORY_BYTES = 1024 * 1024 * 1024
"""Beyond the file itself, which is not copied."""
MOST_FRAMES_BYTES = 2 * MAX_FILE_BYTES
"""What a file may unpack to: those of a page are deflated."""
NICENESS = 5
LIMITS = (
    (resource.RLIMIT_DATA, MOST_MEMORY_BYTES),
    (resource.RLIMIT_CPU, PROCESSOR_S),
    (resource.RLIMIT_FSIZE, MOST_FRAMES_BYTES),
    (resource.RLIMIT_CORE, 0),
)


def main() -> None:
    """Read the file and say what is in it."""
    keep_within_limits()
    try:
        report = _read(int(sys.argv[1]))
    except Refused as refused:
        report = {"refused": [refused.field, refused.message, refused.limit, refused.status]}
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)  # as where a library meets the limit, which ends the process itself
    except OSError as error:
        report = {"errno": error.errno}
    json.dump(report, sys.stdout)


def keep_within_limits() -> None:
    """From now on: whatever is beyond one of them fails, or ends this process."""
    for limit, most in LIMITS:
        with suppress(ValueError):  # a lower one holds already
            resource.setrlimit(limit, (most, most))
    signal.alarm(DEADLINE_S)  # also where nobody waits for it any more
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
