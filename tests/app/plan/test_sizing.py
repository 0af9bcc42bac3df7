"""How many it takes: no fewer than reach the goal, no more than needed, and what is stored by day."""

from __future__ import annotations

import pytest

from kvscope.app.plan.errors import CannotPlan
from kvscope.app.plan.scenario import Scenario, changed
from kvscope.app.plan.sizing import Goal, Planner, percentile, run_bytes
from tests.support.planned import profile

EVENING = Scenario(people=120, minutes=2, runs_each=5, tokens=100, prompt_tokens=8, reads_each=0)
"""5 runs a second of a second each: more than four places can serve."""


def planner(**options: object) -> Planner:
    return Planner(profile(), EVENING, Goal(2.0, 95), rounds=1, open_runs=4, **options)  # type: ignore[arg-type]


def test_it_finds_the_fewest_engines_that_reach_the_goal() -> None:
    plan = planner().plan()
    assert plan.engines > 1
    assert plan.wait_s <= 2.0
    fewer = planner(engines=plan.engines - 1).plan()
    assert fewer.wait_s > 2.0
    assert fewer.queued > plan.queued


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert planner(seed=4).plan() == planner(seed=4).plan()
    assert planner(seed=4).plan().wait_s != planner(seed=5).plan().wait_s


def test_a_longer_wait_needs_no_more_engines() -> None:
    patient = Planner(profile(), EVENING, Goal(20.0, 95), rounds=1, open_runs=4).plan()
    assert patient.engines <= planner().plan().engines


def test_web_processes_are_added_until_viewers_get_frames_in_time() -> None:
    slow = profile(web=profile().web.model_dump() | {"viewer_frame_ms": 2.0})
    plan = Planner(slow, EVENING, Goal(2.0, 95), rounds=1, open_runs=4).plan()
    assert plan.web_processes > 1
    assert plan.limit == "web processes"


def test_what_is_stored_is_the_bytes_of_all_runs_of_all_days() -> None:
    same = EVENING.model_copy(update={"kept_days": 10, "periods": 3})
    plan = Planner(profile(), same, Goal(60.0, 95), rounds=1, engines=4).plan()
    each = plan.day_bytes / 3 / plan.runs / 0.5
    assert each == pytest.approx(run_bytes(profile(), 8, 100), rel=0.1)
    assert plan.stored_bytes == pytest.approx(10 * plan.day_bytes)
    assert plan.wal_bytes == pytest.approx(plan.day_bytes * 0.75 / 0.5)


def test_a_period_of_very_many_runs_is_as_one_of_which_a_part_is_simulated() -> None:
    short = EVENING.model_copy(update={"people": 400, "runs_each": 2, "minutes": 4, "tokens": 20})
    long = short.model_copy(update={"people": 4000, "minutes": 40})
    some, many = (Planner(profile(), each, Goal(60.0, 95), rounds=1, engines=2).plan() for each in (short, long))
    assert many.day_bytes == pytest.approx(10 * some.day_bytes, rel=0.1)
    assert many.uses["engines"].mean == pytest.approx(some.uses["engines"].mean, rel=0.1)


def test_a_wait_that_one_run_alone_does_not_reach_is_refused() -> None:
    slow = profile(prefill=[{"tokens": 1, "ms": 1000.0}, {"tokens": 512, "ms": 9000.0}])
    with pytest.raises(CannotPlan, match=r"--wait is 0\.5; a run that has an engine to itself .* it must be more"):
        Planner(slow, EVENING, Goal(0.5, 95)).plan()


def test_more_runs_than_can_be_simulated_are_refused() -> None:
    with pytest.raises(CannotPlan, match="must have from 1 to 200,000"):
        changed(EVENING, {"people": 1_000_000})


def test_a_percentile_is_a_value_that_there_is() -> None:
    assert [percentile([3.0, 1.0, 2.0, 4.0], each) for each in (25, 50, 95, 100)] == [1.0, 2.0, 4.0, 4.0]
