"""What an installation has: the wheel of this checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built with what is installed here. npm fetches the bundler."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def unpacked_wheel(folder: Path) -> Path:
    """The folder with that wheel's files."""
    with zipfile.ZipFile(build_wheel(folder)) as wheel:
        wheel.extractall(folder / "unpacked")
    return folder / "unpacked"
