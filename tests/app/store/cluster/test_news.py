"""A process that follows shows of a log what the leader says of it, as soon as it says so, and nothing beyond."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from kvscope.app.store.cluster import news
from kvscope.app.store.cluster.news import CHANNEL, Listener, Teller
from kvscope.app.store.database import writing
from kvscope.app.store.head import Head
from kvscope.app.store.run_tables import write
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import header
from tests.support.stored import log_of, run_of
from tests.support.waiting import eventually

Follow = Callable[[], RunLog]


@pytest.fixture
def leader(tmp_path: Path, postgresql: str) -> Iterator[RunLog]:
    with RunLog(tmp_path, postgresql, alone=False) as log:
        teller = Teller(log.engine, 1, log.heads)
        log.lead(lambda _connection: None, teller.tell)
        teller.start()
        yield log
        teller.close()


@pytest.fixture
def follow(tmp_path: Path, postgresql: str) -> Iterator[Follow]:
    """Makes logs that listen."""
    with ExitStack() as made:

        def make() -> RunLog:
            log = made.enter_context(RunLog(tmp_path, postgresql, alone=False))
            log.follow()
            listener = made.enter_context(closing(Listener(log.engine, log.hear, log.go_deaf)))
            listener.start()
            return log

        yield make


def seqs(log: RunLog, run: str) -> list[int]:
    return [header(payload).seq for payload in log.all_frames(run)]


def notify(log: RunLog, **said: Any) -> None:
    with log.engine.begin() as connection:
        connection.execute(sa.select(sa.func.pg_notify(CHANNEL, json.dumps(said))))


def test_what_is_appended_comes_to_who_waits_for_it(leader: RunLog, follow: Follow) -> None:
    follower, frames, seen = follow(), log_of("a", 20, closed=True), list[bytes]()

    def watch() -> None:
        while not (head := follower.head("a")) or not head.closed or head.last_seq >= len(seen):
            page = follower.frames("a", len(seen) - 1)
            seen.extend(page)
            if not page:
                follower.wait("a", len(seen) - 1, 10)

    leader.append(frames[:1])
    watching = Thread(target=watch)
    watching.start()
    for frame in frames[1:]:
        leader.append([frame])
    watching.join(20)
    assert seen == [frame.payload for frame in frames] == list(leader.all_frames("a"))


def test_frames_of_which_the_leader_says_nothing_are_not_shown(leader: RunLog, follow: Follow) -> None:
    """It may not have learned that they are stored; then it replaces them."""
    follower, frames = follow(), log_of("a", 3)
    leader.append(frames[:3])
    eventually(lambda: seqs(follower, "a") == [0, 1, 2])
    with writing(leader.engine, "") as connection:
        write(connection, frames[3:5])
    assert seqs(follower, "a") == [0, 1, 2]
    assert follower.frames("a", 2) == []
    leader.close_run("a", "interrupted", "why")
    eventually(lambda: seqs(follower, "a") == [0, 1, 2, 3])
    assert header(follower.frames("a", 2)[0]).kind == "close"


def test_a_run_that_is_open_is_known_before_its_next_frame_comes(leader: RunLog, follow: Follow) -> None:
    leader.append(log_of("a", 3))
    follower = follow()
    eventually(lambda: len(seqs(follower, "a")) == 7)


def test_who_looks_again_and_again_does_not_ask_the_database(leader: RunLog, follow: Follow) -> None:
    leader.append(log_of("a", 3))
    follower = follow()
    eventually(lambda: len(seqs(follower, "a")) == 7)
    asked: list[str] = []
    sa.event.listen(follower.engine, "before_cursor_execute", lambda *heard: asked.append(heard[2]))
    for _ in range(10):
        assert follower.frames("a", 6) == []
        assert follower.head("a").last_seq == 6
    assert [statement for statement in asked if "frames" in statement or "runs" in statement] == []


def test_a_run_that_was_deleted_is_gone_from_memory_too(leader: RunLog, follow: Follow) -> None:
    leader.append(run_of("a", 3))
    follower = follow()
    assert len(seqs(follower, "a")) == 8
    assert follower.frames("a", 3)
    leader.delete(["a"])
    eventually(lambda: not follower.frames("a", 3))
    assert follower.head("a") is None


def test_news_of_an_earlier_epoch_are_passed_over(leader: RunLog, follow: Follow) -> None:
    follower = follow()
    leader.append(log_of("a", 3))
    eventually(lambda: len(seqs(follower, "a")) == 7)
    notify(leader, epoch=0, runs={"a": [2, 1, 100, False]})
    notify(leader, epoch=1, runs={"b": [0, 0, 1, False]})
    eventually(lambda: "b" in follower.heads())
    assert follower.heads()["a"].last_seq == 6


def test_a_new_epoch_ends_what_was_believed_of_the_former_one(leader: RunLog, follow: Follow) -> None:
    follower = follow()
    leader.append(log_of("a", 3))
    eventually(lambda: "a" in follower.heads())
    notify(leader, epoch=2, runs={"b": [0, 0, 1, False]})
    eventually(lambda: list(follower.heads()) == ["b"])


def test_after_a_silence_nothing_is_believed_and_waiting_is_looking_again(
    tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch, follow: Callable[[], RunLog]
) -> None:
    monkeypatch.setattr(news, "SILENCE_S", 0.5)
    with RunLog(tmp_path, postgresql, alone=False) as leader:
        leader.append(log_of("a", 3))
        follower = follow()
        eventually(lambda: notify(leader, epoch=1, runs={"a": [6, 3, 1, False]}) or "a" in follower.heads())
        eventually(lambda: follower.heads() == {})
        assert seqs(follower, "a")[0] == 0
        began = time.monotonic()
        follower.wait("a", 6, 30)
        assert time.monotonic() - began < 30


def test_a_follower_that_comes_to_lead_closes_what_was_left_open(leader: RunLog, follow: Follow) -> None:
    follower = follow()
    leader.append(log_of("a", 3))
    eventually(lambda: "a" in follower.heads())
    said: list[Any] = []
    follower.lead(lambda _connection: None, said.append)
    assert {news["a"].closed for news in said if isinstance(news.get("a"), Head)} == {True}
    assert follower.closing("a")["reason"] == "interrupted"


def test_news_of_many_runs_are_sent_in_parts(leader: RunLog, follow: Follow) -> None:
    """A notification has at most 8,000 bytes."""
    follower = follow()
    for number in range(200):
        leader.append(log_of(f"{number:032}", 0))
    eventually(lambda: len(follower.heads()) == 200)
