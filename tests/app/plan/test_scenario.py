"""Who comes when: as many runs as a scenario says, within its period, together where it says so."""

from __future__ import annotations

from random import Random

import pytest

from kvscope.app.plan.scenario import SCENARIOS, Scenario, arrivals, visits


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_the_runs_that_it_says_in_its_period(name: str) -> None:
    _, scenario = SCENARIOS[name]
    found = arrivals(scenario, Random(1))
    assert len(found) == scenario.runs
    assert [arrival.at_s for arrival in found] == sorted(arrival.at_s for arrival in found)
    assert found[0].at_s >= 0
    assert found[-1].at_s <= scenario.period_s
    assert sum(arrival.everyone for arrival in found) == scenario.shown
    mean = sum(arrival.prompt_tokens for arrival in found) / len(found)
    assert mean == pytest.approx(scenario.prompt_tokens, rel=0.1)
    assert len(visits(scenario, 1.0, Random(1))) == scenario.present


def test_runs_that_start_together_start_within_the_seconds_given() -> None:
    scenario = Scenario(people=200, minutes=60, runs_each=1, together_percent=100, together_s=20)
    found = arrivals(scenario, Random(2))
    assert found[-1].at_s - found[0].at_s <= 20
    alone = arrivals(scenario.model_copy(update={"together_percent": 0}), Random(2))
    assert alone[-1].at_s - alone[0].at_s > 1000


def test_people_share_addresses() -> None:
    found = arrivals(Scenario(people=90, people_per_address=30, runs_each=1), Random(1))
    assert len({arrival.address for arrival in found}) == 3
    assert len({arrival.client for arrival in found}) == 90
