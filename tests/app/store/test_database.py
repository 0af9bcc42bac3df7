"""The database: made, brought up to date and taken over, as an SQLite file and in PostgreSQL."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier, Thread, Timer

import pytest
import requests
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from kvscope.app.settings import DATABASE_URL_FORM
from kvscope.app.store.cluster.lead import followers_table, lead_table
from kvscope.app.store.database import FILE, NEWEST, OF_THE_MOMENT, connect, held, metadata
from kvscope.app.store.errors import Lost, StoreError
from kvscope.app.store.queued import queued_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, parts_table
from kvscope.model.log.frames import encode, from_stream, header
from tests.support.integrity import damage_of
from tests.support.live_server import ROOT, LiveServer
from tests.support.old_database import BEFORE, TOKEN, make_as_before, migrate, raw
from tests.support.postgres import run_sql, started_cluster
from tests.support.stored import change, log_of, run_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

UNREADABLE = (
    "mysql://me:secret@localhost/none",
    "secret",
    "postgresql://me:secret",  # the host was left out, so that the password stands where a port does
    "postgresql://me:p@secret@localhost:1/none",
    "postgresql://me:p@localhost/secret@localhost:1/none",
)
VERSIONS = ROOT / "kvscope" / "app" / "store" / "migrations" / "versions"


def test_the_newest_migration_is_the_one_that_is_named() -> None:
    config = Config()
    config.set_main_option("script_location", "kvscope.app.store:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [NEWEST]


def test_what_concerns_the_processes_of_the_moment_is_in_no_backup() -> None:
    """The secret of the process that leads, above all."""
    tables = (followers_table, lead_table, queued_table)
    assert [table for table in metadata.sorted_tables if table.info == OF_THE_MOMENT] == list(tables)


def test_the_migrations_make_the_tables_that_the_code_has(tmp_path: Path, database: str | None) -> None:
    engine = connect(tmp_path, database)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


@pytest.mark.parametrize(
    "known", [list(BEFORE), [name for name in BEFORE if "session" not in name], ["runs", "frames"]]
)
def test_a_database_of_before_there_were_migrations_is_taken_over(
    tmp_path: Path, database: str | None, known: list[str]
) -> None:
    old = raw(tmp_path, database)
    session = make_as_before(old, known)
    with RunLog(tmp_path, database) as log:
        assert list(log.all_frames("a")) == [frame.payload for frame in run_of("a", 3)]
        log.append([encode("b", 0, "open", {"tokens": [], "parent": {"run": "a", "position": 1}})])
        assert [member.run for member in log.family("b")] == ["a", "b"]
        with log.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        if "sessions" in known:
            check_old_session(log, session)
    old.dispose()


@pytest.mark.parametrize("revision", sorted(path.stem[1:5] for path in VERSIONS.glob("v*.py")))
def test_a_database_of_every_schema_since_is_brought_up_to_date(
    tmp_path: Path, database: str | None, revision: str
) -> None:
    old = raw(tmp_path, database)
    session = make_as_before(old, list(BEFORE))
    migrate(old, revision)
    old.dispose()
    with RunLog(tmp_path, database) as log:
        with log.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert list(log.all_frames("a")) == [frame.payload for frame in run_of("a", 3)]
        check_old_session(log, session)


def check_old_session(log: RunLog, session: str) -> None:
    """It is whole, counted, and withdrawn by its token of back then."""
    store = SessionStore(log)
    assert damage_of(store, session) == []
    assert list(store.all_frames(session)) == list(log.all_frames("a"))
    with log.engine.connect() as connection:
        stored = connection.scalar(sa.select(sa.func.sum(sa.func.length(parts_table.c.payload))))
    assert store.totals() == {"sessions": 1, "bytes": stored}
    assert store.of_run("a")
    assert store.withdraw(session, TOKEN)
    assert not store.of_run("a")


def test_what_was_damaged_before_is_found_after(tmp_path: Path, database: str | None) -> None:
    old = raw(tmp_path, database)
    session = make_as_before(old, list(BEFORE))
    with old.begin() as connection:
        connection.execute(sa.text("UPDATE session_parts SET payload = :wrong WHERE seq = 4"), {"wrong": b"wrong"})
        connection.execute(sa.text("DELETE FROM session_parts WHERE seq = 5"))
    old.dispose()
    with RunLog(tmp_path, database) as log:
        store = SessionStore(log)
        assert damage_of(store, session) == ["parts[4]", "parts[5]"]
        change(store, sa.table("sessions", sa.column("id"), sa.column("manifest")), "manifest", 9, id=session)
        assert damage_of(store, session) == ["manifest"]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, database: str | None) -> None:
    old = raw(tmp_path, database)
    make_as_before(old, list(BEFORE))
    with old.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE ix_sessions_run (x INTEGER)")  # the name of an index to come
    with pytest.raises(StoreError, match="ix_sessions_run"):
        connect(tmp_path, database)
    assert not sa.inspect(old).has_table("alembic_version")
    assert [column["name"] for column in sa.inspect(old).get_columns("session_parts")] == ["session", "seq", "payload"]
    old.dispose()


def test_several_who_open_it_first_at_once_make_it_once(tmp_path: Path, database: str | None) -> None:
    make_as_before(old := raw(tmp_path, database), list(BEFORE))
    old.dispose()
    together, opened = Barrier(4), list[sa.Engine]()

    def open_it() -> None:
        together.wait()
        opened.append(connect(tmp_path, database))

    threads = [Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    for engine in opened:
        engine.dispose()


def test_a_file_that_another_is_about_to_write_is_waited_for(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = Timer(0.3, other.rollback)
    done.start()
    connect(tmp_path).dispose()
    done.join()
    other.close()


def test_a_database_of_a_later_version_is_left_alone(tmp_path: Path, database: str | None) -> None:
    engine = connect(tmp_path, database)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match=f"9999, from a later KVScope; this one supports {NEWEST}"):
        connect(tmp_path, database)


def test_a_postgresql_is_held_by_one_at_a_time(tmp_path: Path, postgresql: str) -> None:
    with held(tmp_path / "one", postgresql):
        with pytest.raises(StoreError, match="in use by another"), held(tmp_path / "two", postgresql):
            pass
        RunLog(tmp_path, postgresql).close()
    with held(tmp_path / "two", postgresql):
        pass


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:secret@localhost:1/none?connect_timeout=5", r"me:\*\*\*@localhost:1/none cannot be used"),
        ("postgresql://me@localhost:1/none?password=secret", r"me@localhost:1/none cannot be used"),
        *((url, rf"must have the form {DATABASE_URL_FORM}, with %40 for an @ in the password") for url in UNREADABLE),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, url: str, words: str
) -> None:
    with pytest.raises(StoreError, match=words) as raised:
        connect(tmp_path, url)
    assert "secret" not in f"{raised.value}{caplog.text}"
    assert "\n" not in str(raised.value)


def test_ids_that_no_database_takes_are_unknown(tmp_path: Path, database: str | None) -> None:
    with RunLog(tmp_path, database) as log:
        log.append(log_of("a", 1))
        for odd in ("a\0", "\ud800", "é", "a\n"):
            assert log.head(odd) is None
            assert SessionStore(log).head(odd) is None


@pytest.mark.processes
def test_a_server_works_on_postgresql(
    serve: Callable[..., LiveServer], tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgresql)
    server = serve("delay=0.01")
    run = server.start_run(max_new_tokens=4)
    frames = server.finished(run)
    fork = server.post(f"api/runs/{run}/fork", {"position": 4, "token": 900}).json()["id"]
    session = server.post(f"api/runs/{run}/share", {}).json()["id"]
    assert server.get("api/runs/%00").status_code == server.get("api/sessions/%00").status_code == 404
    refused = subprocess.run(
        [sys.executable, "-m", "kvscope", "--port", "0", "--data", str(tmp_path / "another")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "in use by another KVScope" in refused.stderr
    cut = server.start_run(max_new_tokens=200)
    server.kill()
    again = serve("delay=0.01")
    assert again.frames(run) == frames
    assert header(again.frames(cut)[-1]).data["reason"] == "interrupted"
    family = again.get(f"api/runs/{fork}/family").json()
    assert family["root"] == run
    assert len(list(from_stream(again.get(f"api/sessions/{session}/frames").content))) == len(frames)
    assert not list(tmp_path.glob("**/*.sqlite"))


@pytest.mark.processes
def test_a_server_outlives_its_postgresql_and_keeps_it_for_itself(
    serve: Callable[..., LiveServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with started_cluster() as cluster:
        run_sql(cluster.url.format("postgres"), "CREATE DATABASE kvscope")
        monkeypatch.setenv("DATABASE_URL", cluster.url.format("kvscope"))
        server = serve("delay=0.02,bytes=20000")
        before = server.start_run(max_new_tokens=3)
        kept = server.finished(before)
        run = server.start_run(max_new_tokens=200)
        live = Viewer(server.url)
        live.watch(run)
        live.wait_for(9)
        cluster.stop()
        seen = live.wait_for_close()
        assert header(seen[-1]).data["reason"] == "failed"
        for response in (server.get("api/runs/nobody"), server.post("api/runs", {"prompt": "abc"})):
            assert response.status_code == 503
            assert response.headers["Content-Type"] == "application/problem+json"
            assert int(response.headers["Retry-After"]) > 0
        assert live.watch("nobody")["error"]["status"] == 503
        assert server.get("readyz").ok
        cluster.start()
        eventually(lambda: server.get(f"api/runs/{run}").ok)
        assert server.frames(run) == seen
        assert server.frames(before) == kept
        assert header(server.finished(server.start_run(max_new_tokens=3))[-1]).data["reason"] == "length"
        live.leave()

        def taken() -> bool:
            try:
                with held(tmp_path / "another", cluster.url.format("kvscope")):
                    return False
            except StoreError as error:
                return "in use by another" in str(error)

        eventually(taken, 30)
        with cluster.frozen():
            with ThreadPoolExecutor(20) as many:  # more than there are connections
                # A statement, and a connection twice: 20 s. The machine may be busy besides.
                ask = partial(requests.get, f"{server.url}api/runs/nobody", timeout=60)
                answers = [asked.result() for asked in [many.submit(ask) for _ in range(20)]]
            assert {answer.status_code for answer in answers} == {503}
            assert server.get("healthz").ok
        assert header(server.finished(server.start_run(max_new_tokens=3))[-1]).data["reason"] == "length"
        server.kill()
        again = serve("delay=0.02")
        assert (again.frames(run), again.frames(before)) == (seen, kept)
        again.kill()


def test_a_file_that_is_deleted_under_a_server_is_noticed_and_does_not_come_back_empty(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append(run_of("a", 1))
    log.check()
    for file in tmp_path.glob(f"{FILE}*"):
        file.unlink()
    for attempt in (log.check, lambda: log.append(run_of("b", 1)), log.check):
        with pytest.raises(Lost, match="deleted or replaced"):
            attempt()
    assert not (tmp_path / FILE).exists()
    log.close()
