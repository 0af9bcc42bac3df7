"""What an installation has: the wheel of this checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "kvscope" / "static"


def build(target: str, folder: Path, source: Path = ROOT) -> Path:
    """The `wheel` or the archive of sources, `sdist`, built with what is installed here. npm fetches the bundler."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.iterdir())


def unpacked_wheel(folder: Path) -> Path:
    """The folder with that wheel's files."""
    with zipfile.ZipFile(build("wheel", folder / "dist")) as wheel:
        wheel.extractall(folder / "unpacked")
    return folder / "unpacked"
