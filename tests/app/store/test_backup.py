"""Backup and restore: the same content, of one moment, from and to either kind of database, or nothing at all."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import sqlalchemy as sa

from kvscope.app.store import backup as module
from kvscope.app.store.backup import Content, backup, restore
from kvscope.app.store.database import SCHEMA, metadata
from kvscope.app.store.errors import StoreError
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, sessions_table
from kvscope.model.log.frames import encode
from tests.support.command import command
from tests.support.integrity import damage_of
from tests.support.live_server import Serve
from tests.support.postgres import made_database
from tests.support.stored import OTHER, SQLITE_ONLY, WORDS, log_of, run_of, values_of

Place = tuple[Path, str | None]


@pytest.fixture
def place(tmp_path: Path, database: str | None) -> Place:
    """Where there is something to back up: runs, a branch, a session, and one that was deleted."""
    with RunLog(tmp_path / "first", database) as log:
        log.append(run_of("a", 60))
        log.append(log_of("open", 2))
        branches = [encode(run, 0, "open", {"tokens": [], "parent": {"run": "a", "position": 1}}) for run in ("c", "b")]
        log.append(branches)
        store = SessionStore(log)
        store.share("a", WORDS)
        store.keep(WORDS, lambda: log.all_frames("a"), values_of(3), "origin")
        store.withdraw(*store.share("a", OTHER))
    return tmp_path / "first", database


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where there is nothing yet."""
    return tmp_path / "second", request.getfixturevalue("other") if request.param == "postgresql" else None


@pytest.fixture
def other(cluster: str) -> Iterator[str]:
    """A second PostgreSQL database."""
    with made_database(cluster) as url:
        yield url


def contents(table: sa.Table) -> list[Any]:
    """All columns but the one that numbers the rows."""
    return [column for column in table.columns if column is not table.autoincrement_column]


def everything(place: Place) -> dict[str, Any]:
    """What can be read there."""
    with RunLog(*place) as log:
        store = SessionStore(log)
        with log.engine.connect() as connection:
            sessions = connection.execute(sa.select(sessions_table).order_by(sessions_table.c.id)).all()
            rows = {
                table.name: connection.execute(sa.select(*contents(table))).all() for table in metadata.sorted_tables
            }
        live = [each.id for each in sessions if each.manifest is not None]
        return {
            "rows": {name: sorted(map(repr, found)) for name, found in rows.items()},
            "runs": {run: (list(log.all_frames(run)), log.head(run), log.chosen(run)) for run in "abc"},
            "family": [member.run for member in log.family("a")],
            "ids": [each.id for each in sessions],
            "sessions": {each: (store.manifest(each), list(store.all_frames(each))) for each in live},
            "damage": [damage_of(store, each) for each in live],
            "totals": log.totals(),
        }


def test_what_is_restored_is_what_was_backed_up(place: Place, empty: Place, tmp_path: Path) -> None:
    before = everything(place)
    assert (len(before["sessions"]), len(before["ids"]), before["family"]) == (2, 3, ["a", "c", "b"])
    assert before["damage"] == [[], []]
    assert backup(*place, tmp_path / "backup") == Content(4, 2)
    assert restore(*empty, tmp_path / "backup") == Content(4, 2)
    assert everything(empty) == before
    with RunLog(*empty) as log:  # and it goes on from there
        log.append([encode("d", 0, "open", {"tokens": [], "parent": {"run": "a", "position": 1}})])
        assert [member.run for member in log.family("a")] == ["a", "c", "b", "d"]
        assert SessionStore(log).share("a", WORDS)[0] in before["sessions"]


def test_a_backup_is_of_one_moment_though_the_log_grows(
    tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, copying, grown = RunLog(tmp_path / "first", database), Event(), Event()
    log.append(run_of("a", 10))
    copy = module._copy

    def copy_slowly(source: sa.Connection, target: sa.Connection) -> None:
        assert source.scalar(sa.text("SELECT count(*) FROM runs")) == 1
        copying.set()
        assert grown.wait(10)
        copy(source, target)

    monkeypatch.setattr(module, "_copy", copy_slowly)
    made = list[Content]()
    worker = Thread(target=lambda: made.append(backup(tmp_path / "first", database, tmp_path / "backup")))
    worker.start()
    assert copying.wait(10)
    log.append(run_of("b", 10))
    SessionStore(log).share("a", WORDS)
    grown.set()
    worker.join()
    monkeypatch.undo()
    assert made == [Content(1, 0)]
    log.close()
    assert restore(tmp_path / "second", None, tmp_path / "backup") == Content(1, 0)


@SQLITE_ONLY
@pytest.mark.parametrize("version", ["0003", "9999"])
def test_a_backup_of_another_version_is_refused_by_name(place: Place, tmp_path: Path, version: str) -> None:
    file = tmp_path / "backup"
    backup(*place, file)
    with sqlite3.connect(file) as other:
        other.execute("UPDATE alembic_version SET version_num = ?", (version,))
    other.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match=f"backup cannot be restored.*schema {version}; .* reads schema {SCHEMA}"):
        restore(tmp_path / "new", None, file)
    assert file.read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_nothing_is_restored_over_something(place: Place, tmp_path: Path) -> None:
    backup(*place, tmp_path / "backup")
    before = everything(place)
    with pytest.raises(StoreError, match="already contains 4 runs and 2 saved sessions"):
        restore(*place, tmp_path / "backup")
    assert everything(place) == before


