"""Native code, compiled with sanitizers, reads and writes only what it was given in all that a start compares."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvscope.model.compiler import LIBRARIES, OPTIONS, THIS_PROCESSOR
from kvscope.model.native.library import SOURCE

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O0")
COMPARES = """
import sys
from ctypes import CDLL
from dataclasses import replace
import torch
from kvscope.model.native import Native, comparison

torch.set_num_threads(2)
library = CDLL(sys.argv[1])
for comparison.OUTPUTS in (15, 16, 17):
    Native(library)
comparison.LENGTHS = (33,)
Native(library)

# More stages than a team has: one for each product of each row's experts.
many = replace(comparison._TINY, experts=48, experts_chosen=48, d_expert=32)
comparison._configs, comparison.LENGTHS, comparison.CLOSE_IN_A_STEP = lambda: [many], (60,), 1
Native(library)
"""


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="sanitizers come with GCC on Linux")
def test_no_sanitizer_reports_anything(tmp_path: Path) -> None:
    library = tmp_path / "kernels.so"
    command = ["gcc", *OPTIONS, *SANITIZED, THIS_PROCESSOR, str(SOURCE), "-o", str(library), *LIBRARIES]
    subprocess.run(command, check=True, capture_output=True)
    preloaded = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    done = subprocess.run(
        [sys.executable, "-c", COMPARES, str(library)],
        # Python and torch keep memory until the process ends.
        env={**os.environ, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
