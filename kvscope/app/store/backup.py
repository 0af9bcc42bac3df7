"""Writes all stored runs and sessions to one file, and restores them; the same file for SQLite and PostgreSQL.

A backup is an SQLite database with all tables as they were at one moment; a server may run meanwhile. SQLite's
`VACUUM INTO` could replace `_copy` only for SQLite; PostgreSQL and every restore need `_copy`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from kvscope.app.store.database import FILE, OF_THE_MOMENT, connect, failing_as, held, metadata, reason_of
from kvscope.app.store.errors import StoreError
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.sessions import sessions_table
from kvscope.model.work_folder import work_folder

ROWS, LARGE_ROWS = 1000, 8
"""Rows copied at a time, of a table without and with payloads. A payload may have megabytes."""


@dataclass(frozen=True, slots=True)
class Content:
    """How many runs and sessions a database has, without deleted sessions."""

    runs: int
    sessions: int

    def __str__(self) -> str:
        return " and ".join(
            f"{count:,} {noun}{'' if count == 1 else 's'}"
            for count, noun in ((self.runs, "run"), (self.sessions, "saved session"))
        )


def backup(folder: Path, url: str | None, file: Path) -> Content:
    """Writes all stored runs and sessions to `file`. An earlier file is replaced only by a whole one.

    `folder` and `url` as in app.store.database.connect. Raises StoreError.
    """
    if not url and not (folder / FILE).exists():
        raise StoreError(f"There is nothing to back up in {folder}.")
    with _folder_next_to(file) as work, _opened(folder, url) as source, _opened(work) as target:
        content = _write(source, target)
        target.dispose()
        with (work / FILE).open("rb") as written:
            os.fsync(written.fileno())
        os.replace(work / FILE, file)
    return content


def restore(folder: Path, url: str | None, file: Path) -> Content:
    """Fills an empty database from `file`, in one transaction. No server may use the database meanwhile.

    Raises StoreError.
    """
    with work_folder(Path(tempfile.gettempdir())) as work, _failing_to_read(file):
        shutil.copyfile(file, work / FILE)
        _check(work / FILE, file)
        with _of_this_schema(file, work) as source, held(folder, url), _opened(folder, url) as target:
            return _fill(source, target)


def _write(source: sa.Engine, target: sa.Engine) -> Content:
    """Fills the backup, as one file without a log of changes."""
    with source.connect() as reading, target.begin() as writing:
        _begin_snapshot(reading)
        _copy(reading, writing)
        content = _content(writing)
    with target.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    return content


def _fill(source: sa.Engine, target: sa.Engine) -> Content:
    """Copies everything to an empty database, in one transaction. Raises StoreError if it is not empty."""
    with source.connect() as reading, target.begin() as writing:
        existing = _content(writing)
        if existing != Content(0, 0):
            detail = f"The database already contains {existing}; a backup can only be restored into an empty one."
            raise StoreError(f"{detail} Choose another database, or another folder with --data.")
        _copy(reading, writing)
        return _content(writing)


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    """Inserts all rows of all tables that are not OF_THE_MOMENT. Automatic numbers are new, in the same order."""
    for table in metadata.sorted_tables:
        if table.info == OF_THE_MOMENT:
            continue
        number = table.autoincrement_column
        columns = [column for column in table.columns if column is not number]
        query = sa.select(*columns).order_by(*([number] if number is not None else table.primary_key.columns))
        large = any(isinstance(column.type, sa.LargeBinary) for column in columns)
        rows = source.execution_options(yield_per=LARGE_ROWS if large else ROWS).execute(query).mappings()
        for page in rows.partitions():
            target.execute(sa.insert(table), [dict(row) for row in page])


def _content(connection: sa.Connection) -> Content:
    runs = connection.scalar(sa.select(sa.func.count()).select_from(runs_table))
    live = sa.select(sa.func.count()).where(sessions_table.c.manifest.is_not(None))
    return Content(runs or 0, connection.scalar(live) or 0)


def _begin_snapshot(connection: sa.Connection) -> None:
    """Lets this connection read the database as it is now, also later."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    else:
        connection.exec_driver_sql("BEGIN")


def _check(copy: Path, file: Path) -> None:
    """Raises StoreError unless the copy of `file` is a backup in which SQLite finds no damage."""
    engine = sa.create_engine(f"sqlite:///{copy}")
    try:
        with failing_as(f"{file} is not a backup"), engine.connect() as connection:
            ours = sa.inspect(connection).has_table(runs_table.name)
            sound = connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    finally:
        engine.dispose()
    if not sound:
        raise StoreError(f"{file} is damaged.")
    if not ours:
        raise StoreError(f"{file} is not a backup of KVScope.")


@contextmanager
def _opened(folder: Path, url: str | None = None) -> Iterator[sa.Engine]:
    """Opens a database for the context. Raises StoreError, also for its errors inside the context."""
    engine = connect(folder, url)
    try:
        with failing_as("The database cannot be copied", in_full=True):
            yield engine
    finally:
        engine.dispose()


@contextmanager
def _of_this_schema(file: Path, copy: Path) -> Iterator[sa.Engine]:
    """Opens the copy of a backup in the folder `copy`. Raises StoreError, which names `file`, if that fails."""
    try:
        engine = connect(copy)
    except StoreError as error:
        raise StoreError(f"{file} cannot be restored. {error}") from None
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _folder_next_to(file: Path) -> Iterator[Path]:
    """Yields a temporary folder next to `file`. Raises StoreError if it cannot be written."""
    try:
        with work_folder(file.parent) as work:
            yield work
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {reason_of(error)}.") from None


@contextmanager
def _failing_to_read(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {reason_of(error)}.") from None
