"""A day of visitors on a small disk, some seconds of it; `python -m tools.faults.day` lets all of it pass."""

import pytest

from tools.faults.day import Day, Looked, Visits, day, table

MB = 10**6


def looked(at_s: float, database: float, memory: float) -> Looked:
    held = {"database on the disk": database, "memory of the web": memory, "memory of the engine": memory}
    return Looked(at_s, held, made=3, refused=1)


def test_what_grows_and_what_is_over_the_budget_is_a_fault() -> None:
    flat = [looked(at, 5 * MB + at, 100 * MB) for at in range(30)]
    assert Day(flat, Visits(), "", 6 * MB).faults == []
    assert len(table(Day(flat, Visits(), "", 6 * MB), rows=5).splitlines()) == 6
    growing = [looked(at, 5 * MB, (100 + at) * MB) for at in range(30)]
    assert Day(growing, Visits(), "", 6 * MB).faults == ["memory of the web grows", "memory of the engine grows"]
    (over,) = Day([*flat, looked(30, 9 * MB, 100 * MB)], Visits(), "Traceback", 6 * MB).faults[1:]
    assert "more than it may" in over


@pytest.mark.processes
def test_some_seconds_of_a_day() -> None:
    # The recordings take 5 MB of it.
    passed = day(minutes=0.1, visitors=3, disk="12MB", seed=3)
    assert passed.visits.made > 0
    assert [fault for fault in passed.faults if not fault.endswith("grows")] == []
