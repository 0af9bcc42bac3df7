"""Frames of the engine, in the log."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from kvscope.model.log.frames import header
from tests.support.engine_side import Started, closed


def test_runs_advance_together_and_each_log_is_whole(engine_side: Started) -> None:
    engine = engine_side(max_open_runs=8)
    runs = "abcdefgh"
    with ThreadPoolExecutor(len(runs)) as pool:
        for run in runs:
            pool.submit(engine.start, run, max_new_tokens=20)
    for run in runs:
        assert closed(engine.log, run) == "length"
        assert [header(payload).seq for payload in engine.log.all_frames(run)] == list(range(42))


def test_a_run_that_cannot_be_stored_fails_alone(engine_side: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_side(model="delay=0.01")
    append = engine.log.append
    monkeypatch.setattr(engine.log, "append", lambda frames: append([f for f in frames if (f.run, f.seq) != ("a", 4)]))
    for run in "ab":
        engine.start(run, max_new_tokens=20)
    assert closed(engine.log, "a") == "failed"
    assert closed(engine.log, "b") == "length"
    assert "frame 5 after 3" in engine.log.closing("a")["error"]
