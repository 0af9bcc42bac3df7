"""What a fresh interpreter has."""

import subprocess
import sys

from tests.support.live_server import ROOT


def loaded_by(code: str) -> set[str]:
    """Top-level names of the modules that are loaded after `code`."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())
