"""Runs that nobody shared are forgotten after some days, and nothing else is."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from kvscope.app.factory import report
from kvscope.app.settings import Settings
from kvscope.app.store.clock import Clock
from kvscope.app.store.expiry import Expiry
from kvscope.app.store.run_tables import frames_table, links_table, runs_table, steps_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import encode
from tests.support.integrity import damage_of
from tests.support.local_viewer import LocalViewer
from tests.support.outage import away
from tests.support.over_http import NewClient, finished
from tests.support.stored import SQLITE_ONLY, WORDS, log_of, run_of
from tests.support.waiting import eventually

NOW = datetime.now(UTC) + timedelta(days=30)


def later_by(**days_more: float) -> datetime:
    return NOW + timedelta(**days_more)


def linked(run: str, *, study_of: str | None = None, branch_of: str | None = None) -> list[Any]:
    """A closed run that came from another."""
    study = {"kind": "twin", "of": study_of, "cache": "none"} if study_of else None
    parent = {"run": branch_of, "position": 1, "token": 2} if branch_of else None
    opening = {"tokens": [{"id": 5}], "prompt": "x", "model": {"name": "fake"}, "parent": parent, "study": study}
    return [encode(run, 0, "open", opening), *log_of(run, 2, closed=True)[1:]]


@pytest.fixture
def log(log: RunLog) -> RunLog:
    """With the run "a"."""
    log.append(run_of("a", 3))
    return log


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """One that is believed at once unless it jumps."""
    monkeypatch.setattr("kvscope.app.store.clock.UPTIME_S", 0)
    return Clock(tmp_path)


@pytest.fixture
def expiry(log: RunLog, store: SessionStore, clock: Clock) -> Expiry:
    return Expiry(log, store, ["recorded"], set, 30, report, clock)


def age(log: RunLog, run: str, days: float) -> None:
    """Let the run have been begun so many days before NOW."""
    begun = (NOW - timedelta(days=days)).replace(tzinfo=None)
    with log.engine.begin() as connection:
        connection.execute(sa.update(runs_table).where(runs_table.c.run == run).values(created=begun))


def rows(log: RunLog, run: str) -> int:
    """How many rows in all tables are of the run."""
    with log.engine.connect() as connection:
        return sum(
            connection.scalar(sa.select(sa.func.count()).select_from(table).where(table.c.run == run)) or 0
            for table in (runs_table, frames_table, steps_table, links_table)
        )


def test_a_run_goes_when_its_days_are_over_and_not_before(log: RunLog, expiry: Expiry, clock: Clock) -> None:
    began = datetime.now(UTC)
    forever = Expiry(log, SessionStore(log), [], set, 0, report, clock)
    assert forever.expire(later_by(days=10_000)) == []
    assert expiry.expire(began + timedelta(days=30, minutes=-5)) == []
    assert log.head("a")
    assert expiry.expire(began + timedelta(days=30, minutes=5)) == ["a"]
    assert log.head("a") is None
    assert list(log.all_frames("a")) == []
    assert log.frames("a", -1) == []  # not from memory either
    assert rows(log, "a") == 0


def test_a_shared_run_stays_until_it_is_not_shared_any_more(log: RunLog, store: SessionStore, expiry: Expiry) -> None:
    session, token = store.share("a", WORDS)
    log.append(run_of("b", 2))
    assert expiry.expire(later_by(days=10)) == ["b"]
    assert damage_of(store, session) == []
    store.withdraw(session, token)
    assert expiry.expire(later_by(days=10)) == ["a"]


def test_open_recorded_and_watched_runs_stay(log: RunLog, expiry: Expiry) -> None:
    log.append(log_of("open", 2))
    log.append(run_of("recorded", 2))
    with log.held("a"), log.held("a"):
        assert expiry.expire(later_by(days=10)) == []
    with log.held("open"):
        log.close_run("open", "stopped", "")
    assert expiry.expire(later_by(days=10)) == ["a", "open"]
    assert log.head("recorded")


def test_studies_go_with_the_run_that_they_are_of(log: RunLog, expiry: Expiry) -> None:
    log.append(linked("twin", study_of="a"))
    log.append(linked("branch", branch_of="a"))
    log.append(linked("of branch", study_of="branch"))
    age(log, "a", 31)
    age(log, "twin", 29)
    age(log, "branch", 29)
    assert expiry.expire(NOW) == []  # its study is too young
    age(log, "twin", 31)
    with log.held("twin"):
        assert expiry.expire(NOW) == []
    assert sorted(expiry.expire(NOW)) == ["a", "twin"]
    assert len(list(log.all_frames("branch"))) == 6
    assert [member.run for member in log.family("branch")] == ["branch", "of branch"]
    assert sorted(expiry.expire(later_by(days=10))) == ["branch", "of branch"]
    assert rows(log, "twin") == rows(log, "branch") == rows(log, "of branch") == 0


def test_a_study_of_a_run_that_stays_goes_alone(log: RunLog, expiry: Expiry) -> None:
    log.append(run_of("recorded", 2))
    log.append(linked("twin", study_of="recorded"))
    with log.held("a"):
        assert expiry.expire(later_by(days=10)) == ["twin"]
    assert [member.run for member in log.family("recorded")] == ["recorded"]


def test_an_ended_run_that_somebody_has_in_sight_stays(new_client: NewClient) -> None:
    client = new_client()
    runs, parts = [finished(client) for _ in range(3)], client.application.extensions["kvscope"]
    one, other = (LocalViewer(client.application) for _ in range(2))
    for viewer, run in ((one, runs[0]), (one, runs[1]), (other, runs[1]), (other, runs[2])):
        assert viewer.emit("watch", {"run": run})["run"] == run
    assert parts.live.watched() == set(runs)
    assert parts.expiry.expire(later_by(days=100)) == []
    one.emit("unwatch", {"run": runs[0]})
    one.emit("unwatch", {"run": runs[1]})
    eventually(lambda: parts.expiry.expire(later_by(days=100)) == [runs[0]])
    other.disconnect()
    eventually(lambda: sorted(parts.expiry.expire(later_by(days=100))) == sorted(runs[1:]))


@SQLITE_ONLY
def test_what_goes_wrong_is_said_and_tried_again(log: RunLog, store: SessionStore, clock: Clock) -> None:
    said, heard = list[str](), Event()

    def hear(message: str) -> None:
        said.append(message)
        heard.set()

    age(log, "a", 400)
    with log.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TRIGGER never BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'no'); END")
    expiry = Expiry(log, store, [], set, 30, hear, clock, interval_s=0.01)
    expiry.start()
    assert heard.wait(10)
    with log.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER never")
    eventually(lambda: log.head("a") is None)
    expiry.close()
    assert said[0] == "Runs cannot be deleted: no."


@SQLITE_ONLY
def test_a_database_that_goes_away_is_said_once_and_waited_for(
    log: RunLog, store: SessionStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(log, "a", 400)
    said, rounds = list[str](), list[datetime]()
    ended = log.ended
    monkeypatch.setattr(log, "ended", lambda before: (rounds.append(before), ended(before))[1])
    expiry = Expiry(log, store, [], set, 30, said.append, clock, interval_s=0.01)
    for _ in range(2):
        with away(log.engine):
            if not said:
                expiry.start()
            earlier = len(rounds)
            eventually(lambda: len(rounds) > earlier + 3)  # noqa: B023
        eventually(lambda: log.head("a") is None)
        log.append(run_of("a", 1))
        age(log, "a", 400)
    expiry.close()
    assert said == ["The database cannot be read: disk I/O error."] * 2


def test_a_start_with_the_clock_months_ahead_deletes_nothing_and_says_what_it_would(
    log: RunLog, store: SessionStore, tmp_path: Path
) -> None:
    age(log, "a", 400)
    (tmp_path / "clock").touch()
    os.utime(tmp_path / "clock", (time.time() - 100 * 86_400,) * 2)  # the clock was right 100 days ago
    ahead, said = Clock(tmp_path), list[str]()
    expiry = Expiry(log, store, [], set, 30, said.append, ahead, interval_s=0.01)
    expiry.start()
    eventually(lambda: said)
    expiry.close()
    assert log.head("a") is not None
    assert "1 runs are older than 30 days" in said[0]
    assert "in 24 hours" in said[0]


def test_a_server_forgets_after_its_start(
    new_client: NewClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvscope.app.store.clock.UPTIME_S", 0)
    client = new_client()
    run, other, parts = finished(client), finished(client), client.application.extensions["kvscope"]
    age(parts.runs, run, 30 + settings.keep_runs_days + 1)
    parts.close()
    client = new_client(ready=False)
    eventually(lambda: client.get(f"/api/runs/{run}").status_code == 404)
    assert "deleted after some time" in client.get(f"/api/runs/{run}").json["detail"]
    assert client.get(f"/api/runs/{other}").status_code == 200
