"""A PostgreSQL of the tests' own, and the databases that store tests run on."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psutil
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


class Cluster:
    """A PostgreSQL server in a folder of its own. `url`: `{}` stands for the name of a database."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{OWNER}@/{{}}?host={folder}"
        if os.getuid() == 0:
            owner = pwd.getpwnam(OWNER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        made = self._command("initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync")
        subprocess.run(made, check=True, capture_output=True, timeout=120, cwd=folder)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ["-k", str(self._folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        with (self._folder / "log").open("a") as log:
            self._server = subprocess.Popen(
                self._command("postgres", *options), stdout=log, stderr=log, cwd=self._folder
            )
        _wait_for(self.url.format("postgres"), self._server)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While this lasts, no process of the server does anything, and nobody hears of it."""
        # Sessions are processes of their own. The leader alone would still be answered for by the kernel.
        processes = [psutil.Process(self._server.pid), *psutil.Process(self._server.pid).children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in reversed(processes):
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def stop(self) -> None:
        """End the server, and every connection to it."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(120)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            self._server = None

    def kill(self) -> None:
        """kill -9 of the server and of all its sessions."""
        main = psutil.Process(self._server.pid)
        for process in [main, *main.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._server.wait(120)
        self._server = None

    def _command(self, program: str, *options: str) -> list[str]:
        return [*as_owner(), str(self._programs / program), "-D", str(self._folder / "data"), *options]


@contextmanager
def started_cluster() -> Iterator[Cluster]:
    """A server while this lasts. Skips the test where PostgreSQL is not installed."""
    programs = server_programs()
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    # Not in pytest's own folder, which only its user may enter.
    folder = Path(tempfile.mkdtemp(prefix="kvscope-postgres-"))
    try:
        cluster = Cluster(programs, folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The URL of a server that lasts as long as the tests; `{}` stands for the name of a database."""
    with started_cluster() as made:
        yield made.url


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
