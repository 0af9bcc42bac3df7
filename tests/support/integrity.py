"""Whether a stored session is still what its name was made of."""

import sqlalchemy as sa

from kvscope.app.store import values
from kvscope.app.store.database import reading
from kvscope.app.store.errors import Damaged
from kvscope.app.store.manifest import canonical, name_of
from kvscope.app.store.sessions import SessionStore, sessions_table


def damage_of(store: SessionStore, session: str) -> list[str]:
    """The parts of a stored session that are damaged; "id" where its name is not that of the content.

    Raises KeyError for an unknown session, Deleted.
    """
    try:
        manifest = store.manifest(session)
    except Damaged as error:
        return [error.part]
    damaged = []
    for part in manifest["parts"]:
        try:
            list(store._read(session, [part]))
        except Damaged as error:
            damaged.append(error.part)
    about = manifest.get("values")
    for part, payload in values.read(store._engine, session, about["parts"] if about else []):
        damaged += [] if payload is not None else [values.part_name(part)]
    if damaged:
        return damaged
    words = {field: manifest[field] for field in ("title", "notes", "open")}
    name = name_of(canonical(words), store._read(session, manifest["parts"]), about)
    with reading(store._engine) as connection:
        stored = connection.scalar(sa.select(sessions_table.c.name).where(sessions_table.c.id == session))
    return [] if stored == name and name.startswith(session) and manifest["id"] == session else ["id"]
