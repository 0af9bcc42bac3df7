"""Reads an imported file in its own process (app.travel.reading), which is ended if it takes too much time or memory.

This process keeps serving, and gets the session's checked frames through a file on disk.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from kvscope.app.store.value_parts import Values
from kvscope.app.travel import reading
from kvscope.app.travel.importing import Imported
from kvscope.model.api import Refused
from kvscope.model.log.frames import from_stream

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Each library thread would need memory, and nothing is multiplied here."""
PROCESS = (sys.executable, "-m", reading.__name__)
GRACE_S = 5


def read_apart(file: IO[bytes], folder: Path) -> tuple[Imported, int]:
    """Returns the session in a file, checked as a whole, and its size in bytes. `folder`: for its frames while they are
    read.

    The frames stay readable as long as the Imported exists. Raises Refused, and OSError for a full disk.
    """
    with tempfile.TemporaryFile(dir=folder, prefix="import-") as unpacked:
        report = _said(file, unpacked.fileno())
        if report.get("errno") == errno.EFBIG:
            raise Refused("file", "The file is too large when decompressed.", limit=reading.MOST_FRAMES_BYTES)
        if "errno" in report:
            raise OSError(report["errno"], os.strerror(report["errno"]))
        if "refused" in report:
            field, message, limit, status = report["refused"]
            raise Refused(field, message, limit=limit, status=status)
        content = mmap.mmap(unpacked.fileno(), 0, access=mmap.ACCESS_READ)
    frames, parts = report["frames"], report["parts"]
    values = Values(report["level"], parts, _part(content, frames, None)) if parts else None
    return Imported(report["words"], _part(content, 0, frames), values), len(content)


def _part(content: mmap.mmap, first: int, end: int | None) -> Callable[[], Iterator[bytes]]:
    return lambda: islice(from_stream(content), first, end)


def _said(file: IO[bytes], descriptor: int) -> dict[str, Any]:
    """Runs the process that reads `file`, and returns its report. `descriptor`: of the file for the frames."""
    try:
        done = subprocess.run(
            [*PROCESS, str(descriptor)],
            stdin=file,
            capture_output=True,
            pass_fds=(descriptor,),
            env={**os.environ, **ONE_THREAD},
            timeout=reading.DEADLINE_S + GRACE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _too_much() from None
    if done.returncode < 0:  # a resource limit ended it
        raise _too_much()
    if done.returncode:
        raise RuntimeError(f"reading a file failed: {done.stderr.decode('utf-8', 'replace')[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _too_much() -> Refused:
    seconds, megabytes = reading.PROCESSOR_S, reading.MOST_MEMORY_BYTES // 1024**2
    return Refused(
        "file", f"Reading the file takes more than {seconds} s or {megabytes} MB of memory, the limits of this server."
    )
