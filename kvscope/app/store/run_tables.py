"""The tables of runs, and the functions that write to them inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from kvscope.app.store.database import metadata
from kvscope.app.store.head import Head
from kvscope.model.api import Frame
from kvscope.model.log import frames as codec

runs_table = sa.Table(
    "runs",
    metadata,
    sa.Column("run", sa.String, primary_key=True),
    sa.Column("created", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False, index=True),
    sa.Column("last_seq", sa.Integer, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False, index=True),
    sa.Column("token_sha256", sa.String),
)
"""`token_sha256`: hash of the token that deletes the run. Who started the run has the token; it is not stored."""
frames_table = sa.Table(
    "frames",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)
steps_table = sa.Table(
    "steps",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("token", sa.Integer, nullable=False),
)
links_table = sa.Table(
    "links",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("runs.run"), unique=True, nullable=False),
    sa.Column("origin", sa.String, index=True, nullable=False),
)
"""Runs that came from another run: its branches and studies. `number` grows with time."""


def steps_of(run: sa.ColumnElement[str] | str) -> sa.ScalarSelect[int]:
    """Returns a query for the number of complete steps of a run."""
    return sa.select(sa.func.count()).select_from(steps_table).where(steps_table.c.run == run).scalar_subquery()


def stored_head(connection: sa.Connection, run: str) -> Head | None:
    """Returns where the stored log ends; None for an unknown run."""
    query = sa.select(runs_table.c.last_seq, steps_of(run), runs_table.c.bytes, runs_table.c.closed)
    row = connection.execute(query.where(runs_table.c.run == run)).first()
    return Head(*row) if row is not None else None


def write(connection: sa.Connection, frames: Sequence[Frame]) -> None:
    """Inserts frames, in order per run, and updates each run's row, steps and link."""
    for run in dict.fromkeys(frame.run for frame in frames):
        _write_run(connection, run, [frame for frame in frames if frame.run == run])


def write_close(connection: sa.Connection, close: Frame, head: Head) -> None:
    """Ends a stored run with its `close` frame, after which its log ends at `head`.

    It may be called again with the same result. A transaction with an unknown outcome may have stored unannounced
    frames at the close frame's seq and after it; they are deleted.
    """
    mine = runs_table.c.run == close.run
    row = {"last_seq": head.last_seq, "bytes": head.bytes, "closed": True}
    if not connection.execute(sa.update(runs_table).where(mine).values(row)).rowcount:
        return
    for table in (steps_table, frames_table):
        connection.execute(sa.delete(table).where(table.c.run == close.run, table.c.seq >= close.seq))
    connection.execute(sa.insert(frames_table).values(run=close.run, seq=close.seq, payload=close.payload))


def delete(connection: sa.Connection, runs: Sequence[str]) -> None:
    """Deletes all rows of these runs."""
    for table in (links_table, steps_table, frames_table, runs_table):
        connection.execute(sa.delete(table).where(table.c.run.in_(runs)))


def _write_run(connection: sa.Connection, run: str, frames: Sequence[Frame]) -> None:
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = upsert(runs_table).values(
        run=run,
        created=datetime.now(UTC).replace(tzinfo=None),
        last_seq=frames[-1].seq,
        bytes=sum(len(frame.payload) for frame in frames),
        closed=frames[-1].kind == "close",
    )
    changes = {
        "last_seq": row.excluded.last_seq,
        "bytes": runs_table.c.bytes + row.excluded.bytes,
        "closed": row.excluded.closed,
    }
    connection.execute(row.on_conflict_do_update(index_elements=[runs_table.c.run], set_=changes))
    connection.execute(
        sa.insert(frames_table), [{"run": run, "seq": frame.seq, "payload": frame.payload} for frame in frames]
    )
    steps = [
        {"run": run, "step": frame.step, "seq": frame.seq, "token": codec.header(frame.payload).data["token"]["id"]}
        for frame in frames
        if frame.kind == "step"
    ]
    if steps:
        connection.execute(sa.insert(steps_table), steps)
    if frames[0].kind == "open" and (origin := _origin(codec.header(frames[0].payload).data)) is not None:
        connection.execute(sa.insert(links_table), {"run": run, "origin": origin})


def _origin(opening: dict[str, Any]) -> str | None:
    """Returns the run that this run came from, from its `open` data; None for a new run."""
    parent, about = opening.get("parent"), opening.get("study") or opening.get("changed")
    return parent["run"] if parent else about.get("of") if about else None
