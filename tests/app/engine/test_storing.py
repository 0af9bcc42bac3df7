"""Frames of the engine, in the log."""

from threading import Thread

import pytest

from kvscope.model.log.frames import header
from tests.support.engine_side import Started, closed


def test_runs_advance_together_and_each_log_is_whole(engine_side: Started) -> None:
    engine = engine_side(max_open_runs=8)
    threads = [Thread(target=engine.start, args=(f"r{n}",), kwargs={"max_new_tokens": 20}) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert closed(engine.log, f"r{number}") == "length"
        assert [header(payload).seq for payload in engine.log.all_frames(f"r{number}")] == list(range(42))


def test_a_run_that_cannot_be_stored_fails_alone(engine_side: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_side(model="delay=0.01")
    append = engine.log.append
    monkeypatch.setattr(engine.log, "append", lambda frames: append([f for f in frames if (f.run, f.seq) != ("a", 4)]))
    for run in "ab":
        engine.start(run, max_new_tokens=20)
    assert closed(engine.log, "a") == "failed"
    assert closed(engine.log, "b") == "length"
    closing = engine.log.closing("a")
    assert closing is not None
    assert "frame 5 after 3" in closing["error"]
