"""A database as it was made before there were migrations, or by one of those."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from kvscope.app.store.database import FILE
from kvscope.app.store.sessions import canonical, name_of
from tests.support.stored import WORDS, run_of

# As the tables were made before there were migrations, in the words of SQLite and of PostgreSQL alike.
BEFORE = {
    "runs": "run VARCHAR NOT NULL PRIMARY KEY, created {time} DEFAULT CURRENT_TIMESTAMP NOT NULL, "
    "last_seq INTEGER NOT NULL, bytes INTEGER NOT NULL, closed BOOLEAN NOT NULL",
    "frames": "run VARCHAR NOT NULL REFERENCES runs (run), seq INTEGER NOT NULL, payload {blob} NOT NULL, "
    "PRIMARY KEY (run, seq)",
    "steps": "run VARCHAR NOT NULL REFERENCES runs (run), step INTEGER NOT NULL, seq INTEGER NOT NULL, "
    "token INTEGER NOT NULL, PRIMARY KEY (run, step)",
    "links": "number {serial} NOT NULL PRIMARY KEY, run VARCHAR NOT NULL UNIQUE REFERENCES runs (run), "
    "origin VARCHAR NOT NULL",
    "sessions": "id VARCHAR NOT NULL PRIMARY KEY, name VARCHAR NOT NULL, manifest {blob}, manifest_sha256 VARCHAR",
    "session_parts": "session VARCHAR NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL, "
    "payload {blob} NOT NULL, PRIMARY KEY (session, seq)",
    "session_tokens": "session VARCHAR NOT NULL REFERENCES sessions (id), token_sha256 VARCHAR NOT NULL, "
    "PRIMARY KEY (session, token_sha256)",
}


INDEXES = {
    "runs": "CREATE INDEX ix_runs_closed ON runs (closed)",
    "links": "CREATE INDEX ix_links_origin ON links (origin)",
}


TOKEN = "the token of back then"


def raw(folder: Path, url: str | None) -> sa.Engine:
    """The database with nothing done to it."""
    return sa.create_engine((url or f"sqlite:///{folder / FILE}").replace("postgresql:", "postgresql+psycopg:"))


def make_as_before(engine: sa.Engine, tables: list[str]) -> str:
    """Tables of old with a run, `a`, and, if there are sessions, one of it with its parts as they are; its id."""
    postgresql = {"blob": "BYTEA", "serial": "SERIAL", "time": "TIMESTAMP"}
    sqlite = {"blob": "BLOB", "serial": "INTEGER", "time": "DATETIME"}
    words = postgresql if engine.dialect.name == "postgresql" else sqlite
    frames = [frame.payload for frame in run_of("a", 3)]
    name = name_of(canonical(WORDS), frames)
    parts = [
        {"seq": seq, "kind": kind, "bytes": len(frame), "sha256": sha256(frame).hexdigest()}
        for seq, (frame, kind) in enumerate(zip(frames, ["open", *["layer", "step"] * 3, "close"], strict=True))
    ]
    about = {"run": "a", "prompt": "x", "model": {"name": "fake"}, "steps": 3, "bytes": sum(map(len, frames))}
    manifest = canonical({"id": name[:12], "schema": "1", **WORDS, "created": "", **about, "parts": parts})
    rows = {
        "runs": [{"run": "a", "last_seq": 7, "bytes": sum(map(len, frames)), "closed": True}],
        "frames": [{"run": "a", "seq": seq, "payload": frame} for seq, frame in enumerate(frames)],
        "steps": [{"run": "a", "step": step, "seq": 2 + 2 * step, "token": 100 + step} for step in range(3)],
        "sessions": [
            {"id": name[:12], "name": name, "manifest": manifest, "manifest_sha256": sha256(manifest).hexdigest()},
            {"id": "deletedid234", "name": "deletedid234" + "a" * 40, "manifest": None, "manifest_sha256": None},
        ],
        "session_parts": [{"session": name[:12], "seq": seq, "payload": frame} for seq, frame in enumerate(frames)],
        "session_tokens": [{"session": name[:12], "token_sha256": sha256(TOKEN.encode()).hexdigest()}],
    }
    with engine.begin() as connection:
        for table in tables:
            columns = BEFORE[table].format(**words)
            connection.exec_driver_sql(f"CREATE TABLE {table} ({columns})")
            if table in INDEXES:
                connection.exec_driver_sql(INDEXES[table])
            for row in rows.get(table, []):
                connection.execute(sa.insert(sa.table(table, *map(sa.column, row))).values(row))
    return name[:12]


def migrate(engine: sa.Engine, revision: str) -> None:
    """Bring it to the schema that was the newest when that migration was."""
    config = Config()
    config.set_main_option("script_location", "kvscope.app.store:migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
