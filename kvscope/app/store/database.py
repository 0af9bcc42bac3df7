"""Where runs and sessions are stored: an SQLite file in the data folder, or a PostgreSQL.

Its schema is made and brought up to date by the migrations in app/store/migrations, under a lock, whenever it is
opened. What goes wrong with a database leaves this folder as StoreError: every connection is had from `reading` or
`writing`, or used inside `failing_as`.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from kvscope.app.settings import DATABASE_URL_FORM
from kvscope.app.store.errors import Lost, StoreError
from kvscope.app.store.spare import with_spare

log = logging.getLogger(__name__)

metadata = sa.MetaData()
"""All tables: of `runs`, `sessions` and `lead`. The migrations make the same tables; a test compares them."""
OF_THE_MOMENT = {"of_the_moment": True}
"""Information on a table of what concerns the processes that run now: it is no part of a backup."""

SCHEMA = "0005"
"""The newest migration. A database that has it is opened without loading Alembic."""
WHAT_TO_DO = "Use the KVScope that wrote it, or choose an empty database or another folder with --data."
FILE = "runs.sqlite"
POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg")
PORT = 5432
SEVERAL_HOSTS = re.compile(
    r"(?P<before>[a-z+]+://(?:[^/?#@]*@)?)(?P<hosts>[^/?#@]+,[^/?#@]+)(?P<after>(?:[/?].*)?)", re.S
)
"""The failover form of PostgreSQL's library: `postgresql://user:password@host:port,host:port/name`."""
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:,]+)(?::(\d{1,5})?)?")
MIGRATING, SERVING, WORKING = 0x6B765363, 0x6B765364, 0x6B765365
"""PostgreSQL's advisory locks: for as long as the schema is changed, for as long as a server is there, and for as long
as its web process is. Of the last two the first is lost when the database is restarted, the other is taken again.
"""
FREE_S = 5
"""How long to wait for one of the pool's connections to a PostgreSQL."""
BUSY_S = 5.0
"""How long to wait for another connection's lock on an SQLite file."""
LOG_BYTES = 4 * 1024 * 1024
"""SQLite's log of changes is cut to this size when it has been copied into the database."""
SESSION_MARK, SESSION_LOOKS = "kvscope.session", 8
POOLED = (
    "The database's address leads to a pooler in transaction mode, which gives each transaction another session. "
    "KVScope holds locks and, in a cluster, listens in sessions of its own. Give the address of PostgreSQL itself, or "
    "of a pooler in session mode."
)
TAKE_OVER_S = 2.0
"""How long a server that was just killed may take to let go of its database."""
CONNECT_S = 5
"""How long to wait for a PostgreSQL that does not answer at all, unless its address has a `connect_timeout`."""


