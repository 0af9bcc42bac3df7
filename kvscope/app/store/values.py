"""Exact values that are stored with a saved session: one `values` frame per step and layer (docs/sessions.md)."""

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
"""As they are: Zstandard would make numbers of level "qkv" smaller by 13 %, of level "block" by 8 %."""
origins_table = sa.Table(
    "session_origins",
    metadata,
    sa.Column("origin", sa.String, primary_key=True),
    sa.Column("session", sa.ForeignKey("sessions.id"), nullable=False, index=True),
)
"""Which session was made when a run was shared with values. Computed again they may differ in the last bit, and the
same run with the same words is to be one session, so its values are computed once."""


def part_name(part: dict[str, Any]) -> str:
    """What a damaged part is called."""
    return f"values[step {part['step']}, layer {part['layer']}]"


def write(connection: sa.Connection, session: str, values: Values) -> None:
    """Store all of `values` with a session."""
    for part, payload in zip(values.parts, values.payloads(), strict=True):
        row = {"session": session, "layer": part["layer"], "step": part["step"], "payload": payload}
        connection.execute(sa.insert(values_table).values(row))


def delete(connection: sa.Connection, session: str) -> None:
    """Drop what is stored with a session."""
    connection.execute(sa.delete(values_table).where(values_table.c.session == session))
    connection.execute(sa.delete(origins_table).where(origins_table.c.session == session))


def remember(connection: sa.Connection, origin: str, session: str) -> None:
    """Note that sharing `origin` gives `session`."""
    connection.execute(sa.delete(origins_table).where(origins_table.c.origin == origin))
    connection.execute(sa.insert(origins_table).values(origin=origin, session=session))


def recall(connection: sa.Connection, origin: str) -> str | None:
    """The session that sharing `origin` gave."""
    found: str | None = connection.scalar(sa.select(origins_table.c.session).where(origins_table.c.origin == origin))
    return found


def read(
    engine: sa.Engine, session: str, parts: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], bytes | None]]:
    """Each part with its payload, None where it is missing or not what `parts` says. Raises StoreError."""
    for at in range(0, len(parts), PAGE):
        page = parts[at : at + PAGE]
        places = [(part["layer"], part["step"]) for part in page]
        query = sa.select(values_table.c.layer, values_table.c.step, values_table.c.payload).where(
            values_table.c.session == session, sa.tuple_(values_table.c.layer, values_table.c.step).in_(places)
        )
        with reading(engine) as connection:
            found = {(row.layer, row.step): row.payload for row in connection.execute(query)}
        for part in page:
            payload = found.get((part["layer"], part["step"]))
            whole = payload is not None and sha256(payload).hexdigest() == part["sha256"]
            yield part, payload if whole else None
