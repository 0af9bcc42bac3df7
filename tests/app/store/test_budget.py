"""What is stored stays within its bytes: the oldest runs that nobody needs go, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.database import FILE
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import encode
from tests.support.over_http import finished, problem, share, start
from tests.support.stored import SQLITE_ONLY, WORDS, log_of, run_of
from tests.support.waiting import eventually

SIZE = 20_000
RUN = sum(len(frame.payload) for frame in run_of("a", 3, size=SIZE))
"""Bytes of each run here."""


@pytest.fixture
def log(tmp_path: Path, database: str | None) -> Iterator[RunLog]:
    with RunLog(tmp_path, database) as log:
        yield log


@pytest.fixture
def store(log: RunLog) -> SessionStore:
    return SessionStore(log)


def add(log: RunLog, run: str, **came_from: Any) -> None:
    """A run that has ended, begun after all that are there."""
    opening = {"tokens": [{"id": 5}], "prompt": "x", "model": {"name": "fake"}, **came_from}
    log.append([encode(run, 0, "open", opening), *log_of(run, 3, closed=True, size=SIZE)[1:]])
    began = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=log.totals()["runs"])
    with log.engine.begin() as connection:
        connection.execute(sa.update(runs_table).where(runs_table.c.run == run).values(created=began))


def budget_of(log: RunLog, store: SessionStore, runs: float, watched: set[str] = frozenset()) -> Budget:  # type: ignore[assignment]
    """Room for so many runs."""
    return Budget(log, store, ["recorded"], lambda: set(watched), int(runs * RUN), print)


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
    assert budget.stored().all <= budget.most - RUN
    assert budget_of(log, store, 0).keep() == []


def test_more_runs_than_are_looked_at_together(log: RunLog, store: SessionStore) -> None:
    for number in range(230):
        log.append(run_of(f"{number:03}", 1))
    with log.engine.begin() as connection:
        connection.execute(sa.update(runs_table).values(created=datetime(2026, 1, 1)))
    assert [run for run, _ in log.oldest()] == [f"{number:03}" for number in range(230)]


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
    with pytest.raises(Full, match="all of it is to stay"):
        budget.make_room()
    assert budget_of(log, store, 0.5, {"watched"}).keep() == ["branch"]
    assert budget_of(log, store, 0.5, {"watched"}).keep() == ["parent"]
    assert sorted(there(log)) == ["open", "recorded", "shared", "watched"]


def test_saved_sessions_leave_room_for_runs(log: RunLog, store: SessionStore) -> None:
    add(log, "a")
    session, token = store.share("a", WORDS)
    size = store.totals()["bytes"]
    assert 0 < size < RUN
    budget = budget_of(log, store, 4)
    budget.make_room_for_session(budget.most // 2)
    with pytest.raises(Full, match="Saved sessions fill"):
        budget.make_room_for_session(budget.most * 3 // 4)
    store.withdraw(session, token)
    assert store.totals() == {"sessions": 0, "bytes": 0}


@SQLITE_ONLY
def test_freed_pages_are_used_again(log: RunLog, store: SessionStore, tmp_path: Path) -> None:
    budget = budget_of(log, store, 4)
    for number in range(40):
        add(log, str(number))
        budget.keep()
    with log.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert (tmp_path / FILE).stat().st_size < 8 * RUN


def test_a_server_keeps_to_its_budget_and_says_so(make_app: Callable[..., Flask], settings: Settings) -> None:
    app = make_app(replace(settings, model="bytes=20000", max_disk_bytes=300_000))
    client, parts = app.test_client(), app.extensions["kvscope"]
    runs = [finished(client, max_new_tokens=4) for _ in range(6)]
    eventually(lambda: parts.budget.stored().all <= 300_000)
    assert client.get(f"/api/runs/{runs[0]}").status_code == 404
    assert client.get(f"/api/runs/{runs[-1]}").status_code == 200
    metrics = dict(line.split() for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    assert metrics["kvscope_bytes_budget"] == "300000"
    assert 0 < int(metrics["kvscope_bytes_stored"]) <= 300_000


def test_what_cannot_have_room_is_a_507(make_app: Callable[..., Flask], settings: Settings) -> None:
    app = make_app(replace(settings, model="bytes=20000", max_disk_bytes=230_000))
    client, viewer = app.test_client(), app.extensions["socketio"].test_client(app)
    run = finished(client, max_new_tokens=5)
    share(client, run)
    for _ in range(2):
        other = start(client, max_new_tokens=5)
        viewer.emit("watch", {"run": other}, callback=True)
        eventually(lambda: client.get(f"/api/runs/{other}").json["status"] == "closed")  # noqa: B023
    refused = client.post("/api/runs", json={"prompt": "abc"})
    assert problem(refused, 507)["limit"] == 230_000
    assert refused.headers["Retry-After"]
    viewer.disconnect()
    eventually(lambda: client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 1}).status_code == 201)
    assert client.get(f"/api/runs/{run}").status_code == 200