@contextmanager
def failing_as(failure: str, *, in_full: bool = False) -> Iterator[None]:
    """Whatever goes wrong with a database meanwhile is a StoreError: `failure`, and why.

    `in_full`: only the operator hears of it. Otherwise anyone may, and the operator reads the rest in the log.
    """
    try:
        yield
    except SQLAlchemyError as error:
        reason, told = reason_of(error), reason_of(error) if in_full else _public_reason(error)
        if told != reason:
            log.error("%s: %s.", failure, reason)
        lost = isinstance(error, DBAPIError) and isinstance(error.orig, _Deleted)
        raise (Lost if lost else StoreError)(f"{failure}: {told}.") from error


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection to read with. Raises StoreError."""
    with failing_as("The database cannot be read"), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: sa.Engine, failure: str, *, lasting: bool = False) -> Iterator[sa.Connection]:
    """A transaction: all of it is stored, or nothing. Raises StoreError, which begins with `failure`.

    `lasting`: once it is stored, a power cut does not undo it. PostgreSQL does so always.
    """
    with failing_as(failure), engine.connect() as connection, _synced(connection, lasting), connection.begin():
        yield connection


@contextmanager
def _synced(connection: sa.Connection, lasting: bool) -> Iterator[None]:
    """Where it is SQLite, sync the commits of this connection meanwhile."""
    driver = connection.connection.driver_connection
    if not lasting or not isinstance(driver, sqlite3.Connection):
        yield
        return
    driver.execute("PRAGMA synchronous=FULL")
    try:
        yield
    finally:
        driver.execute("PRAGMA synchronous=NORMAL")


def connect(folder: Path, url: str | None = None, process: str | None = None) -> sa.Engine:
    """The database at `url`, or the file in `folder`, which is made if need be; its schema is the newest.

    `process`: what a PostgreSQL is to know the connections by. Raises StoreError, in whose message the password of
    `url` is not.
    """
    return with_spare(folder, lambda: _connect(folder, _parsed(url) if url else None, process))


def _connect(folder: Path, address: sa.URL | None, process: str | None) -> sa.Engine:
    place = f"The database {_shown(address)}" if address else f"The data folder {folder}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        engine = _postgresql(address, process) if address else _sqlite(folder)
    except (OSError, ArgumentError, NoSuchModuleError) as error:
        raise StoreError(f"{place} cannot be used: {reason_of(error)}.") from None
    try:
        with failing_as(f"{place} cannot be used", in_full=True):
            _bring_up_to_date(engine)
    except StoreError:
        engine.dispose()
        raise
    return engine


@contextmanager
def held(folder: Path, url: str | None = None, *, together: bool = False) -> Iterator[None]:
    """Bring the database up to date, and keep it for this process alone while this lasts: another server would take its
    open runs for leftovers.

    `together`: keep it for this process and others that say the same (app.store.member). (An SQLite file is held with
    its folder: app.server.) Raises StoreError, also when another one holds it.
    """
    engine = connect(folder, url)
    try:
        if engine.dialect.name == "postgresql":
            check_sessions(engine)
            with reading(engine) as connection:
                holding = connection.execution_options(isolation_level="AUTOCOMMIT")
                _wait_for_lock(holding, SERVING, shared=together)
                if not together:
                    _wait_for_lock(holding, WORKING)
                    holding.execute(sa.select(sa.func.pg_advisory_unlock(WORKING)))
                yield
        else:
            yield
    finally:
        engine.dispose()


def check_sessions(engine: sa.Engine) -> None:
    """Raise StoreError where a pooler shares out PostgreSQL's sessions by transaction: a lock would then be held for
    whoever comes next, and news be heard by them.

    A connection to PostgreSQL itself knows its session's number; a pooler gives it one of its own. Then what is set in
    the session is looked for, while and after other connections have transactions.
    """
    mark = secrets.token_hex(8)
    setting = sa.func.current_setting(SESSION_MARK, True)
    with failing_as("The database cannot be used", in_full=True), engine.connect() as first:
        session = first.execution_options(isolation_level="AUTOCOMMIT")
        driver: Any = session.connection.driver_connection
        if driver.info.backend_pid == session.scalar(sa.select(sa.func.pg_backend_pid())):
            return
        session.execute(sa.select(sa.func.set_config(SESSION_MARK, mark, False)))
        for _ in range(SESSION_LOOKS):
            with engine.connect() as other, other.begin():
                shared = other.scalar(sa.select(setting)) == mark
            if shared or session.scalar(sa.select(setting)) != mark:
                raise StoreError(POOLED)


def _wait_for_lock(connection: sa.Connection, lock: int, *, shared: bool = False) -> None:
    """Take the lock, which lasts as long as this connection."""
    deadline = time.monotonic() + TAKE_OVER_S
    take = sa.func.pg_try_advisory_lock_shared if shared else sa.func.pg_try_advisory_lock
    while not connection.scalar(sa.select(take(lock))):
        if time.monotonic() > deadline:
            raise StoreError("The database is in use by another KVScope.")
        time.sleep(0.05)


def reason_of(error: Exception) -> str:
    """The cause in a few words, without SQL or parameters."""
    if isinstance(error, DBAPIError):
        return str(error.orig).strip().partition("\n")[0].rstrip(".")
    if isinstance(error, PoolTimeout):
        return "all its connections are in use"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0].rstrip(".")


def _public_reason(error: Exception) -> str:
    """The cause without PostgreSQL's message, which may name addresses, users and files."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return reason_of(error)
    if isinstance(error.orig, _Deleted):
        return "its file was deleted or replaced; restart the server"
    name = type(error.orig).__name__
    return "it does not answer" if name == "OperationalError" else re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def _sqlite(folder: Path) -> sa.Engine:
    if not (folder / FILE).exists():
        (folder / FILE).touch()
    # "rw" does not make a file: one that was deleted must not come back empty.
    place = f"file:{quote(str(folder / FILE))}"
    engine = sa.create_engine(sa.URL.create("sqlite", database=place, query={"mode": "rw", "uri": "true"}))
    sa.event.listen(engine, "connect", _set_pragmas)
    _notice_deletion(engine, folder / FILE)
    return engine


def _postgresql(address: sa.URL, process: str | None) -> sa.Engine:
    if process is not None:
        address = address.update_query_dict({"application_name": process})
    if "connect_timeout" not in address.query:
        address = address.update_query_dict({"connect_timeout": str(CONNECT_S)})
    try:
        from kvscope.app.store.postgresql import PatientConnection

        engine = sa.create_engine(
            address.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_timeout=FREE_S,
            connect_args={"prepare_threshold": None},  # a pooler may give the next statement to another session
        )
    except ImportError:
        raise ArgumentError("PostgreSQL needs one more package: pip install 'kvscope[postgresql]'") from None
    sa.event.listen(
        engine, "do_connect", lambda _dialect, _record, args, named: PatientConnection.connect(*args, **named)
    )
    return engine


