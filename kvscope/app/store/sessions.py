"""Saved sessions: immutable copies of ended runs, each with a name computed from its content (docs/sessions.md).

They are in separate tables of the run log's database, and never expire. A session is stored in one transaction, so that
it is whole or absent, and every part is checked against its SHA-256 when it is read.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from threading import RLock
from typing import Any

import sqlalchemy as sa

from kvscope.app.store import values as session_values
from kvscope.app.store.database import is_key, metadata, reading
from kvscope.app.store.errors import Damaged, Deleted
from kvscope.app.store.head import Head
from kvscope.app.store.manifest import (
    SHORTEST_ID,
    Part,
    canonical,
    described_session,
    label_of,
    name_of,
    packing,
    unlinked,
)
from kvscope.app.store.packing import NotPacked, unpack
from kvscope.app.store.runs import PAGE, RunLog, hash_of
from kvscope.app.store.spare import with_spare
from kvscope.app.store.value_parts import Values
from kvscope.model.api import ValueLevel
from kvscope.model.log import frames as codec

CACHED_SESSIONS = 16
"""Sessions whose `open` data and chosen tokens stay in memory: every question about a session needs both."""
ID_STEP = 2

sessions_table = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("manifest", sa.LargeBinary),
    sa.Column("manifest_sha256", sa.String),
    sa.Column("run", sa.String, index=True),
    sa.Column("bytes", sa.Integer, server_default="0", nullable=False),
)
"""`name` begins with `id`; `run` is from the manifest; `bytes` is the stored size of parts and values. A deleted
session has no manifest; its row stays, so that no other session gets its id."""
parts_table = sa.Table(
    "session_parts",
    metadata,
    sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("stored_sha256", sa.String, nullable=False),
)
"""`payload` is the compressed frame, `stored_sha256` its hash, because a decompressor ignores some bits."""
tokens_table = sa.Table(
    "session_tokens",
    metadata,
    sa.Column("session", sa.ForeignKey("sessions.id"), primary_key=True),
    sa.Column("token_sha256", sa.String, primary_key=True),
)
"""One row for each time the session was shared and not withdrawn."""


class SessionStore:
    """All saved sessions, in the database of `runs`. Every method raises StoreError if that cannot be used."""

    def __init__(self, runs: RunLog) -> None:
        self._runs, self._engine = runs, runs.engine
        self._lock = RLock()
        self._opening = lru_cache(CACHED_SESSIONS)(self._read_opening)
        self._chosen = lru_cache(CACHED_SESSIONS)(self._read_chosen)

    def share(
        self, run: str, words: dict[str, Any], values: Values | None = None, origin: str | None = None
    ) -> tuple[str, str]:
        """Saves an ended run with `words` (`title`, `notes`, `open`). Returns the session's id, and a token that
        withdraws this sharing. The session has the run's frames, with a label in place of its id (see `label_of`).
        `values` and `origin` as in `keep`.
        """
        with self._runs.held(run):
            return self.keep(words, self._unlinked(run), values, origin)

    def origin_of(self, run: str, words: dict[str, Any], level: ValueLevel) -> str:
        """Returns a key for a run shared with these words and its values at this level."""
        return name_of(canonical({**words, "values": level}), self._unlinked(run)())

    def share_again(self, origin: str) -> tuple[str, str] | None:
        """Returns the session that was saved for `origin` and a token of this sharing; None if there is none."""
        with self._changing("stored") as connection:
            session = session_values.recall(connection, origin)
            return None if session is None else (session, _new_token(connection, session))

    def keep(
        self,
        words: dict[str, Any],
        frames: Callable[[], Iterator[bytes]],
        values: Values | None = None,
        origin: str | None = None,
    ) -> tuple[str, str]:
        """Saves a log unchanged, with `words`. Returns the session's id, and a token that withdraws this sharing.

        `frames` returns the payloads of the whole log of one run, `open` to `close`, the same in each call; `values`
        are the exact values of its steps. The same content gives the same session. `origin`: as from `origin_of`, so
        that sharing it again need not compute its values. Raises StoreError, with nothing stored, if the disk is full.
        """
        with self._lock:  # one at a time: a long run takes memory until it is written
            packed: list[Part] = []
            name = name_of(canonical(words), packing(frames(), packed), values.about if values else None)
            with self._changing("stored") as connection:
                session, stored = _place(connection, name)
                if not stored:
                    parts = [part.described for part in packed]
                    _write(connection, name, described_session(session, words, next(frames()), parts, values), packed)
                    if values is not None:
                        session_values.write(connection, session, values)
                if origin is not None:
                    session_values.remember(connection, origin, session)
                return session, _new_token(connection, session)

    def add_values(self, session: str, values: Values) -> None:
        """Stores exact values with a session that has none; its id stays the same.

        Raises KeyError for an unknown session, Deleted, Damaged, StoreError.
        """
        manifest = {**self.manifest(session), "values": values.about}
        size = sessions_table.c.bytes + values.about["bytes"]
        of_session = sa.update(sessions_table).where(sessions_table.c.id == session)
        with self._changing("stored") as connection:
            connection.execute(of_session.values(**_stored(manifest), bytes=size))
            session_values.write(connection, session, values)

    def of_run(self, run: str) -> bool:
        """Returns whether there is a session of the run. (Sessions older than labels have the run's own id.)"""
        query = sa.select(sessions_table.c.id).where(sessions_table.c.run.in_([run, label_of(run)])).limit(1)
        with reading(self._engine) as connection:
            return connection.scalar(query) is not None

    def withdraw(self, session: str, token: str) -> bool:
        """Undoes the sharing that returned `token`, and deletes the session if it was the last. False for any other.

        Raises KeyError for an unknown session, Deleted, StoreError.
        """
        return with_spare(self._runs.folder, lambda: self._withdraw(session, token))

    def _withdraw(self, session: str, token: str) -> bool:
        with self._changing("deleted") as connection:
            _stored_manifest(connection, session)
            hashes = sa.select(tokens_table.c.token_sha256).where(tokens_table.c.session == session)
            known = list(connection.scalars(hashes))
            # Every hash is compared, so that the time taken shows nothing about the token.
            matches = [each for each in known if hmac.compare_digest(each, hash_of(token))]
            if not matches:
                return False
            mine = tokens_table.c.session == session, tokens_table.c.token_sha256 == matches[0]
            connection.execute(sa.delete(tokens_table).where(*mine))
            if len(known) == 1:
                _empty(connection, session)
            return True

    def delete(self, session: str) -> None:
        """Deletes a session, however often it was shared. Raises KeyError for an unknown one, Deleted, StoreError."""
        with_spare(self._runs.folder, lambda: self._delete(session))

    def _delete(self, session: str) -> None:
        with self._changing("deleted") as connection:
            _stored_manifest(connection, session)
            connection.execute(sa.delete(tokens_table).where(tokens_table.c.session == session))
            _empty(connection, session)

    def listed(self) -> list[dict[str, Any]]:
        """Returns a summary of each session, oldest first: {id, created, bytes, steps, title, prompt}. For a damaged
        session only id and bytes are set. Raises StoreError.
        """
        columns = (sessions_table.c.id, sessions_table.c.bytes, sessions_table.c.manifest)
        with reading(self._engine) as connection:
            rows = connection.execute(sa.select(*columns).where(sessions_table.c.manifest.is_not(None))).all()
        return sorted((_summary(*row) for row in rows), key=lambda session: session["created"])

    def totals(self) -> dict[str, int]:
        """Returns the number of sessions and their stored bytes: {sessions, bytes}. Raises StoreError."""
        query = sa.select(
            sa.func.count(sessions_table.c.manifest), sa.func.coalesce(sa.func.sum(sessions_table.c.bytes), 0)
        )
        with reading(self._engine) as connection:
            sessions, size = connection.execute(query).one()
        return {"sessions": sessions, "bytes": int(size)}

    def manifest(self, session: str) -> dict[str, Any]:
        """Returns the manifest (docs/sessions.md). Raises KeyError for an unknown session, Deleted, Damaged."""
        with reading(self._engine) as connection:
            stored, digest = _stored_manifest(connection, session)
        if sha256(stored).hexdigest() != digest:
            raise Damaged(session, "manifest")
        manifest: dict[str, Any] = json.loads(stored)
        return manifest

    def head(self, session: str) -> Head | None:
        """Returns where the session's log ends; None for an unknown session. Raises Deleted, Damaged."""
        try:
            manifest = self.manifest(session)
        except KeyError:
            return None
        return Head(len(manifest["parts"]) - 1, manifest["steps"], manifest["bytes"], closed=True)

    def all_frames(self, session: str, after: int = -1, last: int | None = None) -> Iterator[bytes]:
        """Yields payloads of the frames after seq `after`, up to and including seq `last`.

        Raises KeyError, Deleted, and Damaged at the first damaged part, after yielding the parts before it.
        """
        parts = self.manifest(session)["parts"]
        return self._read(session, parts[after + 1 : None if last is None else last + 1])

    def opening(self, session: str) -> dict[str, Any]:
        """Returns the data of the `open` frame. Raises KeyError for an unknown session, Deleted, Damaged."""
        self.manifest(session)  # the session may have been deleted since its data was cached
        return self._opening(session)

    def _read_opening(self, session: str) -> dict[str, Any]:
        return codec.header(next(self.all_frames(session, last=0))).data

    def steps(self, session: str) -> list[codec.Header]:
        """Returns the headers of the `step` frames. Raises KeyError for an unknown session, Deleted, Damaged."""
        steps = [part for part in self.manifest(session)["parts"] if part["kind"] == "step"]
        return [codec.header(payload) for payload in self._read(session, steps)]

    def chosen(self, session: str) -> list[tuple[int, int]]:
        """Returns for each step the seq of its frame and the id of its token. Raises KeyError, Deleted, Damaged."""
        self.manifest(session)
        return self._chosen(session)

    def _read_chosen(self, session: str) -> list[tuple[int, int]]:
        return [(header.seq, header.data["token"]["id"]) for header in self.steps(session)]

    def values(self, session: str, *, layer: int, step: int | None = None) -> Iterator[bytes]:
        """Yields payloads of the stored `values` frames of a layer, for every step in order or for `step`.

        Raises KeyError, Deleted, and Damaged at the first damaged frame, after yielding the frames before it.
        """
        stored = self.manifest(session).get("values") or {"parts": []}
        parts = [part for part in stored["parts"] if part["layer"] == layer and step in (None, part["step"])]
        yield from self._read_values(session, parts)

    def all_values(self, session: str) -> Iterator[bytes]:
        """Yields payloads of all stored `values` frames, in the manifest's order.

        Raises KeyError, Deleted, and Damaged at the first damaged frame, after yielding the frames before it.
        """
        stored = self.manifest(session).get("values")
        yield from self._read_values(session, stored["parts"] if stored else [])

    @contextmanager
    def _changing(self, outcome: str) -> Iterator[sa.Connection]:
        """Opens a transaction, one at a time. Raises StoreError, with nothing changed, if it cannot be written."""
        with self._lock, self._runs.changing(f"The session cannot be {outcome}", lasting=True) as connection:
            yield connection

    def _unlinked(self, run: str) -> Callable[[], Iterator[bytes]]:
        return lambda: map(unlinked, self._runs.all_frames(run))

    def _read_values(self, session: str, parts: Sequence[dict[str, Any]]) -> Iterator[bytes]:
        for part, payload in session_values.read(self._engine, session, parts):
            if payload is None:
                self.manifest(session)  # raises Deleted if the session was deleted meanwhile
                raise Damaged(session, session_values.part_name(part))
            yield payload

    def _read(self, session: str, parts: Sequence[dict[str, Any]]) -> Iterator[bytes]:
        for at in range(0, len(parts), PAGE):
            page = parts[at : at + PAGE]
            query = sa.select(parts_table.c.seq, parts_table.c.payload, parts_table.c.stored_sha256).where(
                parts_table.c.session == session, parts_table.c.seq.in_([part["seq"] for part in page])
            )
            with reading(self._engine) as connection:
                rows = {row.seq: (row.payload, row.stored_sha256) for row in connection.execute(query)}
            for part in page:
                payload = _unpacked(part, *rows.get(part["seq"], (b"", "")))
                if payload is None:
                    self.manifest(session)  # raises Deleted if the session was deleted meanwhile
                    raise Damaged(session, f"parts[{part['seq']}]")
                yield payload


def _unpacked(described: dict[str, Any], packed: bytes, stored_sha256: str) -> bytes | None:
    """Returns the stored frame, None if it differs from what was saved."""
    if sha256(packed).hexdigest() != stored_sha256:
        return None
    try:
        payload = unpack(packed, described["bytes"])
    except NotPacked:
        return None
    return payload if sha256(payload).hexdigest() == described["sha256"] else None


def _stored(manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns a manifest's columns: its text, and the hash with which damage is noticed."""
    text = canonical(manifest)
    return {"manifest": text, "manifest_sha256": sha256(text).hexdigest()}


def _write(connection: sa.Connection, name: str, manifest: dict[str, Any], parts: Sequence[Part]) -> None:
    """Inserts a session in place of a deleted one with its id."""
    session = manifest["id"]
    connection.execute(sa.delete(sessions_table).where(sessions_table.c.id == session))
    values = manifest["values"] or {"bytes": 0}
    size = sum(len(part.packed) for part in parts) + values["bytes"]
    row = {"id": session, "name": name, "run": manifest["run"], "bytes": size}
    connection.execute(sa.insert(sessions_table).values(**row, **_stored(manifest)))
    for seq, part in enumerate(parts):
        stored = sha256(part.packed).hexdigest()
        connection.execute(
            sa.insert(parts_table).values(session=session, seq=seq, payload=part.packed, stored_sha256=stored)
        )


def _empty(connection: sa.Connection, session: str) -> None:
    """Deletes the content of a session; its row stays."""
    connection.execute(sa.delete(parts_table).where(parts_table.c.session == session))
    session_values.delete(connection, session)
    emptied = sa.update(sessions_table).where(sessions_table.c.id == session)
    connection.execute(emptied.values(manifest=None, manifest_sha256=None, run=None, bytes=0))


def _summary(session: str, size: int, stored: bytes) -> dict[str, Any]:
    summary = {"id": session, "bytes": size, "created": "", "steps": 0, "title": "", "prompt": ""}
    try:
        manifest = json.loads(stored)
        return summary | {name: manifest[name] for name in ("created", "steps", "title", "prompt")}
    except (ValueError, KeyError, TypeError):
        return summary


def _place(connection: sa.Connection, name: str) -> tuple[str, bool]:
    """Returns the id for content of this name, the shortest that no other content has, and whether it is stored."""
    candidates = [name[:length] for length in range(SHORTEST_ID, len(name) + 1, ID_STEP)]
    taken = sa.select(sessions_table.c.id, sessions_table.c.name, sessions_table.c.manifest.is_not(None))
    rows = connection.execute(taken.where(sessions_table.c.id.in_(candidates))).all()
    for session, other, stored in rows:
        if other == name:
            return session, stored
    others = {row.id for row in rows}
    return next(candidate for candidate in candidates if candidate not in others), False


def _new_token(connection: sa.Connection, session: str) -> str:
    """Returns a new token that undoes one sharing of a session."""
    token = secrets.token_urlsafe(24)
    connection.execute(sa.insert(tokens_table).values(session=session, token_sha256=hash_of(token)))
    return token


def _stored_manifest(connection: sa.Connection, session: str) -> tuple[bytes, str]:
    """Returns the manifest's bytes and their stored SHA-256, unchecked. Raises KeyError, Deleted."""
    columns = sa.select(sessions_table.c.manifest, sessions_table.c.manifest_sha256)
    row = connection.execute(columns.where(sessions_table.c.id == session)).first() if is_key(session) else None
    if row is None:
        raise KeyError(session)
    if row.manifest is None:
        raise Deleted(session)
    return row.manifest, row.manifest_sha256
