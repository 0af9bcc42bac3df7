"""The run log: order, durability, waiting, a full disk."""

from collections.abc import Callable
from datetime import UTC, datetime
from operator import methodcaller
from pathlib import Path
from threading import Thread

import pytest

from kvscope.app.store.errors import StoreError
from kvscope.app.store.frame_cache import FrameCache
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import encode, header
from tests.support.outage import Fault, away, crowded
from tests.support.stored import allow_pages, limit_pages, log_of


@pytest.mark.parametrize("cache_bytes", [0, 1_000, 10_000_000])
def test_frames_come_back_as_they_went_in_whatever_the_cache_holds(
    tmp_path: Path, database: str | None, cache_bytes: int
) -> None:
    log, frames = RunLog(tmp_path, database, cache_bytes=cache_bytes), log_of("a", 50, closed=True)
    for at in range(0, len(frames), 7):
        log.append(frames[at : at + 7])
    payloads = [frame.payload for frame in frames]
    assert list(log.all_frames("a")) == payloads
    assert list(log.all_frames("a", after=40)) == payloads[41:]
    assert list(log.all_frames("a", last=40)) == payloads[:41]
    assert list(log.all_frames("a", after=len(frames) - 1)) == []
    log.close()


def test_runs_stored_in_one_append_stay_apart(log: RunLog) -> None:
    a, b = log_of("a", 3), log_of("b", 2, closed=True)
    log.append([frame for pair in zip(a, [*b, None], strict=False) for frame in pair if frame])
    assert list(log.all_frames("a")) == [frame.payload for frame in a[: len(b) + 1]]
    assert list(log.all_frames("b")) == [frame.payload for frame in b]
    assert log.open_runs() == ["a"]


def test_a_gap_is_refused_and_stores_nothing(log: RunLog) -> None:
    frames = log_of("a", 3)
    log.append(frames[:2])
    with pytest.raises(ValueError, match="frame 3 after 1"):
        log.append(frames[3:])
    assert len(list(log.all_frames("a"))) == 2


def test_head_counts_steps_and_bytes_before_and_after_a_restart(tmp_path: Path, database: str | None) -> None:
    frames = log_of("a", 3, closed=True)
    with RunLog(tmp_path, database) as first:
        first.append(frames)
        before = first.head("a")
    with RunLog(tmp_path, database) as second:
        assert second.head("a") == before
        assert second.chosen("a") == [(2, 100), (4, 101), (6, 102)]
    assert (before.last_seq, before.steps, before.closed) == (7, 3, True)
    assert before.bytes == sum(len(frame.payload) for frame in frames)


def test_a_run_left_open_is_closed_as_interrupted_at_the_next_start(tmp_path: Path, database: str | None) -> None:
    frames = log_of("a", 3)
    with RunLog(tmp_path, database) as first:
        first.append(frames)
    with RunLog(tmp_path, database) as second:
        payloads, closing = list(second.all_frames("a")), second.closing("a")
        assert second.open_runs() == []
    assert payloads[:-1] == [frame.payload for frame in frames]
    assert (closing["reason"], closing["steps"]) == ("interrupted", 3)
    assert header(payloads[-1]).seq == len(frames)
    with RunLog(tmp_path, database) as third:
        assert list(third.all_frames("a")) == payloads


def test_frames_that_come_after_the_close_are_dropped(log: RunLog) -> None:
    frames = log_of("a", 3)
    log.append(frames[:5])
    log.close_run("a", "failed", "no reason")
    log.append(frames[5:])
    assert len(list(log.all_frames("a"))) == 6


def test_waiters_wake_for_their_own_run(log: RunLog) -> None:
    a, b = log_of("a", 2), log_of("b", 2)
    log.append([a[0], b[0]])
    woken: list[str] = []

    def wait(run: str) -> None:
        log.wait(run, 0, 30)
        woken.append(run)

    threads = {run: Thread(target=wait, args=(run,)) for run in ("a", "b")}
    for thread in threads.values():
        thread.start()
    log.append(a[1:])
    threads["a"].join(10)
    assert woken == ["a"]
    log.close_run("b", "stopped", "enough")
    threads["b"].join(10)
    assert woken == ["a", "b"]


def test_wait_returns_at_once_when_there_is_more_or_never_will_be(log: RunLog) -> None:
    log.append(log_of("a", 2))
    log.append(log_of("b", 2, closed=True))
    log.wait("a", 0, 60)
    log.wait("b", 5, 60)
    log.wait("unknown", -1, 60)


