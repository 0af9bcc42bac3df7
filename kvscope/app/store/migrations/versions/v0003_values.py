"""Exact values can be stored with a session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Tables for them, and for which session sharing a run with them gave."""
    op.create_table(
        "session_values",
        sa.Column("session", sa.String, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("layer", sa.Integer, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "session_origins",
        sa.Column("origin", sa.String, primary_key=True),
        sa.Column("session", sa.String, sa.ForeignKey("sessions.id"), nullable=False, index=True),
    )
