"""The tables as they were before there were migrations. A database of that time has some or all of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables that are missing."""
    tables = sa.MetaData()
    runs = "runs.run"
    sa.Table(
        "runs",
        tables,
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("created", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False, index=True),
    )
    sa.Table(
        "frames",
        tables,
        sa.Column("run", sa.ForeignKey(runs), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    sa.Table(
        "steps",
        tables,
        sa.Column("run", sa.ForeignKey(runs), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("token", sa.Integer, nullable=False),
    )
    sa.Table(
        "links",
        tables,
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.ForeignKey(runs), unique=True, nullable=False),
        sa.Column("origin", sa.String, index=True, nullable=False),
    )
    sa.Table(
        "sessions",
        tables,
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("manifest", sa.LargeBinary),
        sa.Column("manifest_sha256", sa.String),
    )
    sa.Table(
        "session_parts",
        tables,
        sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    sa.Table(
        "session_tokens",
        tables,
        sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("token_sha256", sa.String, primary_key=True),
    )
    tables.create_all(op.get_bind())