def test_a_full_disk_stores_nothing_of_the_batch_and_closes_the_run_in_memory(tmp_path: Path) -> None:
    log, frames = RunLog(tmp_path), log_of("a", 30, size=5_000)
    log.append(frames[:3])
    limit_pages(log)
    with pytest.raises(StoreError, match="full"):
        log.append(frames[3:])
    assert list(log.all_frames("a")) == [frame.payload for frame in frames[:3]]
    log.close_run("a", "failed", "The disk is full.")
    payloads = list(log.all_frames("a"))
    assert [header(payload).kind for payload in payloads] == ["open", "layer", "step", "close"]
    head = log.head("a")
    assert (head.closed, head.last_seq) == (True, 3)
    allow_pages(log)
    log.append(log_of("b", 1))
    log.close()
    with RunLog(tmp_path) as again:
        assert list(again.all_frames("a")) == payloads


USES: tuple[Callable[[RunLog], object], ...] = (
    lambda log: log.append(log_of("b", 1)),
    lambda log: log.head("unknown"),
    lambda log: log.frames("a", 0),
    lambda log: list(log.all_frames("a")),
    *(methodcaller(name, "a") for name in ("opening", "closing", "chosen", "family", "made_from")),
    lambda log: log.ended(datetime.now(UTC)),
    lambda log: list(log.oldest()),
    *(methodcaller(name, "a", "t") for name in ("own", "is_token")),
    lambda log: log.delete(["a"]),
    lambda log: log.totals(),
)


@pytest.mark.parametrize("fault", [away, crowded])
def test_a_database_that_cannot_be_used_is_one_kind_of_error(tmp_path: Path, fault: Fault) -> None:
    with RunLog(tmp_path, cache_bytes=0) as log:
        log.append(log_of("a", 2, closed=True))
        for use in USES:
            with fault(log.engine), pytest.raises(StoreError, match=r"disk I/O error\.|all its connections"):
                use(log)
            assert len(list(log.all_frames("a"))) == 6


def test_a_close_that_could_not_be_stored_is_read_without_the_database_and_stored_when_it_is_back(
    tmp_path: Path, database: str | None
) -> None:
    log, frames = RunLog(tmp_path, database, cache_bytes=0), log_of("a", 2)
    log.append(frames)
    with away(log.engine):
        log.close_run("a", "failed", "no database")
        head = log.head("a")
        assert (head.closed, head.last_seq) == (True, len(frames))
        assert log.closing("a") == {"reason": "failed", "error": "no database", "steps": 2}
        assert log.frames("a", len(frames)) == []
        log.append([encode("a", len(frames), "layer", {"step": 2})])  # the engine had not been told yet
        with pytest.raises(StoreError):
            log.store_rest()
        assert log.has_rest
    log.store_rest()
    assert not log.has_rest
    payloads = list(log.all_frames("a"))
    assert payloads[:-1] == [frame.payload for frame in frames]
    log.close()
    with RunLog(tmp_path, database) as again:
        assert list(again.all_frames("a")) == payloads
        assert again.head("a") == head


def test_frames_of_a_transaction_whose_end_was_not_heard_of_give_way_to_the_close(
    tmp_path: Path, database: str | None
) -> None:
    log, frames = RunLog(tmp_path, database, cache_bytes=0), log_of("a", 3)
    log.append(frames[:5])
    other = RunLog(tmp_path, database, alone=False)
    other.append(frames[5:])  # as a server does that stores them and goes away before it says so
    other.close()
    with pytest.raises(StoreError):
        log.append(frames[5:])
    log.close_run("a", "failed", "no answer")
    log.append(log_of("b", 1, closed=True))
    kinds = [header(payload).kind for payload in log.all_frames("a")]
    assert kinds == ["open", *["layer", "step"] * 2, "close"]
    before = log.head("a")
    log.close()
    with RunLog(tmp_path, database) as again:
        assert again.head("a") == before
        assert [step for step, _ in again.chosen("a")] == [2, 4]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="file"):
        RunLog(tmp_path / "file")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "runs.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        RunLog(damaged)


def test_the_cache_keeps_to_its_bytes_and_forgets_the_oldest() -> None:
    cache = FrameCache(max_bytes=30)
    for seq in range(5):
        cache.put("a", seq, bytes(10))
    assert cache.take("a", 0, 10) == []
    assert cache.take("a", 1, 10) == [bytes(10)] * 3
    cache.put("a", 4, b"again")
    assert cache.take("a", 3, 10) == [b"again"]
