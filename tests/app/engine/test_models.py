"""Several models: each in an engine of its own, within the memory that they may take together."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from kvscope.app.engine import pool as pools
from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.models import ENGINE_BYTES
from kvscope.app.engine.queue import Requester
from kvscope.model.api import ForkRequest, Refused
from tests.support.engine_side import EngineSide, Started, closed
from tests.support.fake_service import write_fake
from tests.support.waiting import eventually

MB = 10**6


@pytest.fixture(autouse=True)
def _soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was just loaded is not in use."""
    monkeypatch.setattr(pools, "JUST_LOADED_S", 0.0)


@pytest.fixture
def with_models(engine_side: Started, tmp_path: Path) -> Started:
    """Makes the engines of servers that have these models."""

    def make(*names: str, options: str = "delay=0.02", more: tuple[str, ...] = (), **settings: Any) -> EngineSide:
        first, *others = [write_fake(tmp_path, name, options) for name in names]
        return engine_side(model=first, more_models=(*others, *more), **settings)

    return make


def load(side: EngineSide, name: str) -> None:
    """Load a model, and wait until it is."""
    model = side.pool.models.named(name)
    side.pool.load(model)
    eventually(lambda: side.pool.readiness_of(model).state == "ready")


def computed_by(side: EngineSide, run: str) -> str:
    assert closed(side.log, run) == "length"
    return str(side.log.opening(run)["model"]["name"])


def loaded(side: EngineSide) -> list[str]:
    return [engine.model.name for engine in side.pool.engines]


def test_a_model_is_loaded_when_it_is_first_used_and_computes_its_own_runs(with_models: Started) -> None:
    side = with_models("one", "two")
    assert loaded(side) == ["one"]
    with pytest.raises(EngineUnavailable, match="two: "):
        side.pool.choose("two")
    eventually(lambda: side.pool.readiness_of(side.pool.models.named("two")).state == "ready")
    side.start("a", max_new_tokens=20)
    side.start("b", max_new_tokens=20, model="two")
    assert (computed_by(side, "a"), computed_by(side, "b")) == ("one", "two")


def test_a_branch_and_a_question_go_to_the_engine_of_the_runs_model(with_models: Started) -> None:
    side = with_models("one", "two", options="")
    load(side, "two")
    side.start("a", max_new_tokens=4, model="two")
    assert computed_by(side, "a") == "two"
    last, token = side.log.chosen("a")[0]
    request = ForkRequest("b", "a", 3, token + 1, tuple(side.log.all_frames("a", last=last)))
    side.scheduler.start(request, Requester("b", "b"))
    assert computed_by(side, "b") == "two"
    assert side.pool._placement._engines["b"] == side.pool.engines[1].name
    described = side.log.opening("a")["model"]
    assert side.pool.serving(described) is side.pool.models.named("two")
    assert side.pool.serving({**described, "sha256": "0" * 64}) is None


def test_the_model_used_least_recently_is_ended_for_another(with_models: Started) -> None:
    side = with_models("one", "two", "three", "four", options="")
    pool = side.pool
    for name in ("two", "three"):
        load(side, name)
    side.start("a", max_new_tokens=2)
    assert closed(side.log, "a") == "length"
    ended = pool.engines_of(pool.models.named("two"))[0].supervisor.pid or 0
    taken = sum(pool.memory_of(model)[0] for model in pool.models.all[:3])
    pool.models.budget = taken + ENGINE_BYTES - 10 * MB
    load(side, "four")
    assert loaded(side) == ["one", "three", "four"]
    assert not psutil.pid_exists(ended)
    assert pool.readiness_of(pool.models.named("two")).state == "unloaded"
    assert pool.memory_of(pool.models.named("two"))[1]  # how much it takes is known now


def test_a_model_with_an_open_run_is_not_ended_and_the_refusal_has_the_figures(with_models: Started) -> None:
    budget = ENGINE_BYTES + 5 * MB
    side = with_models("one", "two", model_memory_bytes=budget)
    side.start("a", max_new_tokens=200)
    two = side.pool.models.named("two")
    with pytest.raises(Refused, match=r"two needs about 400 MB of memory, and one is in use; .* 405 MB") as refused:
        side.pool.load(two)
    assert (refused.value.status, refused.value.limit) == (409, budget)
    assert loaded(side) == ["one"]
    assert closed(side.log, "a") == "length"
    load(side, "two")
    assert loaded(side) == ["two"]
    side.start("b", max_new_tokens=2, model="two")
    assert computed_by(side, "b") == "two"


def test_a_model_that_is_too_large_alone_is_refused(with_models: Started, tmp_path: Path) -> None:
    large = write_fake(tmp_path, "large", size=700 * MB)
    side = with_models("one", more=(large,), model_memory_bytes=800 * MB)
    with pytest.raises(Refused, match=r"large needs about 1\.10 GB of memory; the models may take 800 MB"):
        side.pool.load(side.pool.models.named("large"))


def test_a_model_that_does_not_load_leaves_the_others_alone(with_models: Started, tmp_path: Path) -> None:
    side = with_models("one", more=(write_fake(tmp_path, "bad", "refused"), "no/such.gguf"))
    bad, unknown = side.pool.models.all[1:]
    side.pool.load(bad)
    eventually(lambda: side.pool.readiness_of(bad).state == "failed")
    with pytest.raises(EngineUnavailable, match="truncated"):
        side.pool.choose("bad")
    with pytest.raises(Refused, match=r"There is no model 'no/such\.gguf'"):
        side.pool.choose(unknown.name)
    with pytest.raises(Refused, match=r"model is 'other'; this server has one, bad, no/such\.gguf\."):
        side.pool.choose("other")
    side.start("a", max_new_tokens=2)
    assert computed_by(side, "a") == "one"


def test_a_model_that_is_full_does_not_hold_up_the_runs_of_another(with_models: Started) -> None:
    side = with_models("one", "two", max_open_runs=1)
    load(side, "two")
    assert side.start("a", max_new_tokens=250) is None
    assert side.start("b", max_new_tokens=2) is not None
    assert side.start("c", max_new_tokens=2, model="two") is None
    assert computed_by(side, "c") == "two"
    assert side.log.head("b") is None
    side.scheduler.control("a", "stop")
    assert computed_by(side, "b") == "one"


def test_a_paused_run_gives_its_place_to_a_run_of_the_same_model_alone(with_models: Started) -> None:
    side = with_models("one", "two", max_open_runs=1)
    load(side, "two")
    for run, model in (("a", ""), ("b", "two")):
        side.start(run, max_new_tokens=200, model=model)
        side.scheduler.control(run, "pause")
    assert side.start("c", max_new_tokens=2, model="two") is None
    assert computed_by(side, "c") == "two"
    assert side.pool.engine_of("a") is not None
    assert side.pool.engine_of("b") is None
    side.scheduler.control("b", "resume")
    assert computed_by(side, "b") == "two"


def test_a_paused_run_keeps_no_model_in_memory_and_resumes_when_that_is_loaded_again(
    with_models: Started,
) -> None:
    side = with_models("one", "two", model_memory_bytes=ENGINE_BYTES + 5 * MB)
    side.start("a", max_new_tokens=40)
    side.scheduler.control("a", "pause")
    load(side, "two")
    assert loaded(side) == ["two"]
    assert side.scheduler.is_paused("a")
    side.scheduler.control("a", "resume")
    assert computed_by(side, "a") == "one"
    assert loaded(side) == ["one"]
    assert len(side.log.chosen("a")) == 40
