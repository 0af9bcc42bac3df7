"""Several web processes on one database: which of them leads, what those that follow say of their viewers, and
what is queued.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Three tables, empty; only servers that share a database use them."""
    op.create_table(
        "queued",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.String, unique=True, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("client", "address", "token_sha256")),
        sa.Column("study", sa.Boolean, nullable=False),
    )
    op.create_table(
        "lead",
        sa.Column("only", sa.Integer, primary_key=True),
        sa.Column("epoch", sa.Integer, unique=True, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("process", "address", "secret")),
        sa.Column("beat", sa.Integer, nullable=False),
        sa.Column("since", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
    )
    op.create_table(
        "followers",
        sa.Column("process", sa.String, primary_key=True),
        sa.Column("viewers", sa.Integer, nullable=False),
        sa.Column("watched", sa.Text, nullable=False),
        sa.Column("seen", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
    )
