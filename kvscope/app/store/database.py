"""The database of runs and sessions: an SQLite file in the data folder, or PostgreSQL.

When it is opened, the migrations in app/store/migrations create or update its schema, under a lock. Errors of a
database leave this folder as StoreError: every connection comes from `reading` or `writing`, or is used inside
`failing_as`.
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
"""All tables. The migrations create the same tables; a test compares them."""
OF_THE_MOMENT = {"of_the_moment": True}
"""Mark of a table about the processes that run now: a backup does not contain it."""

SCHEMA = "0006"
"""The newest migration. A database that has it is opened without loading Alembic."""
WHAT_TO_DO = "Use the KVScope that wrote it, or choose an empty database or another folder with --data."
FILE = "runs.sqlite"
POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg")
PORT = 5432
SEVERAL_HOSTS = re.compile(
    r"(?P<before>[a-z+]+://(?:[^/?#@]*@)?)(?P<hosts>[^/?#@]+,[^/?#@]+)(?P<after>(?:[/?].*)?)", re.S
)
"""libpq's address with several hosts: `postgresql://user:password@host:port,host:port/name`."""
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:,]+)(?::(\d{1,5})?)?")
MIGRATING, SERVING, WORKING = 0x6B765363, 0x6B765364, 0x6B765365
"""PostgreSQL's advisory locks: MIGRATING while the schema changes, SERVING while a server runs, WORKING while its web
process runs. When the database restarts, SERVING is lost and WORKING is taken again."""
FREE_S = 5
"""How long to wait for a connection of the pool to PostgreSQL."""
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
"""How long a server that was just killed may take to release its database."""
CONNECT_S = 5
"""How long to wait for a PostgreSQL that does not answer, unless its address has a `connect_timeout`."""


@contextmanager
def failing_as(failure: str, *, in_full: bool = False) -> Iterator[None]:
    """Turns database errors inside the context into StoreError with the message `failure` and the reason.

    `in_full`: only the operator sees the message. Otherwise anyone may, and the log has the full reason.
    """
    try:
        yield
    except SQLAlchemyError as error:
        reason, shown = reason_of(error), reason_of(error) if in_full else _public_reason(error)
        if shown != reason:
            log.error("%s: %s.", failure, reason)
        lost = isinstance(error, DBAPIError) and isinstance(error.orig, _Deleted)
        raise (Lost if lost else StoreError)(f"{failure}: {shown}.") from error


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Opens a connection for reading. Raises StoreError."""
    with failing_as("The database cannot be read"), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: sa.Engine, failure: str, *, lasting: bool = False) -> Iterator[sa.Connection]:
    """Opens a transaction: all of it is stored, or nothing. Raises StoreError, which begins with `failure`.

    `lasting`: a power cut does not undo the transaction once it is stored; with PostgreSQL that is always so.
    """
    with failing_as(failure), engine.connect() as connection, _synced(connection, lasting), connection.begin():
        yield connection


@contextmanager
def _synced(connection: sa.Connection, lasting: bool) -> Iterator[None]:
    """If `lasting` and the database is SQLite, syncs each commit of this connection inside the context."""
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
    """Returns the database at `url`, or the file in `folder`, created if missing; its schema is the newest.

    `process`: the name of the connections in PostgreSQL. Raises StoreError, without the password of `url`.
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
    """Updates the database's schema, and locks the database for this process inside the context: another server would
    close its open runs.

    `together`: share the lock with other processes that pass it too (app.store.cluster.member). (For SQLite, the data
    folder is locked: app.web_server.) Raises StoreError, also if another process has the lock.
    """
    engine = connect(folder, url)
    try:
        if engine.dialect.name == "postgresql":
            check_sessions(engine)
            with reading(engine) as connection:
                session = connection.execution_options(isolation_level="AUTOCOMMIT")
                _wait_for_lock(session, SERVING, shared=together)
                if not together:
                    _wait_for_lock(session, WORKING)
                    session.execute(sa.select(sa.func.pg_advisory_unlock(WORKING)))
                yield
        else:
            yield
    finally:
        engine.dispose()


