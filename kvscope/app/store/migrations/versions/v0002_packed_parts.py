"""A session's parts are compressed, and it is known of which run a session is."""

from __future__ import annotations

import json
from hashlib import sha256

import sqlalchemy as sa
from alembic import op

from kvscope.app.store.packing import pack

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Compress what is stored. What a damaged part was is not known any more, so it is left to be found as it is."""
    op.add_column("sessions", sa.Column("run", sa.String))
    op.create_index("ix_sessions_run", "sessions", ["run"])
    op.add_column("session_parts", sa.Column("stored_sha256", sa.String))
    sessions = sa.table("sessions", *map(sa.column, ("id", "manifest", "run")))
    parts = sa.table("session_parts", *map(sa.column, ("session", "seq", "payload", "stored_sha256")))
    bind = op.get_bind()
    for session, manifest in bind.execute(sa.select(sessions.c.id, sessions.c.manifest)).all():
        try:
            run = json.loads(manifest)["run"] if manifest else None
        except (ValueError, KeyError, TypeError):
            run = None
        bind.execute(sessions.update().where(sessions.c.id == session).values(run=run))
    for session, seq in bind.execute(sa.select(parts.c.session, parts.c.seq)).all():
        this = sa.and_(parts.c.session == session, parts.c.seq == seq)
        packed = pack(bind.execute(sa.select(parts.c.payload).where(this)).scalar_one())
        bind.execute(parts.update().where(this).values(payload=packed, stored_sha256=sha256(packed).hexdigest()))
    with op.batch_alter_table("session_parts") as batch:
        batch.alter_column("stored_sha256", existing_type=sa.String, nullable=False)
