"""What is told of the machine while a time was measured."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from kvscope.model.engine import conditions as module
from kvscope.model.engine.conditions import MOST_STOLEN, MOST_WAITING, Conditions, Watch
from kvscope.model.engine.records import StepRecord
from kvscope.model.settings import Sampling
from tests.support.tiny import tiny_engine
from tests.support.waiting import eventually


@pytest.mark.parametrize(
    ("conditions", "disturbed"),
    [
        (Conditions(50, 0, 0.0, 0, 0.0), False),
        (Conditions(50, 1, 0.0, 0, 0.0), True),
        (Conditions(50, 0, MOST_WAITING + 0.01, 0, 0.0), True),
        (Conditions(50, 0, 0.0, 0, MOST_STOLEN + 0.01), True),
        (Conditions(50, 0, None, 40, None), False),
        (Conditions(50, 0, None, 60, None), True),
        (Conditions(1, 0, 1.0, 3, 0.0), False),  # too short to tell
    ],
)
def test_a_time_is_disturbed_by_other_runs_or_by_the_machine(conditions: Conditions, disturbed: bool) -> None:
    assert conditions.disturbed is disturbed


def test_the_system_is_asked_and_may_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_THREADS", tmp_path / "task")
    monkeypatch.setattr(module, "_STAT", tmp_path / "stat")
    monkeypatch.setattr(module, "LEAST_MS", 0.0)
    monkeypatch.setattr(module, "_counters", lambda: counters)
    counters = module._Counters()
    silent = Watch().conditions()
    assert (silent.waiting, silent.stolen) == (None, None)
    for thread in ("1", "2"):
        (tmp_path / "task" / thread).mkdir(parents=True)
        (tmp_path / "task" / thread / "schedstat").write_text("5 1000000000 3\n")
    (tmp_path / "stat").write_text("cpu 1 2 3 4 5 6 7 0 0 0\n")
    counters = module._Counters()
    watch = Watch()
    (tmp_path / "task" / "2" / "schedstat").write_text("5 9000000000 3\n")
    told = watch.conditions(2)
    assert (told.others, told.waiting, told.stolen) == (2, 1.0, 0.0)  # no share is above 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report how long threads waited")
def test_threads_that_begin_and_end_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_MS", 0.0)
    counters, begun, ended = module._Counters(), threading.Event(), threading.Event()

    def every_thread_is_read() -> bool:
        counters.read()
        return len(counters._threads) == len(list(Path("/proc/self/task").iterdir()))

    assert every_thread_is_read()
    thread = threading.Thread(target=lambda: (begun.set(), ended.wait()))
    thread.start()
    assert begun.wait(60)
    assert every_thread_is_read()
    ended.set()
    thread.join()
    eventually(every_thread_is_read)  # the system ends a thread a moment after `join`


def test_a_reading_ends_one_pass_and_begins_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_MS", 60_000.0)
    first, second = Watch(), Watch()
    assert first._before is second._before


def test_a_step_tells_of_the_runs_it_shared_its_passes_with() -> None:
    engine = tiny_engine()
    for key in ("a", "b"):
        engine.admit(key, [1, 2, 3], Sampling(), 2)
    shared = [record.timing.conditions for record in engine.advance() if isinstance(record, StepRecord)]
    assert [each.others for each in shared if each] == [1, 1]
    engine.stop("b")
    (alone,) = [record.timing.conditions for record in engine.advance() if isinstance(record, StepRecord)]
    assert alone is not None
    assert alone.others == 0
