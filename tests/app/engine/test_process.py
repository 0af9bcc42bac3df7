"""The engine leaves the processors to others, and its process ends with the web process, however it comes to know."""

import os
import subprocess
import sys
from typing import Any

import pytest

from kvscope.app.engine.inbox import Inbox, Share
from kvscope.app.engine.messages import Call, Failure, Result
from kvscope.app.engine.process import CALLS_ABOUT_RUNS, ENVIRONMENT, Loop
from kvscope.model.pieces import pause, pause_alone
from tests.support.live_server import FAKE, ROOT

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

def loader(model, device, dtype, progress, compiled, max_tokens):
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


def ended(code: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that has run the code."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.processes
def test_what_is_kept_for_each_shape_of_a_product_is_bounded() -> None:
    """Runs of other lengths for days; without the bound, 500 shapes more take 270 MB."""
    environment = {**os.environ, **ENVIRONMENT}
    assert float(ended(MANY_SHAPES, environment).stdout) < 10


@pytest.mark.processes
@pytest.mark.parametrize(("said", "holds"), [(None, "passive"), ("active", "active")])
def test_threads_sleep_unless_the_operator_says_otherwise(said: str | None, holds: str) -> None:
    """OpenMP reads that once, when torch is imported."""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    if said:
        environment["OMP_WAIT_POLICY"] = said
    done = ended(TELLS_HOW_THREADS_WAIT, environment)
    assert (done.stdout.split(), done.stderr) == (["False", holds], "")


@pytest.mark.processes
def test_an_engine_that_sends_to_a_web_process_that_was_killed_ends_without_a_word() -> None:
    done = ended(SENDS_FIRST)
    assert (done.returncode, done.stderr) == (0, "")


class Noted:
    """A service that notes what it does: runs of some steps, starts and questions of some pieces."""

    room = 0

    def __init__(self) -> None:
        self.done: list[str] = []
        self.steps = 0

    @property
    def busy(self) -> bool:
        return self.steps > 0

    def advance(self) -> list[Any]:
        self.steps -= 1
        self.done.append("pass")
        return []

    def control(self, steps: int, pieces: int = 1) -> None:
        self._work("start", pieces)
        self.steps += steps

    def mask(self, pieces: int) -> str:
        self._work("piece", pieces)
        return "an answer"

    def measure(self, pieces: int) -> None:
        for _ in range(pieces):
            self.done.append("piece")
            pause_alone()

    def _work(self, what: str, pieces: int) -> None:
        for number in range(pieces):
            if number:
                pause()
            self.done.append(what)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> tuple[Loop, Noted, Inbox, list[Any]]:
    """On a clock by which all takes as long, so that questions get a half of what runs get."""
    clock = iter(range(10**6))
    monkeypatch.setattr("kvscope.app.engine.process.Share", lambda: Share(lambda: float(next(clock))))
    service, calls, sent = Noted(), Inbox(CALLS_ABOUT_RUNS, lambda: 0.0), list[Any]()
    return Loop(sent.append, service, calls), service, calls, sent  # type: ignore[arg-type]


Made = tuple[Loop, Noted, Inbox, list[Any]]


def test_a_run_that_starts_waits_for_one_piece_of_an_answer(loop: Made) -> None:
    made, service, calls, sent = loop
    calls.put(Call(1, "mask", (6,)))
    made.turn()
    calls.put(Call(2, "control", (4,)))
    for _ in range(4):
        made.turn()
    assert service.done == ["piece", "start", "pass", "piece", "pass", "pass", "piece", "pass", "piece"]
    assert [message.number for message in sent] == [2]
    while len(sent) < 2:
        made.turn()
    assert service.done.count("piece") == 6
    assert sent[1] == Result(1, "an answer")


def test_runs_go_on_between_the_pieces_of_a_start(loop: Made) -> None:
    """Such as a branch whose rows are computed again."""
    made, service, calls, sent = loop
    calls.put(Call(1, "control", (9,)))
    calls.put(Call(2, "control", (0, 3)))
    calls.put(Call(3, "control", (0,)))
    for _ in range(3):
        made.turn()
    assert service.done == ["start", "start", "pass", "start", "pass", "start", "start", "pass"]
    assert [message.number for message in sent] == [1, 2, 3]


def test_what_is_measured_alone_ends_when_a_run_goes_on(loop: Made) -> None:
    made, service, calls, sent = loop
    calls.put(Call(1, "measure", (9,)))
    made.turn()
    calls.put(Call(2, "control", (2,)))
    while len(sent) < 2:
        made.turn()
    assert service.done.count("piece") == 1
    assert isinstance(sent[1], Failure)


def test_an_answer_that_nobody_waits_for_any_more_is_abandoned(loop: Made) -> None:
    _, service, _, sent = loop
    now = [0.0]
    calls = Inbox(CALLS_ABOUT_RUNS, lambda: now[0])
    made = Loop(sent.append, service, calls)  # type: ignore[arg-type]
    calls.put(Call(1, "mask", (6,), within_s=1.0))
    made.turn()
    now[0] = 2.0
    calls.put(Call(2, "mask", (1,)))
    made.turn()
    assert service.done == ["piece", "piece"]
    assert [message.number for message in sent] == [2]
