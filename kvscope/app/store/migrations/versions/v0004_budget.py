"""A run can be deleted by whoever started it, and it is known how many bytes a session takes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Columns for both; what earlier sessions take is counted."""
    op.add_column("runs", sa.Column("token_sha256", sa.String))
    op.create_index("ix_runs_created", "runs", ["created"])
    op.add_column("sessions", sa.Column("bytes", sa.Integer, server_default="0", nullable=False))
    sessions = sa.table("sessions", *map(sa.column, ("id", "bytes")))
    for name in ("session_parts", "session_values"):
        table = sa.table(name, *map(sa.column, ("session", "payload")))
        length = sa.func.coalesce(sa.func.sum(sa.func.length(table.c.payload)), 0)
        mine = sa.select(length).where(table.c.session == sessions.c.id).scalar_subquery()
        op.execute(sessions.update().values(bytes=sessions.c.bytes + mine))
