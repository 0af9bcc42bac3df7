"""Measures the room of a database on the disk, and gives the room of deleted data back.

An SQLite file keeps the pages of deleted data and uses them again. It can also give them back, a few at a time
(`auto_vacuum=INCREMENTAL`, set when the file is created).

PostgreSQL manages its own files: deleted rows stay until autovacuum runs, and then leave free room within the files. So
for PostgreSQL the stored payloads are counted.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage

import sqlalchemy as sa

from kvscope.app.store.database import FILE, LOG_BYTES, failing_as, metadata, reading
from kvscope.app.store.errors import StoreError
from kvscope.app.store.run_tables import runs_table

UNUSED_BYTES = 64 * 1024 * 1024
"""Unused bytes that may stay in the file for later data."""
PAGES_AT_ONCE = 256
GIVING_BACK_S = 0.2
"""How long pages are given back at a time; nothing else can be written meanwhile."""
PATIENCE_MS = 100
"""How long to wait for readers before the log of changes is truncated."""
INCREMENTAL = 2


class Footprint:
    """The room of the database of `engine`; an SQLite file is in `folder`."""

    def __init__(self, engine: sa.Engine, folder: Path) -> None:
        self._engine, self._folder = engine, folder
        self.of_file = engine.dialect.name == "sqlite"

    def taken(self) -> int:
        """Returns the bytes in use: the file without unused pages, plus its log of changes, at least LOG_BYTES; for
        PostgreSQL the payloads. Raises StoreError.
        """
        if not self.of_file:
            return self._payloads()
        pages, unused, size = self._pages()
        return (pages - unused) * size + max(self._log_bytes(), LOG_BYTES)

    def on_disk(self) -> int:
        """Returns the bytes of the files now; for PostgreSQL of its tables and indexes, with deleted data. Raises
        StoreError."""
        if self.of_file:
            return sum(_size(self._folder / f"{FILE}{end}") for end in ("", "-wal", "-shm"))
        with reading(self._engine) as connection:
            sizes = [sa.func.pg_total_relation_size(name) for name in metadata.tables]
            return sum(connection.execute(sa.select(*sizes)).one())

    def free(self) -> int | None:
        """Returns the free bytes, in unused pages and on the disk; None if that is not known. Raises StoreError."""
        if not self.of_file:
            return None
        try:
            return self._unused() + disk_usage(self._folder).free
        except OSError:  # the folder was deleted, which other parts report
            return None

    def give_back(self, most: int) -> None:
        """Gives unused pages back to the disk, some at a time: all if the files take more than `most` bytes, else those
        above UNUSED_BYTES. Raises StoreError.
        """
        if not self.of_file:
            return
        over = bool(most) and self.on_disk() > most
        deadline = time.monotonic() + GIVING_BACK_S
        while self._unused() > (0 if over else UNUSED_BYTES) and time.monotonic() < deadline:
            if not give_back_pages(self._engine, PAGES_AT_ONCE):
                break
        if over or self._log_bytes() > 2 * LOG_BYTES:
            self._truncate_log()

    def give_back_all(self) -> None:
        """Gives all unused pages back, if the file can do so. Raises StoreError."""
        if self.of_file:
            while self._unused() and give_back_pages(self._engine, PAGES_AT_ONCE):
                self._truncate_log()

    def _unused(self) -> int:
        _, unused, size = self._pages()
        return unused * size

    def _payloads(self) -> int:
        from kvscope.app.store.sessions import sessions_table

        sums = [
            sa.select(sa.func.coalesce(sa.func.sum(table.c.bytes), 0)).scalar_subquery()
            for table in (runs_table, sessions_table)
        ]
        with reading(self._engine) as connection:
            return int(sum(connection.execute(sa.select(*sums)).one()))

    def _pages(self) -> tuple[int, int, int]:
        """Returns the number of pages, the number of unused pages, and the bytes of one page."""
        with reading(self._engine) as connection:
            pages, unused, size = (
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int(pages or 0), int(unused or 0), int(size or 0)

    def _log_bytes(self) -> int:
        return _size(self._folder / f"{FILE}-wal")

    def _truncate_log(self) -> None:
        """Truncates the log of changes; only then does the file shrink. SQLite does so itself if no reader prevents it;
        with many readers that may take long.
        """
        with suppress(StoreError), reading(self._engine) as connection:
            before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
            connection.exec_driver_sql(f"PRAGMA busy_timeout={PATIENCE_MS}")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
            connection.exec_driver_sql(f"PRAGMA busy_timeout={before}")


def give_back_pages(engine: sa.Engine, most: int = 0) -> bool:
    """Cuts `most` unused pages off an SQLite file, 0 for all. Returns whether the file can do so. Raises StoreError."""
    with failing_as("What was deleted cannot be given back to the disk"), engine.connect() as connection:
        if connection.exec_driver_sql("PRAGMA auto_vacuum").scalar() != INCREMENTAL:
            return False
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        try:
            driver.executescript(f"PRAGMA incremental_vacuum({most})")  # `execute` would free only the first page
        except sqlite3.Error as error:
            raise StoreError(f"What was deleted cannot be given back to the disk: {error}.") from None
    return True


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
