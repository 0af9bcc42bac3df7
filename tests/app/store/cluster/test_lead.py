"""Which of several processes leads: each begins an epoch, and what the process of an earlier one stores is refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from kvscope.app.store.cluster import lead
from kvscope.app.store.cluster.lead import Following
from kvscope.app.store.database import connect
from kvscope.app.store.errors import Fenced, StoreError
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import header
from tests.support.stored import WORDS, log_of, run_of
from tests.support.waiting import eventually

FIRST, SECOND = "kvscope one", "kvscope two"


@pytest.fixture
def engine(tmp_path: Path, postgresql: str) -> Iterator[sa.Engine]:
    engine = connect(tmp_path, postgresql, SECOND)
    yield engine
    engine.dispose()


def taken(engine: sa.Engine, process: str = FIRST) -> lead.Lead:
    with engine.begin() as connection:
        return lead.take(connection, process, "http://127.0.0.1:1")


def test_each_process_that_begins_to_lead_has_the_next_epoch_and_a_secret_of_its_own(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert lead.current(connection) is None
    first, second = taken(engine), taken(engine, SECOND)
    assert (first.epoch, second.epoch) == (1, 2)
    assert first.secret != second.secret
    with engine.connect() as connection:
        assert lead.current(connection) == second


def test_a_beat_shows_whether_the_process_still_leads(engine: sa.Engine) -> None:
    first = taken(engine)
    with engine.begin() as connection:
        assert lead.beat(connection, first.epoch)
        assert lead.current(connection) != first
    taken(engine, SECOND)
    with engine.begin() as connection:
        assert not lead.beat(connection, first.epoch)


def test_another_one_begins_to_lead_only_when_what_the_leader_is_storing_is_stored(engine: sa.Engine) -> None:
    """And a beat, which comes every second, does not wait for it."""
    first = taken(engine)
    with ThreadPoolExecutor(1) as other:
        with engine.begin() as connection:
            lead.claim(connection, first.epoch)
            second = other.submit(taken, engine, SECOND)
            assert not wait([second], 0.3).done
        assert second.result(10).epoch == 2
    with pytest.raises(Fenced), engine.begin() as connection:
        lead.claim(connection, first.epoch)


def test_a_beat_does_not_wait_for_what_the_leader_is_storing(engine: sa.Engine) -> None:
    first = taken(engine)
    with engine.begin() as storing, engine.begin() as beating:
        lead.claim(storing, first.epoch)
        beating.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
        assert lead.beat(beating, first.epoch)


def test_the_connections_of_a_process_that_hangs_are_ended_and_no_others(tmp_path: Path, postgresql: str) -> None:
    hung, other = connect(tmp_path, postgresql, FIRST), connect(tmp_path, postgresql, SECOND)
    with other.connect() as watching, hung.connect() as one, hung.connect() as two, other.connect() as third:
        backends = [connection.scalar(sa.select(sa.func.pg_backend_pid())) for connection in (one, two)]
        lead.end_connections(watching, FIRST, of=backends[0])
        with pytest.raises(sa.exc.OperationalError):
            one.scalar(sa.select(1))
        assert two.scalar(sa.select(1)) == 1
        lead.end_connections(watching, FIRST)
        with pytest.raises(sa.exc.OperationalError):
            two.scalar(sa.select(1))
        assert third.scalar(sa.select(1)) == 1
    hung.dispose()
    other.dispose()


def test_followers_say_what_their_viewers_have_open_until_they_end(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as connection:
        lead.report_follower(connection, FIRST, 3, {"a", "b"})
        lead.report_follower(connection, SECOND, 1, {"b", "c"})
    with engine.begin() as connection:
        assert lead.following(connection) == Following(4, frozenset("abc"))
        lead.report_follower(connection, FIRST, 0, set())
    with engine.begin() as connection:
        assert lead.following(connection) == Following(1, frozenset("bc"))
        lead.forget_follower(connection, SECOND)
    with engine.begin() as connection:
        assert lead.following(connection) == Following(0, frozenset())
        lead.report_follower(connection, FIRST, 3, {"a"})
    monkeypatch.setattr(lead, "GONE_S", 0.0)
    eventually(lambda: following_now(engine) == Following(0, frozenset()))


def following_now(engine: sa.Engine) -> Following:
    with engine.begin() as connection:
        return lead.following(connection)


def test_a_log_whose_process_was_superseded_stores_and_announces_nothing(tmp_path: Path, postgresql: str) -> None:
    """Frames, sessions, and the deletion of runs: of none of them there is a trace."""
    with RunLog(tmp_path, postgresql, alone=False) as log:
        first = taken(log.engine)
        told: list[object] = []
        log.lead(lambda connection: lead.claim(connection, first.epoch), told.append)
        log.append(run_of("a", 3))
        frames = log_of("b", 3)
        log.append(frames[:2])
        taken(log.engine, SECOND)
        told.clear()
        store = SessionStore(log)
        for change in (partial(log.append, frames[2:]), partial(log.delete, ["a"]), partial(store.share, "a", WORDS)):
            with pytest.raises(Fenced):
                change()
        assert told == []
        assert log.head("b") is not None
        assert [header(payload).seq for payload in log.frames("b", -1)] == [0, 1]
        with RunLog(tmp_path, postgresql, alone=False) as other:
            assert len(list(other.all_frames("b"))) == 2
            assert len(list(other.all_frames("a"))) == len(list(log.all_frames("a")))
            assert SessionStore(other).totals()["sessions"] == 0


def test_a_log_that_follows_stores_nothing(tmp_path: Path, postgresql: str) -> None:
    with RunLog(tmp_path, postgresql, alone=False) as log:
        log.follow()
        with pytest.raises(StoreError):
            log.append(run_of("a", 3))
        assert log.head("a") is None
