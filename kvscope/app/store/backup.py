"""Everything that is stored, as one file, and back again: the same from and to SQLite and PostgreSQL.

A backup is an SQLite database with all tables, as they were at one moment, though a server may be at work.
SQLite's own `VACUUM INTO` would be one more way beside `_copy`, which PostgreSQL and every restore need all the same.
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
"""Rows copied at a time, of a table without and with payloads, which may have megabytes each."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a database holds; a deleted session is none."""

    runs: int
    sessions: int

    def __str__(self) -> str:
        return " and ".join(
            f"{count:,} {noun}{'' if count == 1 else 's'}"
            for count, noun in ((self.runs, "run"), (self.sessions, "saved session"))
        )


def backup(folder: Path, url: str | None, file: Path) -> Content:
    """Write what is stored to `file`, which is there once it is whole, in place of an earlier one.

    `folder` and `url` as in app.store.database.connect. Raises StoreError.
    """
    if not url and not (folder / FILE).exists():
        raise StoreError(f"There is nothing to back up in {folder}.")
    with _beside(file) as work, _opened(folder, url) as source, _opened(work) as target:
        content = _write(source, target)
        target.dispose()
        with (work / FILE).open("rb") as written:
            os.fsync(written.fileno())
        os.replace(work / FILE, file)
    return content


def restore(folder: Path, url: str | None, file: Path) -> Content:
    """Fill an empty database with what is in `file`, all or nothing, while no server is at work on it.

    Raises StoreError.
    """
    with work_folder(Path(tempfile.gettempdir())) as work, _readable(file):
        shutil.copyfile(file, work / FILE)
        _check(work / FILE, file)
        with _of_this_schema(file, work) as source, held(folder, url), _opened(folder, url) as target:
            return _fill(source, target)


def _write(source: sa.Engine, target: sa.Engine) -> Content:
    """Fill the backup, and leave all of it in its one file."""
    with source.connect() as reading, target.begin() as writing:
        _hold_still(reading)
        _copy(reading, writing)
        content = _content(writing)
    with target.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    return content


def _fill(source: sa.Engine, target: sa.Engine) -> Content:
    """Copy all there is to where nothing is, in one transaction. Raises StoreError when something is."""
    with source.connect() as reading, target.begin() as writing:
        there = _content(writing)
        if there != Content(0, 0):
            detail = f"The database already contains {there}; a backup can only be restored into an empty one."
            raise StoreError(f"{detail} Choose another database, or another folder with --data.")
        _copy(reading, writing)
        return _content(writing)


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    """Insert all rows of all tables but those of the moment; rows that are numbered as they come are numbered again, in
    the same order.
    """
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


def _hold_still(connection: sa.Connection) -> None:
    """From here on, read the database as it is at this moment."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    else:
        connection.exec_driver_sql("BEGIN")


def _check(copy: Path, file: Path) -> None:
    """Raise StoreError unless the copy of `file` is a backup, undamaged as far as SQLite can tell."""
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
    """A database while this lasts. Raises StoreError, also for what goes wrong with it meanwhile."""
    engine = connect(folder, url)
    try:
        with failing_as("The database cannot be copied", in_full=True):
            yield engine
    finally:
        engine.dispose()


@contextmanager
def _of_this_schema(file: Path, copy: Path) -> Iterator[sa.Engine]:
    """The copy of a backup in the folder `copy`. Raises StoreError that names `file` if its schema cannot be read."""
    try:
        engine = connect(copy)
    except StoreError as error:
        raise StoreError(f"{file} cannot be restored. {error}") from None
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _beside(file: Path) -> Iterator[Path]:
    """A folder for what will become `file`. Raises StoreError when it cannot be written."""
    try:
        with work_folder(file.parent) as work:
            yield work
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {reason_of(error)}.") from None


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {reason_of(error)}.") from None
