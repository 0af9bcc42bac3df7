"""Addresses of databases as people have them: several hosts of which one leads, and poolers."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from kvscope.app.store.database import connect, held, reading
from kvscope.app.store.errors import StoreError
from kvscope.app.store.runs import RunLog
from tests.support.command import command
from tests.support.pooler import pooled
from tests.support.postgres import run_sql
from tests.support.stored import log_of

HOSTS = [
    "{up},{down}",
    "{down},{up}",
    "{down}:1,{up}",
    "{down},{up}:5432",
    "{down},{down}:7,{up}:",
    "[::1]:1,{up}",
    "127.0.0.1:1,localhost:1,{up}",
]
UNREADABLE = [
    "postgresql://postgres:secret@one:x,two/name",
    "postgresql://postgres:secret@one,,two/name",
    "postgresql://postgres:secret@one:1:2,two/name",
    "postgresql://postgres:secret@[::1,two/name",
    "postgresql://postgres:se@cret@one,two/name",
    "mysql://postgres:secret@one,two/name",
]
SHARED = {
    "transaction": [],
    "transactions of one session": ["default_pool_size = 1"],
    "transactions of sessions in turns": ["server_round_robin = 1", "min_pool_size = 4"],
    "transactions, and sessions reset": ["server_reset_query_always = 1"],
    "few transactions": ["default_pool_size = 2", "min_pool_size = 2"],
}


@pytest.fixture(scope="module")
def one_database(cluster: str) -> Iterator[str]:
    """The address of a database that these tests share."""
    run_sql(cluster.format("postgres"), "CREATE DATABASE addresses")
    yield cluster.format("addresses")
    run_sql(cluster.format("postgres"), "DROP DATABASE addresses WITH (FORCE)")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for a socket, whose path may have about 100 characters."""
    with TemporaryDirectory(prefix="kvscope-pooler-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("more", ["", "?target_session_attrs=any", "?application_name=me"])
def test_of_several_hosts_the_one_that_answers_is_used(
    tmp_path: Path, one_database: str, hosts: str, more: str
) -> None:
    address = sa.make_url(one_database)
    places = {"up": quote(str(address.query["host"]), safe=""), "down": quote(str(tmp_path), safe="")}
    engine = connect(tmp_path, f"postgresql://postgres@{hosts.format(**places)}/{address.database}{more}")
    with reading(engine) as connection:
        assert connection.scalar(sa.select(sa.func.current_database())) == "addresses"
    engine.dispose()


def test_several_hosts_that_do_not_answer_are_named_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"postgres:\*\*\*@localhost,127.0.0.1/name cannot be used") as raised:
        connect(tmp_path, "postgresql://postgres:secret@localhost:1,127.0.0.1:2/name")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", UNREADABLE)
def test_several_hosts_that_cannot_be_read_are_refused_without_the_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(StoreError, match="must have the form") as raised:
        connect(tmp_path, url)
    assert "cret" not in str(raised.value)


@pytest.mark.parametrize("options", SHARED.values(), ids=SHARED)
def test_a_pooler_that_shares_out_sessions_by_transaction_is_refused(
    tmp_path: Path, one_database: str, short_folder: Path, options: list[str]
) -> None:
    with (
        pooled(one_database, short_folder, "transaction", *options) as url,
        pytest.raises(StoreError, match="a pooler in transaction mode"),
        held(tmp_path, url),
    ):
        pass


@pytest.mark.parametrize("options", [[], ["server_round_robin = 1", "min_pool_size = 4"], ["server_reset_query = "]])
def test_a_pooler_that_keeps_sessions_holds_a_database_for_one(
    tmp_path: Path, one_database: str, short_folder: Path, options: list[str]
) -> None:
    with pooled(one_database, short_folder, "session", *options) as url, held(tmp_path, url):
        for address in (url, one_database):
            with pytest.raises(StoreError, match="in use by another"), held(tmp_path, address):
                pass


def test_commands_work_behind_a_pooler_of_transactions(tmp_path: Path, one_database: str, short_folder: Path) -> None:
    with pooled(one_database, short_folder, "transaction", "default_pool_size = 2") as url:
        with RunLog(tmp_path, url) as one, RunLog(tmp_path, url) as other:
            for number in range(20):  # a statement is prepared once it was used five times
                for log in (one, other):
                    log.append(log_of(f"{number}-{log is one}", 1))
        listed = command("--data", tmp_path, "--database", url, "runs", "list")
    assert (listed.exit_code, listed.output.count("\n")) == (0, 40), listed.output


def test_no_statement_is_prepared(tmp_path: Path, one_database: str) -> None:
    engine = connect(tmp_path, one_database)
    with reading(engine) as connection:
        for number in range(20):
            connection.execute(sa.select(sa.literal(number)))
        assert connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar() == 0
    engine.dispose()