def _parsed(url: str) -> sa.URL:
    """Raises StoreError, with nothing of `url` in its message: any part of what cannot be read may be the password."""
    try:
        address = _with_hosts(url)
        # Of a password with an @ in it, what follows the @ passes for the host, and the host is shown.
        if address.drivername in POSTGRESQL and "@" not in f"{address.host}{address.database}":
            return address
    except (ArgumentError, ValueError):
        pass
    must = f"must have the form {DATABASE_URL_FORM}, with %40 for an @ in the password"
    raise StoreError(f"The database's address, from --database or DATABASE_URL, {must}.")


def _with_hosts(url: str) -> sa.URL:
    """The address; several hosts, with which SQLAlchemy cannot read it, stand in its query as it takes them. Of those
    the one is used that can be written to, unless the address says otherwise. Raises ValueError, ArgumentError.
    """
    several = SEVERAL_HOSTS.fullmatch(url)
    if several is None:
        return sa.make_url(url)
    found = [HOST.fullmatch(each) for each in several["hosts"].split(",")]
    after = several["after"] if several["after"].startswith("/") else f"/{several['after']}"
    address = sa.make_url(f"{several['before']}{after}")
    hosts, ports = zip(*((unquote(each[1].strip("[]")), each[2] or str(PORT)) for each in found if each), strict=True)
    if len(hosts) != len(found):
        raise ValueError("a host is empty or has no port where one is expected")
    given = {"target_session_attrs": "read-write", **address.query}
    return address.set(query={**given, "host": ",".join(hosts), "port": ",".join(ports)})


class _Deleted(OSError):
    """The database's file is not the one that was opened."""


def _notice_deletion(engine: sa.Engine, file: Path) -> None:
    """Refuse each use of the engine once its file was deleted or replaced: SQLite would go on with the old file, which
    has no name any more, and lose all of it at the end.
    """
    used: list[tuple[int, int]] = []

    def check(*_: Any) -> None:
        with suppress(FileNotFoundError):
            status = file.stat()
            found = status.st_dev, status.st_ino
            used[:] = used or [found]
            if found in used:
                return
        raise sa.exc.DBAPIError("", None, _Deleted(f"{file} was deleted or replaced; restart the server"))

    sa.event.listen(engine, "do_connect", check)
    sa.event.listen(engine, "checkout", check)


def is_key(text: str) -> bool:
    """Whether a row can have this as its key at all: an id has no characters that a database may refuse."""
    return text.isascii() and text.isprintable()


def _shown(address: sa.URL) -> str:
    """What to call a database in a message: a password may also be among what follows the `?`."""
    hosts = address.query.get("host", "")
    several = hosts if isinstance(hosts, str) and "," in hosts else None
    return address.set(query={}, host=several).render_as_string(hide_password=True)


def _set_pragmas(connection: sqlite3.Connection, _record: Any) -> None:
    """WAL lets readers and the writer work at once.

    NORMAL keeps every commit through a kill -9, and a power cut costs at most the last ones, never the database: the
    log's file is synced when it is copied into the database, not with every commit. What must not be lost that way is
    committed by `writing(…, lasting=True)`.
    """
    connection.execute(f"PRAGMA busy_timeout={BUSY_S * 1000:.0f}")
    connection.execute("PRAGMA synchronous=NORMAL")
    if connection.execute("PRAGMA page_count").fetchone() == (0,):  # to others this would write, each time
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
    # Some builds fill what is deleted with zeros: that needs as much room again, on a disk that may be full.
    connection.execute("PRAGMA secure_delete=FAST")
    # SQLite does not wait in this one if another connection is about to write, only if it is writing.
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _bring_up_to_date(engine: sa.Engine) -> None:
    """Make the schema in an empty database, or run the migrations that one lacks: all or none. Raises StoreError for a
    database of another KVScope or of something else, and leaves it as it is.
    """
    with engine.connect() as connection:
        if _version(connection) == SCHEMA:
            return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", "kvscope.app.store:migrations")
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # A large database takes its time, and another server may be at it.
            connection.connection.driver_connection.answer_s = math.inf  # type: ignore[union-attr]
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATING)))
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        version, tables = _version(connection), sa.inspect(connection).get_table_names()
        if version is None and tables:
            names = ", ".join(sorted(tables)[:5])
            raise StoreError(
                f"The database has tables ({names}) and no schema version of KVScope, which reads schema {SCHEMA}. "
                f"{WHAT_TO_DO}"
            )
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise StoreError(
                f"The database has schema {version}; this KVScope reads schema {SCHEMA}. {WHAT_TO_DO}"
            ) from None


def _version(connection: sa.Connection) -> str | None:
    """The migration that the database has; None if it has none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
