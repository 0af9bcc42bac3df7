"""A disk of some megabytes that can be filled."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

BALLAST = "ballast"


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A file system of that size at `place`. Skips the test where none can be mounted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "kvscope-test", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave no byte."""
    with suppress(OSError), (disk / BALLAST).open("ab", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))


def empty(disk: Path) -> None:
    """Take back what `fill` wrote."""
    (disk / BALLAST).unlink()
