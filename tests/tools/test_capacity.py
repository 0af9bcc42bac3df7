"""The capacity bench: what it makes of measured times. The measurements themselves are not tested."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.planned import profile
from tools.bench.capacity.check import Result, simulate, trace, with_steps_of
from tools.bench.capacity.measure import Written, solved


def test_what_each_part_adds_is_found_and_none_adds_less_than_nothing() -> None:
    assert solved([(1, 2), (1, 5), (2, 1)], [8, 17, 7]) == pytest.approx([2, 3])
    added = solved([(1, 0), (1, 1), (1, 2)], [9, 8, 7])
    assert added[0] == pytest.approx(8)
    assert 0 < added[1] < 0.01


def test_step_times_of_a_trace_are_by_how_many_runs_were_decoding() -> None:
    alone = [10.0 + 0.02 * step for step in range(40)]
    pair = [20.0 + 0.05 * step for step in range(40)]
    found = with_steps_of(profile(), Result([], 0.0, [alone, pair, pair])).step
    assert [(point.runs, round(point.ms, 3)) for point in found] == [(1, 20.0), (2, 50.0)]


def test_a_trace_asks_for_what_it_is_told_to_of_what_the_engines_can_do() -> None:
    one, four = (trace(profile(), engines, 400, 0.8, Random(1)) for engines in (1, 4))
    assert one[-1].at_s == pytest.approx(4 * four[-1].at_s)
    light, heavy = (simulate(profile(), 1, trace(profile(), 1, 200, load, Random(1))) for load in (0.3, 1.5))
    assert max(light.waits) < max(heavy.waits)
    assert light.per_minute < heavy.per_minute


def test_a_prompt_in_chunks_has_the_attention_weights_of_each_pass() -> None:
    assert Written([], 300).parts[2] == 128 * 128 + 128 * 256 + 44 * 300
