"""The database: made, brought up to date and taken over, as an SQLite file and in PostgreSQL."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier, Timer

import pytest
import requests
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from kvscope.app.settings import DATABASE_URL_FORM
from kvscope.app.store.cluster.lead import followers_table, lead_table
from kvscope.app.store.database import FILE, OF_THE_MOMENT, SCHEMA, connect, held, metadata
from kvscope.app.store.errors import Lost, StoreError
from kvscope.app.store.queued import queued_table
from kvscope.app.store.rooms import rooms_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import from_stream, header
from tests.support.live_server import Serve
from tests.support.postgres import run_sql, started_cluster
from tests.support.stored import log_of, run_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

UNREADABLE = (
    "mysql://me:secret@localhost/none",
    "secret",
    "postgresql://me:secret",  # the host was left out, so that the password stands where a port does
    "postgresql://me:p@secret@localhost:1/none",
    "postgresql://me:p@localhost/secret@localhost:1/none",
)


def test_the_newest_migration_is_the_one_that_is_named() -> None:
    config = Config()
    config.set_main_option("script_location", "kvscope.app.store:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [SCHEMA]


def test_what_concerns_the_processes_of_the_moment_is_in_no_backup() -> None:
    """The secret of the process that leads, above all."""
    rooms = {table for name, table in metadata.tables.items() if name.startswith("room")}
    tables = {followers_table, lead_table, queued_table, *rooms}
    assert rooms_table in rooms
    assert {table for table in metadata.sorted_tables if table.info == OF_THE_MOMENT} == tables


def test_the_migrations_make_the_tables_that_the_code_has(tmp_path: Path, database: str | None) -> None:
    engine = connect(tmp_path, database)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


FOREIGN = {
    "of a later version": ["alembic_version 9999", "runs a"],
    "of an earlier version": ["alembic_version 0003", "runs a"],
    "before there were versions": ["runs a", "frames a"],
    "another program's": ["users me"],
    "another program's, with Alembic": ["alembic_version 1975ea83b712", "users me"],
    "of a version that is missing": ["alembic_version", "runs a"],
}
"""By what they are: tables, each with the one value in it."""


def make_foreign(folder: Path, url: str | None, kind: str) -> sa.Engine:
    """A database that this KVScope does not read, nothing else done to it."""
    engine = sa.create_engine((url or f"sqlite:///{folder / FILE}").replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for table in FOREIGN[kind]:
            name, *values = table.split()
            connection.exec_driver_sql(f"CREATE TABLE {name} (version_num VARCHAR)")
            for value in values:
                connection.exec_driver_sql(f"INSERT INTO {name} VALUES ('{value}')")
    return engine


def content(engine: sa.Engine) -> dict[str, list[str]]:
    with engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        return {table: [row[0] for row in connection.execute(sa.text(f"SELECT * FROM {table}"))] for table in tables}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_of_another_version_or_program_is_refused_and_left_as_it_is(
    tmp_path: Path, database: str | None, kind: str
) -> None:
    engine = make_foreign(tmp_path, database, kind)
    before = content(engine)
    with pytest.raises(StoreError, match=f"reads schema {SCHEMA}") as refused:
        connect(tmp_path, database)
    assert all(version in str(refused.value) for version in before.get("alembic_version", []))
    assert content(engine) == before
    engine.dispose()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = command.upgrade

    def fail_at_the_end(config: Config, revision: str) -> None:
        upgrade(config, revision)
        config.attributes["connection"].exec_driver_sql("INSERT INTO nowhere VALUES (1)")

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", fail_at_the_end)
        with pytest.raises(StoreError, match="nowhere"):
            connect(tmp_path, database)
    RunLog(tmp_path, database).close()  # empty as before, or it would be refused


def test_several_who_open_it_first_at_once_make_it_once(tmp_path: Path, database: str | None) -> None:
    together, opened = Barrier(4), list[sa.Engine]()

    def open_it() -> None:
        together.wait()
        opened.append(connect(tmp_path, database))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(open_it)
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
    serve: Serve, tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgresql)
    server = serve("delay=0.01")
    run = server.start_run(max_new_tokens=4)
    frames = server.finished(run)
    fork = server.post(f"api/runs/{run}/fork", {"position": 4, "token": 900}).json()["id"]
    session = server.post(f"api/runs/{run}/share", {}).json()["id"]
    assert server.get("api/runs/%00").status_code == server.get("api/sessions/%00").status_code == 404
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
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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
            assert (response.status_code, response.headers["Content-Type"]) == (503, "application/problem+json")
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
