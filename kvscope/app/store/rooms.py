"""Stores rooms: what a presenter shows to the pages that follow, and what the followers answer to a question.

A room ends at a fixed time, and everything of it is deleted then. It has a short code, which followers type, and a
secret, which the presenter has; only the secret's hash is stored.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.database import OF_THE_MOMENT, metadata, reading, writing
from kvscope.app.store.runs import RunLog

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Digits and letters that nobody takes for one another."""
CODE_CHARS = 8
"""31^8 codes: with the most rooms open, a guess finds one of them once in 2 × 10^10 tries."""
CODE = re.compile(f"[{ALPHABET}]{{{CODE_CHARS}}}")
SECRET_BYTES = 24
LIFE_S = 8 * 60 * 60
EMPTY_S = 60 * 60
"""A room that nobody follows or presents for this time ends early."""
SILENT_S = 30
"""The followers of a web process that has not reported for this time do not count."""
MOST_ROOMS = 200
MOST_ANSWERS = 2000
"""Answers to one question of a room; later ones are refused."""

rooms_table = sa.Table(
    "rooms",
    metadata,
    sa.Column("code", sa.String, primary_key=True),
    sa.Column("secret_sha256", sa.String, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False, index=True),
    sa.Column("used", sa.BigInteger, nullable=False),
    info=OF_THE_MOMENT,
)
"""`seq` counts the changes of `state`, which is JSON. `expires`, and when the room was last `used`: in s since 1970."""

room_answers_table = sa.Table(
    "room_answers",
    metadata,
    sa.Column("room", sa.String, sa.ForeignKey("rooms.code"), primary_key=True),
    sa.Column("question", sa.Integer, primary_key=True),
    sa.Column("voter", sa.String, primary_key=True),
    sa.Column("answer", sa.String, nullable=False),
    info=OF_THE_MOMENT,
)
"""`voter`: a random id of one page, so that a changed mind replaces the answer."""

room_followers_table = sa.Table(
    "room_followers",
    metadata,
    sa.Column("room", sa.String, sa.ForeignKey("rooms.code"), primary_key=True),
    sa.Column("process", sa.String, primary_key=True),
    sa.Column("followers", sa.Integer, nullable=False),
    sa.Column("reported", sa.BigInteger, nullable=False),
    info=OF_THE_MOMENT,
)
"""How many follow a room through one web process; `reported`: seconds since 1970."""

Count = Callable[[int], Counter[str]]
"""Returns how often each answer to the question with a number was chosen."""


class RoomsFull(Exception):
    """As many rooms are open as there may be."""


@dataclass(frozen=True, slots=True)
class Room:
    """A room as it is now. `state`: what the presenter shows, and the question if there is one."""

    code: str
    seq: int
    state: dict[str, Any]
    expires: int


