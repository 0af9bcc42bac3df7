"""What is stored stays within its bytes: the oldest runs that nobody needs go, and nothing else does."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.database import FILE, LOG_BYTES
from kvscope.app.store.footprint import Footprint
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import encode
from tests.support.local_viewer import LocalViewer
from tests.support.over_http import NewClient, ended, finished, problem, share, start
from tests.support.stored import SQLITE_ONLY, WORDS, log_of, run_of
from tests.support.waiting import eventually

SIZE = 20_000
RUN = sum(len(frame.payload) for frame in run_of("a", 3, size=SIZE))
"""Bytes of each run here."""
FILED = 1.05
"""By how much more it takes in a file, about."""


def add(log: RunLog, run: str, **came_from: Any) -> None:
    """A run that has ended, begun after all that are there."""
    opening = {"tokens": [{"id": 5}], "prompt": "x", "model": {"name": "fake"}, **came_from}
    log.append([encode(run, 0, "open", opening), *log_of(run, 3, closed=True, size=SIZE)[1:]])
    began = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=log.totals()["runs"])
    with log.engine.begin() as connection:
        connection.execute(sa.update(runs_table).where(runs_table.c.run == run).values(created=began))


def taken(log: RunLog) -> int:
    return Footprint(log.engine, log.folder).taken()


def budget_of(log: RunLog, store: SessionStore, runs: float, watched: set[str] = frozenset()) -> Budget:  # type: ignore[assignment]
    """Room for so many runs of those sizes, beside what an empty database takes."""
    there = taken(log) - int(log.totals()["bytes"] * FILED) if log.engine.dialect.name == "sqlite" else 0
    return Budget(log, store, ["recorded"], lambda: set(watched), max(1, there + int(runs * RUN * FILED)), print)


def there(log: RunLog) -> list[str]:
    return [run for run, _ in log.oldest(closed=False)]


def test_the_oldest_go_until_what_is_left_has_room(log: RunLog, store: SessionStore) -> None:
    for run in ("a", "b", "c", "d", "e"):
        add(log, run)
    budget = budget_of(log, store, 3.1)
    assert budget.keep() == ["a", "b"]
    assert there(log) == ["c", "d", "e"]
    assert budget.keep() == []
    assert budget.keep(more=RUN) == ["c"]
    assert taken(log) <= budget.most - RUN
    assert Budget(log, store, (), set, 0, print).keep() == []


def test_what_somebody_needs_is_spared(log: RunLog, store: SessionStore) -> None:
    for run in ("shared", "watched", "recorded", "parent", "of twin"):
        add(log, run)
    log.append(log_of("open", 3, size=SIZE))
    add(log, "branch", parent={"run": "parent", "position": 1, "token": 2})
    add(log, "twin", study={"kind": "twin", "of": "of twin", "cache": "none"})
    store.share("shared", WORDS)
    log.head("open")
    budget = budget_of(log, store, 0.5, {"watched", "branch"})
    assert budget.keep() == ["twin", "of twin"]
    with pytest.raises(Full, match="None can be deleted") as full:
        budget.reserve("another", 1)
    assert full.value.passes, "one is open, and may go when it has ended"
    assert budget_of(log, store, 0.5, {"watched"}).keep() == ["branch"]
    assert budget_of(log, store, 0.5, {"watched"}).keep() == ["parent"]
    assert sorted(there(log)) == ["open", "recorded", "shared", "watched"]


def test_saved_sessions_leave_room_for_runs(log: RunLog, store: SessionStore) -> None:
    add(log, "a")
    session, token = store.share("a", WORDS)
    size = store.totals()["bytes"]
    assert 0 < size < RUN
    budget = Budget(log, store, (), set, 20 * 10**6, print)
    two = pytest.raises(Full, match="Saved sessions have reached")
    with budget.room_for_session(8 * 10**6), two, budget.room_for_session(8 * 10**6):
        pytest.fail("two at once have more than their part")
    with budget.room_for_session(8 * 10**6):
        pass
    store.withdraw(session, token)
    assert store.totals() == {"sessions": 0, "bytes": 0}


@SQLITE_ONLY
def test_freed_pages_are_used_again(log: RunLog, store: SessionStore, tmp_path: Path) -> None:
    budget, before = budget_of(log, store, 4), taken(log)
    for number in range(40):
        add(log, str(number))
        budget.keep()
    with log.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert (tmp_path / FILE).stat().st_size < before - LOG_BYTES + 6 * RUN


def test_what_runs_will_store_is_counted_until_they_have_ended(log: RunLog, store: SessionStore) -> None:
    budget = budget_of(log, store, 4)
    for run in "abc":
        add(log, run)
    budget.reserve("open", 2 * RUN)
    assert there(log) == ["b", "c"], "one went for what will come"
    log.append(log_of("open", 3, size=SIZE))
    assert RUN - 1000 < budget.left("open") < RUN + 1000
    with pytest.raises(Full, match="This may need"):
        budget.reserve("never", budget.most + 1)
    assert sorted(there(log)) == ["b", "c", "open"], "nothing goes for what can never have room"
    with pytest.raises(Full, match="None can be deleted") as full:
        budget.reserve("too much", int(3.5 * RUN))
    assert full.value.passes
    with pytest.raises(Full, match="This may need") as full:
        budget.reserve("never", budget.most + 1)
    assert not full.value.passes
    assert there(log) == ["open"]
    budget.release("open")
    budget.reserve("much", int(2.5 * RUN))


@SQLITE_ONLY
def test_a_smaller_budget_makes_the_file_smaller(log: RunLog, store: SessionStore, tmp_path: Path) -> None:
    for number in range(40):
        add(log, str(number))
    budget = budget_of(log, store, 10)
    budget.start()
    try:
        eventually(lambda: budget.on_disk() <= budget.most)
    finally:
        budget.close()
    assert 5 <= len(there(log)) <= 10


def test_a_server_keeps_to_its_budget_and_says_so(new_client: NewClient) -> None:
    client = new_client(model="bytes=20000", max_disk_bytes=LOG_BYTES + 500_000)
    parts = client.application.extensions["kvscope"]
    runs = [finished(client, max_new_tokens=4) for _ in range(6)]
    eventually(lambda: parts.budget.on_disk() <= LOG_BYTES + 500_000)
    assert client.get(f"/api/runs/{runs[0]}").status_code == 404
    assert client.get(f"/api/runs/{runs[-1]}").status_code == 200
    metrics = dict(line.split() for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    assert metrics["kvscope_bytes_budget"] == str(LOG_BYTES + 500_000)
    assert 0 < int(metrics["kvscope_bytes_on_disk"]) <= LOG_BYTES + 500_000


def test_what_cannot_have_room_is_a_507(new_client: NewClient) -> None:
    client = new_client(model="bytes=20000", max_disk_bytes=LOG_BYTES + 560_000)
    viewer = LocalViewer(client.application)
    run = finished(client, max_new_tokens=5)
    share(client, run)
    for _ in range(2):
        other = start(client, max_new_tokens=5)
        viewer.emit("watch", {"run": other})
        ended(client, other)
    refused = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 5})
    assert problem(refused, 507)["limit"] == LOG_BYTES + 560_000
    assert refused.headers["Retry-After"]
    viewer.disconnect()
    eventually(lambda: client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}).status_code == 201)
    assert client.get(f"/api/runs/{run}").status_code == 200
