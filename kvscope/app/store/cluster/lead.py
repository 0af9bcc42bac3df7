"""Stores which of several web processes on one PostgreSQL leads, and when processes last showed that they run.

The row of `lead` is about the process that leads, or led last. Its `epoch` grows by one each time another process
begins to lead. A leader's transactions lock the row's key until they end, so a change of `epoch`, which needs that key,
waits for them. Later transactions of the former leader see another epoch and store nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from kvscope.app.store.database import OF_THE_MOMENT, metadata
from kvscope.app.store.errors import Fenced

SECRET_BYTES = 32
GONE_S = 10.0
"""A follower that has not written its row for this time counts as ended."""

lead_table = sa.Table(
    "lead",
    metadata,
    sa.Column("only", sa.Integer, primary_key=True),
    sa.Column("epoch", sa.Integer, unique=True, nullable=False),
    sa.Column("process", sa.String, nullable=False),
    sa.Column("address", sa.String, nullable=False),
    sa.Column("secret", sa.String, nullable=False),
    sa.Column("beat", sa.Integer, nullable=False),
    sa.Column("since", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
    info=OF_THE_MOMENT,
)
"""At most one row. `process`: the application_name of the leader's connections; `address`: where other processes reach
it; `secret`: proves to it that a request comes from one of them; `beat`: grows as long as it lives."""
followers_table = sa.Table(
    "followers",
    metadata,
    sa.Column("process", sa.String, primary_key=True),
    sa.Column("viewers", sa.Integer, nullable=False),
    sa.Column("watched", sa.Text, nullable=False),
    sa.Column("seen", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
    info=OF_THE_MOMENT,
)
"""One row for each process that follows. `watched`: JSON, the runs that its viewers have open."""

_NOW = sa.func.timezone("UTC", sa.func.clock_timestamp())


@dataclass(frozen=True, slots=True)
class Lead:
    """The row of `lead`."""

    epoch: int
    process: str
    address: str
    secret: str
    beat: int


def current(connection: sa.Connection) -> Lead | None:
    """Returns the process that leads, or led last; None if none ever did."""
    row = connection.execute(sa.select(*(lead_table.c[name] for name in Lead.__slots__))).first()
    return Lead(*row) if row is not None else None


def take(connection: sa.Connection, process: str, address: str) -> Lead:
    """Begins to lead, with the next epoch. The caller must have the advisory lock."""
    mine = {"process": process, "address": address, "secret": secrets.token_urlsafe(SECRET_BYTES), "beat": 0}
    row = postgresql.insert(lead_table).values(only=1, epoch=1, since=_NOW, **mine)
    changes = {"epoch": lead_table.c.epoch + 1, "since": _NOW, **mine}
    taking = row.on_conflict_do_update(index_elements=[lead_table.c.only], set_=changes).returning(lead_table.c.epoch)
    return Lead(epoch=connection.execute(taking).scalar_one(), **mine)  # type: ignore[arg-type]  # one dict, two types


def beat(connection: sa.Connection, epoch: int) -> bool:
    """Shows that the leader lives. Returns whether it still leads."""
    beaten = sa.update(lead_table).where(lead_table.c.epoch == epoch).values(beat=lead_table.c.beat + 1)
    return connection.execute(beaten).rowcount == 1


def claim(connection: sa.Connection, epoch: int) -> None:
    """Lets this transaction be stored only if the leader of this epoch leads until its end. Raises Fenced."""
    mine = sa.select(lead_table.c.epoch).where(lead_table.c.epoch == epoch).with_for_update(read=True, key_share=True)
    if connection.scalar(mine) is None:
        raise Fenced("Another web process leads now; nothing was stored.")


def end_connections(connection: sa.Connection, process: str, *, of: int | None = None) -> None:
    """Ends the database connections of `process`, except this one. `of`: only the connection with this backend."""
    activity = sa.table("pg_stat_activity", sa.column("pid"), sa.column("application_name"))
    theirs = (activity.c.application_name == process) & (activity.c.pid != sa.func.pg_backend_pid())
    if of is not None:
        theirs &= activity.c.pid == of
    connection.execute(sa.select(sa.func.pg_terminate_backend(activity.c.pid)).where(theirs)).all()


def report_follower(connection: sa.Connection, process: str, viewers: int, watched: Iterable[str]) -> None:
    """Stores how many viewers a process that follows has, and the runs that they have open."""
    row_values = {"viewers": viewers, "watched": json.dumps(sorted(watched)), "seen": _NOW}
    row = postgresql.insert(followers_table).values(process=process, **row_values)
    connection.execute(row.on_conflict_do_update(index_elements=[followers_table.c.process], set_=row_values))


def forget_follower(connection: sa.Connection, process: str) -> None:
    """Deletes the row of a process that does not follow any more."""
    connection.execute(sa.delete(followers_table).where(followers_table.c.process == process))


@dataclass(frozen=True, slots=True)
class Following:
    """The number of viewers of all processes that follow, and the runs that these viewers have open."""

    viewers: int
    watched: frozenset[str]


def following(connection: sa.Connection) -> Following:
    """Returns the last reports of the living followers, and deletes the rows of those that have ended."""
    ended = followers_table.c.seen < _NOW - sa.cast(f"{GONE_S} seconds", sa.Interval)
    connection.execute(sa.delete(followers_table).where(ended))
    rows = connection.execute(sa.select(followers_table.c.viewers, followers_table.c.watched)).all()
    return Following(
        sum(row.viewers for row in rows), frozenset(run for row in rows for run in json.loads(row.watched))
    )
