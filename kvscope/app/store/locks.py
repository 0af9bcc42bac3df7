"""Connections to PostgreSQL that have an advisory lock."""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError


def discard(connection: sa.Connection) -> None:
    """Closes a connection, which frees its lock. In the pool it would keep the lock."""
    with suppress(SQLAlchemyError):
        connection.invalidate()
    with suppress(SQLAlchemyError):
        connection.close()
