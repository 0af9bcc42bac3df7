"""Rooms: what a presenter shows, and what followers answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Creates the tables of rooms."""
    op.create_table(
        "rooms",
        sa.Column("code", sa.String, primary_key=True),
        sa.Column("secret_sha256", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False, index=True),
        sa.Column("used", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "room_answers",
        sa.Column("room", sa.String, sa.ForeignKey("rooms.code"), primary_key=True),
        sa.Column("question", sa.Integer, primary_key=True),
        sa.Column("voter", sa.String, primary_key=True),
        sa.Column("answer", sa.String, nullable=False),
    )
    op.create_table(
        "room_followers",
        sa.Column("room", sa.String, sa.ForeignKey("rooms.code"), primary_key=True),
        sa.Column("process", sa.String, primary_key=True),
        sa.Column("followers", sa.Integer, nullable=False),
        sa.Column("reported", sa.BigInteger, nullable=False),
    )