def check_sessions(engine: sa.Engine) -> None:
    """Raises StoreError if a pooler gives each transaction another PostgreSQL session: then locks and news would go to
    the next user of the session.

    A direct connection knows its session's number; a pooler gives it another number. In that case a setting is stored
    in the session, and looked for during and after transactions of other connections.
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
    """Takes a lock, which lasts as long as this connection. Raises StoreError after TAKE_OVER_S."""
    deadline = time.monotonic() + TAKE_OVER_S
    take = sa.func.pg_try_advisory_lock_shared if shared else sa.func.pg_try_advisory_lock
    while not connection.scalar(sa.select(take(lock))):
        if time.monotonic() > deadline:
            raise StoreError("The database is in use by another KVScope.")
        time.sleep(0.05)


def reason_of(error: Exception) -> str:
    """Returns the cause of an error in a few words, without SQL or parameters."""
    if isinstance(error, DBAPIError):
        return str(error.orig).strip().partition("\n")[0].rstrip(".")
    if isinstance(error, PoolTimeout):
        return "all its connections are in use"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0].rstrip(".")


def _public_reason(error: Exception) -> str:
    """Returns the cause without PostgreSQL's message, which may name addresses, users and files."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return reason_of(error)
    if isinstance(error.orig, _Deleted):
        return "its file was deleted or replaced; restart the server"
    name = type(error.orig).__name__
    return "it does not answer" if name == "OperationalError" else re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def _sqlite(folder: Path) -> sa.Engine:
    if not (folder / FILE).exists():
        (folder / FILE).touch()
    # "rw" creates no file: a deleted file must not come back empty.
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
    """Returns the address. Raises StoreError without any part of `url`: any part may be the password."""
    try:
        address = _with_hosts(url)
        # If the password contains an @, the text after it is read as the host, and the host is shown.
        if address.drivername in POSTGRESQL and "@" not in f"{address.host}{address.database}":
            return address
    except (ArgumentError, ValueError):
        pass
    must = f"must have the form {DATABASE_URL_FORM}, with %40 for an @ in the password"
    raise StoreError(f"The database's address, from --database or DATABASE_URL, {must}.")


def _with_hosts(url: str) -> sa.URL:
    """Returns the address. Several hosts, which SQLAlchemy cannot read in place, are moved to its query. The host that
    takes writes is used, unless the address says otherwise. Raises ValueError, ArgumentError.
    """
    several = SEVERAL_HOSTS.fullmatch(url)
    if several is None:
        return sa.make_url(url)
    matches = [HOST.fullmatch(each) for each in several["hosts"].split(",")]
    after = several["after"] if several["after"].startswith("/") else f"/{several['after']}"
    address = sa.make_url(f"{several['before']}{after}")
    hosts, ports = zip(*((unquote(each[1].strip("[]")), each[2] or str(PORT)) for each in matches if each), strict=True)
    if len(hosts) != len(matches):
        raise ValueError("a host is empty or has no port where one is expected")
    query = {"target_session_attrs": "read-write", **address.query}
    return address.set(query={**query, "host": ",".join(hosts), "port": ",".join(ports)})


class _Deleted(OSError):
    """The database's file is not the file that was opened."""


def _notice_deletion(engine: sa.Engine, file: Path) -> None:
    """Refuses each use of the engine after its file was deleted or replaced: SQLite would continue with the old file,
    which has no name any more, and lose all data at the end.
    """
    used: list[tuple[int, int]] = []

    def check(*_: Any) -> None:
        with suppress(FileNotFoundError):
            status = file.stat()
            identity = status.st_dev, status.st_ino
            used[:] = used or [identity]
            if identity in used:
                return
        raise sa.exc.DBAPIError("", None, _Deleted(f"{file} was deleted or replaced; restart the server"))

    sa.event.listen(engine, "do_connect", check)
    sa.event.listen(engine, "checkout", check)


def is_key(text: str) -> bool:
    """Returns whether `text` can be the key of a row: an id has no characters that a database may refuse."""
    return text.isascii() and text.isprintable()


def _shown(address: sa.URL) -> str:
    """Returns the address for a message, without the password and the query, which may contain a password too."""
    hosts = address.query.get("host", "")
    several = hosts if isinstance(hosts, str) and "," in hosts else None
    return address.set(query={}, host=several).render_as_string(hide_password=True)


def _set_pragmas(connection: sqlite3.Connection, _record: Any) -> None:
    """Sets the options of an SQLite connection. WAL lets readers and the writer work at the same time.

    With synchronous=NORMAL, kill -9 loses no commit, and a power cut at most the last ones, never the database: the log
    file is synced when it is copied into the database, not in every commit. Commits that must survive a power cut use
    `writing(…, lasting=True)`.
    """
    connection.execute(f"PRAGMA busy_timeout={BUSY_S * 1000:.0f}")
    connection.execute("PRAGMA synchronous=NORMAL")
    if connection.execute("PRAGMA page_count").fetchone() == (0,):  # a new file; in others this would write each time
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
    # Some builds overwrite deleted data with zeros: that needs the same room again, on a disk that may be full.
    connection.execute("PRAGMA secure_delete=FAST")
    # For this pragma SQLite does not wait if another connection is about to write, only if it is writing.
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
    """Creates the schema in an empty database, or runs the missing migrations, all or none. Raises StoreError for a
    database of another KVScope or another program, and does not change it.
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
            # A large database takes long, and another server may be migrating it.
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
    """Returns the schema version of the database; None if it has none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
