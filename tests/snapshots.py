"""`python -m tests.snapshots`: writes what each page says into tests/browser/snapshots/, to be read in the change."""

import os
import subprocess
import sys

from tests.page_tools import ROOT

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "tests/browser/test_snapshots.py", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT, env={**os.environ, "RENEW_SNAPSHOTS": "1"}).returncode)
