"""Several engines behind one interface: which takes a run, and what becomes of runs when one is lost or drained."""

import os
import signal

import psutil
import pytest

from kvscope.app.engine.engine import share_of
from kvscope.app.engine.pool import LastEngine, NoSuchEngine
from kvscope.app.engine.queue import Requester
from kvscope.model.api import ForkRequest
from kvscope.model.log.frames import header
from tests.support.engine_side import EngineSide, Started, closed
from tests.support.waiting import eventually


def engine_of(side: EngineSide, run: str) -> str:
    return side.pool.engine_of(run).name


def test_runs_go_to_the_engine_with_most_room(engine_side: Started) -> None:
    side = engine_side(model="delay=0.05", engines=2)
    for run in "abcd":
        side.start(run, max_new_tokens=256)
    assert sorted(engine_of(side, run) for run in "abcd") == ["engine-1", "engine-1", "engine-2", "engine-2"]
    for engine in side.pool.engines:
        os.kill(engine.supervisor.pid or 0, signal.SIGKILL)
    assert {closed(side.log, run) for run in "abcd"} == {"interrupted"}


def test_places_are_those_of_all_engines(engine_side: Started) -> None:
    side = engine_side(model="delay=0.05", engines=2, max_open_runs=1)
    assert [side.start(run, max_new_tokens=256) is None for run in "abc"] == [True, True, False]
    assert engine_of(side, "a") != engine_of(side, "b")


def test_a_lost_engine_interrupts_its_own_runs_alone(engine_side: Started) -> None:
    side = engine_side(model="delay=0.02", engines=2)
    for run in "ab":
        side.start(run, max_new_tokens=100)
    lost = side.pool.engine_of("a")
    os.kill(lost.supervisor.pid, signal.SIGKILL)
    assert closed(side.log, "a") == "interrupted"
    assert side.computes()  # while one engine restarts, the other takes runs
    assert closed(side.log, "b") == "length"
    eventually(lambda: lost.state == "ready")


def test_a_run_that_an_engine_was_lost_with_continues_elsewhere_from_its_log(engine_side: Started) -> None:
    side = engine_side(model="delay=0.02", engines=2)
    side.start("a", max_new_tokens=256)
    side.wait_for_steps("a")
    os.kill(side.pool.engine_of("a").supervisor.pid, signal.SIGKILL)
    assert closed(side.log, "a") == "interrupted"
    last, token = side.log.chosen("a")[-1]
    shared = tuple(side.log.all_frames("a", last=last))
    position = 3 + len(side.log.chosen("a")) - 1
    side.scheduler.start(ForkRequest("b", "a", position, token, shared), Requester("b", "b"))
    assert closed(side.log, "b") == "length"
    kept = [header(payload).data for payload in side.log.all_frames("b")]
    assert [data.get("token") for data in kept][: last + 1] == [header(frame).data.get("token") for frame in shared]


def test_a_branch_goes_to_the_engine_that_has_the_blocks_unless_that_is_full(engine_side: Started) -> None:
    side = engine_side(engines=2, max_open_runs=1)
    side.start("a", max_new_tokens=4)
    assert closed(side.log, "a") == "length"
    parent = side.pool._placement._engines["a"]
    last, token = side.log.chosen("a")[0]
    shared = tuple(side.log.all_frames("a", last=last))
    for branch in ("b", "c"):
        request = ForkRequest(branch, "a", 3, token + 1, shared)
        side.scheduler.start(request, Requester(branch, branch))
        assert closed(side.log, branch) == "length"
        assert side.pool._placement._engines[branch] == parent
    assert side.pool._placement.near(ForkRequest("d", "gone", 3, token, shared)) is None


def test_prompts_of_one_owner_that_begin_alike_go_to_one_engine(engine_side: Started) -> None:
    side = engine_side(engines=3)
    beginning = "the same sixteen tokens and more " * 3
    for run, owner in (("a", "one"), ("b", "one"), ("c", "one"), ("d", "other")):
        side.start(run, beginning + run, owner=owner, max_new_tokens=1)
        closed(side.log, run)
    engines = side.pool._placement._engines
    assert engines["a"] == engines["b"] == engines["c"]


def test_a_drained_engine_takes_no_run_and_ends_with_its_last(engine_side: Started) -> None:
    side = engine_side(model="delay=0.02", engines=2)
    for run in "ab":
        side.start(run, max_new_tokens=100)
    side.scheduler.control("b", "pause")
    leaving = side.pool.engine_of("a")
    pid = leaving.supervisor.pid
    side.scheduler.drain(leaving.name)
    for run in "cd":
        side.start(run, max_new_tokens=2)
        assert closed(side.log, run) == "length"
    assert closed(side.log, "a") == "length"
    eventually(lambda: leaving not in side.pool.engines)
    eventually(lambda: not psutil.pid_exists(pid))
    with pytest.raises(LastEngine):
        side.scheduler.drain(side.pool.engines[0].name)
    with pytest.raises(NoSuchEngine):
        side.scheduler.drain(leaving.name)
    added = side.pool.add()
    eventually(lambda: added.state == "ready")


def test_a_paused_run_of_a_drained_engine_resumes_on_another(engine_side: Started) -> None:
    side = engine_side(model="delay=0.02", engines=2)
    side.start("a", max_new_tokens=60)
    side.wait_for_steps("a")
    side.scheduler.control("a", "pause")
    leaving = side.pool.engine_of("a")
    eventually(lambda: side.scheduler.is_paused("a"))
    eventually(lambda: side.scheduler.drain(leaving.name) and side.pool.engine_of("a") is None)
    eventually(lambda: leaving not in side.pool.engines)
    side.scheduler.control("a", "resume")
    assert closed(side.log, "a") == "length"
    assert [header(payload).seq for payload in side.log.all_frames("a")] == list(range(2 + 2 * 60))


@pytest.mark.parametrize(("engines", "processors"), [(1, 4), (2, 4), (3, 4), (8, 4)])
def test_engines_divide_the_processors_and_leave_none_out(
    engines: int, processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(processors)), raising=False)
    shares = [share_of(order, engines) for order in range(engines)]
    if 1 < engines <= processors:
        assert sorted(number for share in shares for number in share) == list(range(processors))
    else:
        assert not any(shares)
