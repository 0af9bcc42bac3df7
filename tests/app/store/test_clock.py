"""When the wall clock is believed."""

from pathlib import Path

from kvscope.app.store.clock import UPTIME_AFTER_JUMP_S, UPTIME_S, Clock
from kvscope.app.store.database import FILE

DAY_S = 86_400.0


class Time:
    """What both clocks say; `wall` can be set."""

    def __init__(self) -> None:
        self.wall, self.passed = 1_800_000_000.0, 50.0

    def go_on(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds

    def clock(self, folder: Path) -> Clock:
        return Clock(folder, lambda: self.wall, lambda: self.passed)


def test_it_is_believed_after_some_minutes_and_after_a_jump_after_a_day_of_uptime(tmp_path: Path) -> None:
    time = Time()
    clock = time.clock(tmp_path)
    assert not clock.is_believed()
    time.go_on(UPTIME_S)
    assert clock.is_believed()
    time.wall += 100 * DAY_S
    assert not clock.is_believed()
    assert clock.jumped
    time.go_on(UPTIME_AFTER_JUMP_S - 1)
    assert not clock.is_believed()
    time.go_on(1)
    assert clock.is_believed()
    assert not clock.jumped


def test_a_start_compares_with_when_it_was_last_believed_also_the_second_one_after_a_jump(tmp_path: Path) -> None:
    time = Time()
    time.clock(tmp_path)
    time.wall += 100 * DAY_S
    for _ in range(2):
        clock = time.clock(tmp_path)
        assert clock.jumped
        time.go_on(UPTIME_S)
        assert not clock.is_believed()


def test_a_folder_of_an_earlier_version_is_as_old_as_its_database(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    time = Time()
    time.wall = (tmp_path / FILE).stat().st_mtime + 100 * DAY_S
    assert time.clock(tmp_path).jumped