class Rooms:
    """The rooms in the database of `runs`. Every method raises StoreError. `now`: seconds since 1970."""

    def __init__(self, runs: RunLog, now: Callable[[], float] = time.time) -> None:
        self._runs, self._now = runs, now

    def create(self, state: dict[str, Any]) -> tuple[Room, str]:
        """Opens a room. Returns it with its secret. Raises RoomsFull."""
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
        secret = secrets.token_urlsafe(SECRET_BYTES)
        now = int(self._now())
        room = Room(code, 0, state, now + LIFE_S)
        with self._runs.changing("The room cannot be opened") as connection:
            self._end_old(connection)
            if (connection.scalar(sa.select(sa.func.count()).select_from(rooms_table)) or 0) >= MOST_ROOMS:
                raise RoomsFull
            connection.execute(
                sa.insert(rooms_table),
                {**_row(room), "code": code, "secret_sha256": _hash(secret), "expires": room.expires, "used": now},
            )
        return room, secret

    def room(self, code: str) -> Room | None:
        """Returns a room; None if there is none with this code, or no longer."""
        return next(iter(self.rooms([code])), None)

    def rooms(self, codes: Collection[str]) -> list[Room]:
        """Returns those of the rooms that are open."""
        columns = (rooms_table.c.code, rooms_table.c.seq, rooms_table.c.state, rooms_table.c.expires)
        known = [code for code in codes if CODE.fullmatch(code)]
        query = sa.select(*columns).where(rooms_table.c.code.in_(known), rooms_table.c.expires > self._now())
        with reading(self._runs.engine) as connection:
            rows = connection.execute(query).all()
        return [Room(code, seq, json.loads(state), expires) for code, seq, state, expires in rows]

    def is_secret(self, code: str, secret: str) -> bool:
        """Returns whether this is the secret of an open room."""
        if not CODE.fullmatch(code):
            return False
        query = sa.select(rooms_table.c.secret_sha256).where(
            rooms_table.c.code == code, rooms_table.c.expires > self._now()
        )
        with reading(self._runs.engine) as connection:
            stored = connection.scalar(query)
        return stored is not None and hmac.compare_digest(stored, _hash(secret))

    def change(self, code: str, changed: Callable[[dict[str, Any], Count], dict[str, Any]]) -> Room | None:
        """Replaces a room's state with what `changed` returns for it. Returns the room; None if it is not open.

        No answer is stored between the counts that `changed` reads and the change.
        """
        with self._runs.changing("The room cannot be changed") as connection:
            room = self._locked(connection, code)
            if room is None:
                return None
            state = changed(room.state, lambda question: _histogram(connection, code, question))
            if state == room.state:
                return room
            room = replace(room, seq=room.seq + 1, state=state)
            connection.execute(sa.update(rooms_table).where(rooms_table.c.code == code).values(**_row(room)))
        return room

    def end(self, code: str) -> None:
        """Deletes a room with its answers."""
        with self._runs.changing("The room cannot be ended") as connection:
            _delete(connection, rooms_table.c.code == code)

    def answer(self, code: str, check: Callable[[dict[str, Any]], int], voter: str, answer: str) -> bool | None:
        """Stores an answer in place of the voter's earlier one. `check` returns the number of the question that the
        room's state asks, or raises. Returns False if the question has its most answers, and None if the room is not
        open.
        """
        with self._runs.changing("The answer cannot be stored") as connection:
            room = self._locked(connection, code)
            if room is None:
                return None
            question = check(room.state)
            row = {"room": code, "question": question, "voter": voter}
            one = sa.and_(*(room_answers_table.c[name] == value for name, value in row.items()))
            if connection.execute(sa.update(room_answers_table).where(one).values(answer=answer)).rowcount:
                return True
            if _answered(connection, code, question) >= MOST_ANSWERS:
                return False
            connection.execute(sa.insert(room_answers_table), {**row, "answer": answer})
        return True

    def answered(self, code: str, question: int) -> int:
        """Returns how many have answered a question."""
        with reading(self._runs.engine) as connection:
            return _answered(connection, code, question)

    def report(self, process: str, followers: Mapping[str, int]) -> None:
        """Stores how many follow each room through this process, in place of its last report."""
        mine, now = room_followers_table.c.process == process, int(self._now())
        with writing(self._runs.engine, "The followers of rooms cannot be stored") as connection:
            # Locks the rooms, so that none ends before the rows below are stored.
            connection.execute(sa.update(rooms_table).where(rooms_table.c.code.in_(followers)).values(used=now))
            connection.execute(sa.delete(room_followers_table).where(mine))
            query = sa.select(rooms_table.c.code).where(rooms_table.c.code.in_(followers))
            rows = [
                {"room": code, "process": process, "followers": followers[code], "reported": now}
                for code in connection.scalars(query)
            ]
            if rows:
                connection.execute(sa.insert(room_followers_table), rows)

    def followers(self, code: str) -> int:
        """Returns how many follow a room, through any process."""
        query = sa.select(sa.func.coalesce(sa.func.sum(room_followers_table.c.followers), 0)).where(
            room_followers_table.c.room == code, room_followers_table.c.reported > self._now() - SILENT_S
        )
        with reading(self._runs.engine) as connection:
            return int(connection.scalar(query) or 0)

    def forget_answers(self, code: str, question: int) -> None:
        """Deletes the answers to a question."""
        with self._runs.changing("The answers cannot be deleted") as connection:
            connection.execute(sa.delete(room_answers_table).where(_of_question(code, question)))

    def end_old(self) -> None:
        """Deletes the rooms whose time is over."""
        with self._runs.changing("The rooms cannot be ended") as connection:
            self._end_old(connection)

    def _locked(self, connection: sa.Connection, code: str) -> Room | None:
        """Returns an open room, which no other transaction changes until this one ends."""
        # SQLite has no SELECT … FOR UPDATE: there a transaction begins, and excludes others, with its first change.
        connection.execute(sa.update(rooms_table).where(rooms_table.c.code == code).values(seq=rooms_table.c.seq))
        query = sa.select(rooms_table.c.seq, rooms_table.c.state, rooms_table.c.expires).where(
            rooms_table.c.code == code, rooms_table.c.expires > self._now()
        )
        row = connection.execute(query).one_or_none()
        return Room(code, row.seq, json.loads(row.state), row.expires) if row is not None else None

    def _end_old(self, connection: sa.Connection) -> None:
        now = self._now()
        _delete(connection, (rooms_table.c.expires <= now) | (rooms_table.c.used <= now - EMPTY_S))


def _row(room: Room) -> dict[str, Any]:
    return {"seq": room.seq, "state": json.dumps(room.state, ensure_ascii=False, separators=(",", ":"))}


def _delete(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    # Locks the rooms first, in the order of all other transactions.
    connection.execute(sa.update(rooms_table).where(which).values(seq=rooms_table.c.seq))
    codes = sa.select(rooms_table.c.code).where(which)
    for table in (room_answers_table, room_followers_table):
        connection.execute(sa.delete(table).where(table.c.room.in_(codes)))
    connection.execute(sa.delete(rooms_table).where(which))


def _answered(connection: sa.Connection, code: str, question: int) -> int:
    counted = sa.select(sa.func.count()).select_from(room_answers_table).where(_of_question(code, question))
    return connection.scalar(counted) or 0


def _histogram(connection: sa.Connection, code: str, question: int) -> Counter[str]:
    query = (
        sa.select(room_answers_table.c.answer, sa.func.count())
        .where(_of_question(code, question))
        .group_by(room_answers_table.c.answer)
    )
    return Counter(dict(connection.execute(query).all()))


def _of_question(code: str, question: int) -> sa.ColumnElement[bool]:
    return (room_answers_table.c.room == code) & (room_answers_table.c.question == question)


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
