"""A PostgreSQL of the tests' own, and the databases that store tests run on."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

NUMBERS = count()
OWNER = "postgres"


def server_programs() -> Path | None:
    """The folder of PostgreSQL's server programs; Debian does not put it on PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def as_owner() -> list[str]:
    """How to start a program that refuses to run as root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", "--"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The URL of a server that lasts as long as the tests; `{}` stands for the name of a database."""
    programs = server_programs()
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    # Not in pytest's own folder, which only its user may enter.
    folder = Path(tempfile.mkdtemp(prefix="kvscope-postgres-"))
    if os.getuid() == 0:
        owner = pwd.getpwnam(OWNER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data, command = folder / "data", as_owner()
    made = [*command, str(programs / "initdb"), "-D", str(data), "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True, timeout=120, cwd=folder)
    options = ["-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, str(programs / "postgres"), "-D", str(data), *options], stdout=log, stderr=log, cwd=folder
        )
    try:
        url = f"postgresql://{OWNER}@/{{}}?host={folder}"
        _wait_for(url.format("postgres"), server)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            return run_sql(url, "SELECT 1")
        except OperationalError:
            assert server.poll() is None, "PostgreSQL did not start"
            assert time.monotonic() < deadline
            time.sleep(0.1)


def run_sql(url: str, statement: str) -> None:
    """Run one statement on a database, outside of any transaction."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


@contextmanager
def made_database(cluster: str) -> Iterator[str]:
    """The URL of a database that is empty, and gone afterwards."""
    name = f"kvscope_{next(NUMBERS)}"
    run_sql(cluster.format("postgres"), f"CREATE DATABASE {name}")
    yield cluster.format(name)
    run_sql(cluster.format("postgres"), f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgresql(cluster: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with made_database(cluster) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Both kinds of database, one after the other: a URL, or None for the file in the data folder."""
    return request.getfixturevalue("postgresql") if request.param == "postgresql" else None
