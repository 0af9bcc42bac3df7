"""The engine's process ends with the web process, whichever way it comes to know."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.app.conftest import FAKE, ROOT

pytestmark = pytest.mark.processes

SENDS_FIRST = f"""
import time
from multiprocessing import Pipe
from app import engine_process

engine_process._receive = lambda connection, calls: time.sleep(60)
ours, theirs = Pipe()
theirs.close()
engine_process.serve(ours, {FAKE!r}, "delay=0", "cpu")
"""


def test_an_engine_that_sends_to_a_web_process_that_was_killed_ends_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SENDS_FIRST], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
