"""Stores exact values with a saved session: one `values` frame per step and layer (docs/sessions.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.database import metadata, reading
from kvscope.app.store.runs import PAGE
from kvscope.app.store.value_parts import Values

values_table = sa.Table(
    "session_values",
    metadata,
    sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
    sa.Column("layer", sa.Integer, primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)
"""Payloads are not compressed: Zstandard would make level "qkv" only 13 % smaller, level "block" 8 %."""
origins_table = sa.Table(
    "session_origins",
    metadata,
    sa.Column("origin", sa.String, primary_key=True),
    sa.Column("session", sa.ForeignKey("sessions.id"), nullable=False, index=True),
)
"""The session for each run that was shared with values. Values that are computed again may differ in the last bit, but
the same run with the same words must give one session. So its values are computed once."""


def part_name(part: dict[str, Any]) -> str:
    """Returns the name of a part for an error message."""
    return f"values[step {part['step']}, layer {part['layer']}]"


def write(connection: sa.Connection, session: str, values: Values) -> None:
    """Stores `values` with a session."""
    for part, payload in zip(values.parts, values.payloads(), strict=True):
        row = {"session": session, "layer": part["layer"], "step": part["step"], "payload": payload}
        connection.execute(sa.insert(values_table).values(row))


def delete(connection: sa.Connection, session: str) -> None:
    """Deletes the values and origins of a session."""
    connection.execute(sa.delete(values_table).where(values_table.c.session == session))
    connection.execute(sa.delete(origins_table).where(origins_table.c.session == session))


def remember(connection: sa.Connection, origin: str, session: str) -> None:
    """Stores that sharing `origin` gives `session`."""
    connection.execute(sa.delete(origins_table).where(origins_table.c.origin == origin))
    connection.execute(sa.insert(origins_table).values(origin=origin, session=session))


def recall(connection: sa.Connection, origin: str) -> str | None:
    """Returns the session that sharing `origin` gave, None if there is none."""
    session: str | None = connection.scalar(sa.select(origins_table.c.session).where(origins_table.c.origin == origin))
    return session


def read(
    engine: sa.Engine, session: str, parts: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], bytes | None]]:
    """Yields each part with its payload, None if that is missing or differs from the part's hash. Raises StoreError."""
    for at in range(0, len(parts), PAGE):
        page = parts[at : at + PAGE]
        places = [(part["layer"], part["step"]) for part in page]
        query = sa.select(values_table.c.layer, values_table.c.step, values_table.c.payload).where(
            values_table.c.session == session, sa.tuple_(values_table.c.layer, values_table.c.step).in_(places)
        )
        with reading(engine) as connection:
            payloads = {(row.layer, row.step): row.payload for row in connection.execute(query)}
        for part in page:
            payload = payloads.get((part["layer"], part["step"]))
            whole = payload is not None and sha256(payload).hexdigest() == part["sha256"]
            yield part, payload if whole else None
