"""The engine's process dies, is started again and ends; the database goes away; runs go on or end."""

import os
import signal

import pytest

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.store.errors import StoreError
from tests.support.engine_side import Started, closed
from tests.support.outage import Fault, away, crowded
from tests.support.waiting import eventually


@pytest.mark.parametrize("fault", [away, crowded])
def test_a_database_that_goes_away_ends_the_run_and_nothing_else(
    engine_side: Started, said: list[str], fault: Fault
) -> None:
    engine = engine_side(model="delay=0.01")
    engine.start("a", max_new_tokens=200)
    engine.wait_for_steps("a")
    with fault(engine.log.engine):
        assert closed(engine.log, "a") == "failed"
        seen = engine.log.head("a")
        assert engine.calls.call("head", [1], 0, 0, 0) == b"head [1] 0 0 0"
        with pytest.raises(StoreError):
            engine.start("b", max_new_tokens=2)
        assert engine.supervisor.readiness.state == "ready"
    eventually(lambda: not engine.log.has_rest)  # though nothing else is written
    assert engine.log.head("a") == seen
    assert engine.computes()
    assert said[0].startswith("The run cannot be stored: ")


def test_an_engine_that_dies_while_the_database_is_away_comes_back(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05")
    engine.start("a", max_new_tokens=256)
    pid = engine.supervisor.pid or 0
    with away(engine.log.engine):
        engine.kill_engine()
        eventually(lambda: engine.supervisor.readiness.state == "ready" and engine.supervisor.pid != pid)
    eventually(lambda: not engine.log.has_rest)
    assert closed(engine.log, "a") in ("failed", "interrupted")
    assert engine.computes()


def test_an_engine_that_dies_interrupts_its_runs_and_comes_back(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.05")
    engine.start("a", max_new_tokens=256)
    engine.wait_for_steps("a")
    engine.kill_engine()
    assert closed(engine.log, "a") == "interrupted"
    eventually(lambda: engine.supervisor.readiness.state == "ready")
    assert engine.computes()


def test_readiness_says_what_was_compiled_and_when_that_changes(engine_side: Started) -> None:
    engine = engine_side()
    eventually(lambda: engine.supervisor.readiness.compiled == "compiled")
    engine.start("a", max_new_tokens=1)
    eventually(lambda: engine.supervisor.readiness.compiled == "no longer compiled")
    untouched = engine_side(compile="off")
    untouched.start("a", max_new_tokens=1)
    assert closed(untouched.log, "a") == "length"
    assert untouched.supervisor.readiness.compiled == ""


def test_the_engine_keeps_weights_as_the_settings_say(engine_side: Started) -> None:
    for dtype in ("float32", "bfloat16"):
        assert engine_side(dtype=dtype).supervisor.info["weight_dtype"] == dtype


def test_closing_interrupts_what_runs_and_ends_the_engine(engine_side: Started) -> None:
    engine = engine_side(model="delay=0.01")
    engine.start("a", max_new_tokens=256)
    pid = engine.supervisor.pid or 0
    engine.supervisor.close()
    assert closed(engine.log, "a") == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_engine_that_hangs_is_ended_its_callers_and_runs_told_and_it_comes_back(
    engine_side: Started, said: list[str]
) -> None:
    engine = engine_side(model="delay=0.05")
    engine.start("a", max_new_tokens=256)
    engine.wait_for_steps("a")
    pid = engine.supervisor.pid or 0
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(EngineUnavailable, match="did not respond"):
        engine.calls.call("head", [1], 0, 0, 0)
    assert engine.supervisor.readiness.state == "restarting"
    assert closed(engine.log, "a") == "interrupted"
    assert "stopped responding" in engine.log.closing("a")["error"]
    eventually(lambda: engine.supervisor.readiness.state == "ready" and engine.supervisor.pid != pid)
    assert said == ["The engine did not respond for 4 s and is restarting."]
    assert engine.computes()


@pytest.mark.parametrize("model", ["load=6", "delay=6"], ids=["a load", "a pass"])
def test_what_takes_long_is_not_taken_for_hanging(engine_side: Started, said: list[str], model: str) -> None:
    engine = engine_side(model=model, hung_after_s=2)
    engine.start("a", max_new_tokens=1)
    assert closed(engine.log, "a") == "length"
    assert engine.supervisor.restarts == 0
    assert said == []
