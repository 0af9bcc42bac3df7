"""What anyone can cause is written once a minute, and faults of different kinds are not taken for one."""

import logging

import pytest

from kvscope.app import rate_limited_log
from kvscope.app.rate_limited_log import MINUTE_S, MOST_KINDS, RateLimitedFilter


class Written(logging.Handler):
    """What came through."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.addFilter(RateLimitedFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    log, handler = logging.Logger("a stranger's"), Written()
    log.addHandler(handler)
    monkeypatch.setattr(rate_limited_log, "log", log, raising=False)
    return handler


def say(what: str) -> None:
    rate_limited_log.log.error("%s failed", what)  # type: ignore[attr-defined]


def test_a_kind_is_written_once_a_minute_with_how_many_it_stands_for(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(rate_limited_log.time, "monotonic", lambda: now)
    for number in range(1000):
        say(f"/{number}")
    assert written.lines == ["/0 failed"]
    now += MINUTE_S
    say("/again")
    say("/again")
    assert len(written.lines) == 2
    assert written.lines[1].startswith("/again failed")
    assert "999" in written.lines[1]


def fail(how: str) -> None:
    if how == "one":
        raise ValueError(how)
    if how == "two":
        raise ValueError(how)
    raise KeyError(how)


def test_faults_are_told_apart_by_where_they_happened(written: Written) -> None:
    for how in ("one", "two", "three") * 3:
        try:
            fail(how)
        except (ValueError, KeyError):
            rate_limited_log.log.exception("it failed")  # type: ignore[attr-defined]
    assert len(written.lines) == 3


def test_however_many_kinds_there_are_few_are_written_and_remembered(written: Written) -> None:
    for number in range(5 * MOST_KINDS):
        rate_limited_log.log.error(f"number {number}")  # type: ignore[attr-defined]
    assert len(written.lines) == MOST_KINDS