def test_a_restore_that_fails_leaves_nothing(
    place: Place, empty: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup(*place, tmp_path / "backup")
    with monkeypatch.context() as patch:
        tables = module.metadata.sorted_tables
        twice = type("Twice", (), {"sorted_tables": [*tables, runs_table]})
        patch.setattr(module, "metadata", twice)  # its rows are there already
        with pytest.raises(StoreError, match="cannot be copied"):
            restore(*empty, tmp_path / "backup")
    assert restore(*empty, tmp_path / "backup") == Content(4, 2)


@SQLITE_ONLY
def test_what_is_no_backup_is_refused(place: Place, tmp_path: Path) -> None:
    file, empty = tmp_path / "file", tmp_path / "second"
    with pytest.raises(StoreError, match=r"file cannot be read: No such file"):
        restore(empty, None, file)
    file.write_bytes(b"nothing of the kind" * 500)
    with pytest.raises(StoreError, match="file is not a backup: file is not a database"):
        restore(empty, None, file)
    file.unlink()
    with sqlite3.connect(file) as foreign:
        foreign.execute("CREATE TABLE bookmarks (url)")
    foreign.close()
    with pytest.raises(StoreError, match="file is not a backup of KVScope"):
        restore(empty, None, file)
    backup(*place, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"is damaged|is not a backup"):
        restore(empty, None, file)
    free_pages = (5).to_bytes(4, "big")  # of which there are none: the file can be read, but is damaged
    file.write_bytes(whole[:36] + free_pages + whole[40:])
    with pytest.raises(StoreError, match="file is damaged"):
        restore(empty, None, file)


def test_a_backup_that_fails_leaves_the_earlier_one(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "to" / "backup"
    with pytest.raises(StoreError, match=r"backup cannot be written: No such file"):
        backup(*place, file)
    file.parent.mkdir()
    backup(*place, file)
    before = file.read_bytes()

    def fail(*_: Any) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    monkeypatch.setattr(module, "_copy", fail)
    with pytest.raises(StoreError, match="database or disk is full"):
        backup(*place, file)
    assert list(file.parent.iterdir()) == [file]
    assert file.read_bytes() == before


def test_the_commands_say_what_they_did(place: Place, tmp_path: Path) -> None:
    file, (folder, url) = str(tmp_path / "backup"), place
    done = command("--data", str(folder), *(("--database", url) if url else ()), "backup", file)
    assert (done.exit_code, done.output) == (0, f"{file} contains 4 runs and 2 saved sessions.\n")
    done = command("--data", str(tmp_path / "second"), "restore", file)
    assert (done.exit_code, done.output) == (0, "Restored 4 runs and 2 saved sessions.\n")
    for again in (("second", "restore"), ("third", "backup")):
        done = command("--data", str(tmp_path / again[0]), again[1], file)
        assert (done.exit_code, done.output.count("\n")) == (2, 1)


@pytest.mark.processes
def test_a_server_at_work_is_backed_up_and_not_restored_over(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    run = server.start_run(max_new_tokens=3)
    frames = server.finished(run)
    shared = server.post(f"api/runs/{run}/share", {}).json()
    file, data = str(tmp_path / "backup"), str(tmp_path / "data")
    done = command("--data", data, "backup", file)
    assert done.exit_code == 0, done.output
    done = command("--data", data, "restore", file)
    assert (done.exit_code, "in use by another KVScope" in done.output) == (2, True)
    server.close()
    (tmp_path / "data").rename(tmp_path / "lost")
    assert command("--data", data, "restore", file).exit_code == 0
    again = serve()
    assert again.frames(run) == frames
    assert again.get(f"api/sessions/{shared['id']}").json()["id"] == shared["id"]
