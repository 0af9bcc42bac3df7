"""Stores queued runs as rows, so that the next process that leads continues the queue of one that ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from kvscope.app.store.database import OF_THE_MOMENT, metadata, reading
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog

queued_table = sa.Table(
    "queued",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run", sa.String, unique=True, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("client", sa.String, nullable=False),
    sa.Column("address", sa.String, nullable=False),
    sa.Column("token_sha256", sa.String, nullable=False),
    sa.Column("study", sa.Boolean, nullable=False),
    info=OF_THE_MOMENT,
)
"""`number` grows with time; other columns as in QueuedRun."""


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A queued run. `request`: JSON of a request of `kind`; `token_sha256`: hash of the token that deletes the run."""

    run: str
    kind: str
    request: str
    client: str
    address: str
    token_sha256: str
    study: bool


class QueuedRuns:
    """The queued runs in the database of `runs`. Every method raises StoreError."""

    def __init__(self, runs: RunLog) -> None:
        self._runs = runs

    def add(self, queued: QueuedRun) -> None:
        """Stores a run at the end of the queue."""
        with self._runs.changing("The run cannot be queued") as connection:
            connection.execute(sa.insert(queued_table), asdict(queued))

    def remove(self, run: str) -> None:
        """Deletes the row of a run that is no longer queued."""
        with self._runs.changing("The queue cannot be stored") as connection:
            connection.execute(sa.delete(queued_table).where(queued_table.c.run == run))

    def left(self) -> list[QueuedRun]:
        """Returns the queued runs of an earlier process, in order, without runs that have begun."""
        columns = [queued_table.c[name] for name in QueuedRun.__slots__]
        begun = sa.select(runs_table.c.run)
        with self._runs.changing("The queue cannot be stored") as connection:
            connection.execute(sa.delete(queued_table).where(queued_table.c.run.in_(begun)))
        with reading(self._runs.engine) as connection:
            rows = connection.execute(sa.select(*columns).order_by(queued_table.c.number)).all()
        return [QueuedRun(*row) for row in rows]
