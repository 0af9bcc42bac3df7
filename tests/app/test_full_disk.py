"""On a full disk what is there can be read, and deleting works: it is how one makes room."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from kvscope.app.store.database import FILE
from kvscope.app.store.inventory import opened
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.spare import keep_spare, spare_of
from tests.support.live_server import LiveServer
from tests.support.over_http import bearer
from tests.support.small_disk import empty, fill, small_disk
from tests.support.stored import WORDS, run_of
from tests.support.waiting import eventually


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 24) as disk:
        yield disk


def test_runs_and_sessions_are_deleted_and_leave_their_room(disk: Path) -> None:
    folder = disk / "data"
    with RunLog(folder) as log:
        for run in "abc":
            log.append(run_of(run, 60, size=50_000))
        session, _ = SessionStore(log).share("a", WORDS)
        keep_spare(folder)
        frames = list(log.all_frames("b"))
    before = (folder / FILE).stat().st_size
    fill(disk)
    with opened(folder, None) as found:
        assert [run["id"] for run in found.runs()] == ["a", "b", "c"]
    fill(disk)
    with opened(folder, None) as found:
        found.delete_runs(["a"])
        found.delete_sessions([session])
        assert [run["id"] for run in found.runs()] == ["b", "c"]
        assert found.sessions() == []
    assert (folder / FILE).stat().st_size < before - 2_500_000
    with RunLog(folder) as log:
        assert list(log.all_frames("b")) == frames
        log.append(run_of("d", 10, size=50_000))


def test_a_server_says_so_reads_deletes_and_goes_on(disk: Path) -> None:
    server = LiveServer(disk / "data", "bytes=50000")
    try:
        eventually(lambda: server.get("readyz").ok, 120)
        made = server.post("api/runs", {"prompt": "abc", "max_new_tokens": 40})
        run, token = made.json()["id"], made.json()["delete_token"]
        frames = server.finished(run)
        eventually(spare_of(disk / "data").exists)
        fill(disk)
        refused = server.post("api/runs", {"prompt": "abc", "max_new_tokens": 40})
        assert refused.status_code == 507
        assert "disk" in refused.json()["detail"]
        server.close()
        fill(disk)
        server = LiveServer(disk / "data", "bytes=50000")
        eventually(lambda: server.get("readyz").ok, 120)
        assert server.frames(run) == frames
        fill(disk)
        deleted = requests.delete(f"{server.url}api/runs/{run}", headers=bearer(token), timeout=30)
        assert deleted.status_code == 204
        empty(disk)
        again = server.start_run(max_new_tokens=40)
        assert len(server.finished(again)) == len(frames)
        eventually(spare_of(disk / "data").exists)
    finally:
        server.close()
