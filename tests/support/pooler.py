"""A PgBouncer of the tests' own, before the tests' PostgreSQL."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.postgres import OWNER, as_owner
from tests.support.waiting import eventually

PORT = 6432


@contextmanager
def pooled(url: str, folder: Path, mode: str, *options: str) -> Iterator[str]:
    """The address of a pooler in this mode before the database at `url`, whose socket's folder this is. Skips the test
    where PgBouncer is not installed.
    """
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed (Debian: apt install pgbouncer)")
    address = sa.make_url(url)
    folder.chmod(0o755)
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam(OWNER).pw_uid, -1)
    settings = [
        "[databases]",
        f"* = host={address.query['host']} user={OWNER}",
        "[pgbouncer]",
        f"pool_mode = {mode}",
        f"unix_socket_dir = {folder}",
        f"listen_port = {PORT}",
        "auth_type = any",
        "ignore_startup_parameters = extra_float_digits",
        *options,
    ]
    (folder / "pgbouncer.ini").write_text("\n".join(settings))
    server = subprocess.Popen(
        [*as_owner(), program, str(folder / "pgbouncer.ini")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually(lambda: (folder / f".s.PGSQL.{PORT}").exists())
        yield f"postgresql://{OWNER}@:{PORT}/{address.database}?host={folder}"
    finally:
        server.terminate()
        server.wait(10)
