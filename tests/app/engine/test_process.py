"""The engine leaves the processors to others, and its process ends with the web process, however it comes to know."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kvscope.app.engine.process import ENVIRONMENT
from tests.support.live_server import FAKE, ROOT

pytestmark = pytest.mark.processes

SENDS_FIRST = f"""
import time
from multiprocessing import Pipe
from kvscope.app.engine import process as engine_process

engine_process.receive = lambda connection, put: time.sleep(60)
ours, theirs = Pipe()
theirs.close()
engine_process.serve(ours, engine_process.EngineSpec({FAKE!r}, "delay=0", "cpu", "float32"))
"""

TELLS_HOW_THREADS_WAIT = """
import os
import sys
from multiprocessing import Pipe
from kvscope.app.engine import process as engine_process
from kvscope.model.api import Refused

def loader(model, device, dtype, progress, compiled):
    print("torch" in sys.modules, os.environ.get("OMP_WAIT_POLICY"))
    raise Refused("model", "only asked")

ours, theirs = Pipe()
engine_process.serve(ours, engine_process.EngineSpec("__main__:loader", None, "cpu", "float32"))
"""


MANY_SHAPES = """
import psutil
import torch
weight = torch.ops.mkldnn._reorder_linear_weight(torch.randn(64, 64), None)
held = []
for rows in range(1, 700):
    torch.ops.mkldnn._linear_pointwise(torch.randn(rows, 64), weight, None, "none", [], "")
    held.append(psutil.Process().memory_info().rss)
print((held[-1] - held[198]) / 2**20)
"""


def test_what_is_kept_for_each_shape_of_a_product_is_bounded() -> None:
    """Runs of other lengths for days; without the bound, 500 shapes more take 270 MB."""
    environment = {**os.environ, **ENVIRONMENT}
    asked = [sys.executable, "-c", MANY_SHAPES]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=50, check=True)
    assert float(done.stdout) < 10


@pytest.mark.parametrize(("said", "holds"), [(None, "passive"), ("active", "active")])
def test_threads_sleep_unless_the_operator_says_otherwise(said: str | None, holds: str) -> None:
    """OpenMP reads that once, when torch is imported."""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    if said:
        environment["OMP_WAIT_POLICY"] = said
    asked = [sys.executable, "-c", TELLS_HOW_THREADS_WAIT]
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert (done.stdout.split(), done.stderr) == (["False", holds], "")


def test_an_engine_that_sends_to_a_web_process_that_was_killed_ends_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SENDS_FIRST], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
