"""The tables of the first release. Schemas before this one were never released."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = None


def upgrade() -> None:
    """Creates all tables in an empty database."""
    tables = sa.MetaData()

    def now() -> sa.ColumnElement[Any]:
        return sa.func.current_timestamp()

    sa.Table(
        "runs",
        tables,
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("created", sa.DateTime, server_default=now(), nullable=False, index=True),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False, index=True),
        sa.Column("token_sha256", sa.String),
    )
    sa.Table(
        "frames",
        tables,
        sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    sa.Table(
        "steps",
        tables,
        sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("token", sa.Integer, nullable=False),
    )
    sa.Table(
        "links",
        tables,
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.ForeignKey("runs.run"), unique=True, nullable=False),
        sa.Column("origin", sa.String, index=True, nullable=False),
    )
    sa.Table(
        "sessions",
        tables,
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("manifest", sa.LargeBinary),
        sa.Column("manifest_sha256", sa.String),
        sa.Column("run", sa.String, index=True),
        sa.Column("bytes", sa.Integer, server_default="0", nullable=False),
    )
    sa.Table(
        "session_parts",
        tables,
        sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("stored_sha256", sa.String, nullable=False),
    )
    sa.Table(
        "session_tokens",
        tables,
        sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("token_sha256", sa.String, primary_key=True),
    )
    sa.Table(
        "session_values",
        tables,
        sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("layer", sa.Integer, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    sa.Table(
        "session_origins",
        tables,
        sa.Column("origin", sa.String, primary_key=True),
        sa.Column("session", sa.ForeignKey("sessions.id"), nullable=False, index=True),
    )
    sa.Table(
        "queued",
        tables,
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.String, unique=True, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("client", "address", "token_sha256")),
        sa.Column("study", sa.Boolean, nullable=False),
    )
    sa.Table(
        "lead",
        tables,
        sa.Column("only", sa.Integer, primary_key=True),
        sa.Column("epoch", sa.Integer, unique=True, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("process", "address", "secret")),
        sa.Column("beat", sa.Integer, nullable=False),
        sa.Column("since", sa.DateTime, server_default=now(), nullable=False),
    )
    sa.Table(
        "followers",
        tables,
        sa.Column("process", sa.String, primary_key=True),
        sa.Column("viewers", sa.Integer, nullable=False),
        sa.Column("watched", sa.Text, nullable=False),
        sa.Column("seen", sa.DateTime, server_default=now(), nullable=False),
    )
    tables.create_all(op.get_bind(), checkfirst=False)
