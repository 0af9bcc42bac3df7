"""The log of every run, in the database. A frame is stored here before anyone is told of it.

One thread appends (the engine link's); any number of threads read and wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Condition, RLock
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError

from kvscope.app.store.database import StoreError, connect, is_key, metadata, reason_of
from kvscope.app.store.frame_cache import FrameCache
from kvscope.model.api import Frame
from kvscope.model.log import frames as codec

PAGE = 32
"""Frames read at a time: at most 2 MiB, since no frame is over 64 KB."""
CACHE_BYTES = 64 * 1024 * 1024

runs_table = sa.Table(
    "runs",
    metadata,
    sa.Column("run", sa.String, primary_key=True),
    sa.Column("created", sa.DateTime, server_default=sa.func.current_timestamp(), nullable=False),
    sa.Column("last_seq", sa.Integer, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False, index=True),
)
frames_table = sa.Table(
    "frames",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)
steps_table = sa.Table(
    "steps",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.run"), primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("token", sa.Integer, nullable=False),
)
links_table = sa.Table(
    "links",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("runs.run"), unique=True, nullable=False),
    sa.Column("origin", sa.String, index=True, nullable=False),
)
"""Runs that came from another: its branches, and the studies of it. `number` grows with time."""


@dataclass(slots=True)
class Head:
    """Where a run's log ends: seq of its last frame, complete steps, bytes of all frames, whether it has its `close`
    frame.
    """

    last_seq: int = -1
    steps: int = 0
    bytes: int = 0
    closed: bool = False


@dataclass(slots=True)
class _Open:
    head: Head
    changed: Condition


class RunLog:
    """All runs in one database: the file in `folder`, or the one at `url`. Raises StoreError when it cannot be used.

    `alone`: no other process adds to it, so runs that are open are an earlier one's leftovers.
    """

    def __init__(
        self, folder: Path, url: str | None = None, *, cache_bytes: int = CACHE_BYTES, alone: bool = True
    ) -> None:
        self._lock = RLock()
        self._open: dict[str, _Open] = {}
        self._unstored: dict[str, Frame] = {}
        self._held: Counter[str] = Counter()
        self._cache = FrameCache(cache_bytes)
        self.engine = connect(folder, url)
        if alone:
            self._recover()

    def close(self) -> None:
        """Give the database back. Waiters are woken."""
        with self._lock:
            for entry in self._open.values():
                entry.changed.notify_all()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, frames: Sequence[Frame]) -> None:
        """Store frames, then wake who waits for them. Frames of a closed run are dropped.

        Raises StoreError, with nothing of `frames` stored, when the disk is full; ValueError on a gap in a run's seq.
        """
        with self._lock:
            heads = {run: replace(self._head_to_extend(run)) for run in {frame.run for frame in frames}}
            kept = [frame for frame in frames if not heads[frame.run].closed]
            for frame in kept:
                _extend(heads[frame.run], frame)
            if kept:
                self._store([*self._unstored.values(), *kept])
                self._unstored.clear()
                self._announce(kept, heads)

    def close_run(self, run: str, reason: str, error: str) -> None:
        """End an open run with a `close` frame written here.

        A full disk keeps that frame in memory until there is room.
        """
        with self._lock:
            entry = self._open.get(run)
            if entry is None:
                return
            head = replace(entry.head)
            frame = codec.encode(
                run, head.last_seq + 1, "close", {"reason": reason, "error": error, "steps": head.steps}
            )
            _extend(head, frame)
            try:
                self._store([frame])
            except StoreError:
                self._unstored[run] = frame
            self._announce([frame], {run: head})

    def open_runs(self) -> list[str]:
        """Runs without their `close` frame, oldest first."""
        with self._lock:
            return list(self._open)

    def head(self, run: str) -> Head | None:
        """Where the run's log ends; None for an unknown run."""
        if not is_key(run):
            return None
        with self._lock:
            if run in self._open:
                return replace(self._open[run].head)
            head = self._stored_head(run)
            if head is not None and run in self._unstored:
                _extend(head, self._unstored[run])
            return head

    def frames(self, run: str, after: int, limit: int = PAGE) -> list[bytes]:
        """Payloads of the frames that follow seq `after`, at most `limit`, without a gap."""
        found = self._cache.take(run, after, limit)
        if found:
            return found
        query = (
            sa.select(frames_table.c.seq, frames_table.c.payload)
            .where(frames_table.c.run == run, frames_table.c.seq > after)
            .order_by(frames_table.c.seq)
            .limit(limit)
        )
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        for seq, payload in rows:
            self._cache.put(run, seq, payload)
        if not rows and (unstored := self._unstored.get(run)) is not None and unstored.seq > after:
            return [unstored.payload]
        return [payload for _, payload in rows]

    def all_frames(self, run: str, after: int = -1, last: int | None = None) -> Iterator[bytes]:
        """Payloads of the frames after seq `after`, up to and including seq `last`, as far as they are stored now."""
        head = self.head(run)
        if head is None:
            return
        end = head.last_seq if last is None else min(last, head.last_seq)
        while after < end:
            page = self.frames(run, after, min(PAGE, end - after))
            if not page:
                return
            yield from page
            after += len(page)

    def wait(self, run: str, after: int, timeout: float) -> None:
        """Return when the run has a frame after seq `after`, is closed, was poked by `wake`, or `timeout` seconds
        have passed.
        """
        with self._lock:
            entry = self._open.get(run)
            if entry is not None and entry.head.last_seq <= after:
                entry.changed.wait(timeout)

    def wake(self, run: str) -> None:
        """Wake who waits for this run, though nothing came."""
        with self._lock:
            entry = self._open.get(run)
            if entry is not None:
                entry.changed.notify_all()

    def opening(self, run: str) -> dict[str, Any]:
        """The data of the run's `open` frame. Raises KeyError for an unknown run."""
        first = self.frames(run, -1, 1)
        if not first:
            raise KeyError(run)
        return codec.header(first[0]).data

    def closing(self, run: str) -> dict[str, Any] | None:
        """The data of the run's `close` frame, None while it is open. Raises KeyError for an unknown run."""
        head = self.head(run)
        if head is None:
            raise KeyError(run)
        return codec.header(self.frames(run, head.last_seq - 1, 1)[0]).data if head.closed else None

    def chosen(self, run: str) -> list[tuple[int, int]]:
        """For each complete step: seq of its `step` frame, id of the token it chose."""
        query = (
            sa.select(steps_table.c.seq, steps_table.c.token)
            .where(steps_table.c.run == run)
            .order_by(steps_table.c.step)
        )
        with self.engine.connect() as connection:
            return [(seq, token) for seq, token in connection.execute(query)]

    def family(self, run: str, public: Collection[str] = (), known: Collection[str] = ()) -> list[str]:
        """The runs that are connected with `run` by a branch or a study, itself among them: first the one that comes
        from none of them, then the others, oldest first.

        What comes from a `public` run belongs to who made it, so it connects nothing but itself: of that, only the
        branch that `run` is on is listed, and those with a run that is `known`.
        """
        asked = [run, *filter(is_key, known)]
        with self.engine.connect() as connection:
            origins = _origins(connection, asked, public)
            lines = [_line(origins, each) for each in asked]
            root = lines[0][-1]
            if root in public:
                first = links_table.c.run.in_([line[-2] for line in lines if line[-1] == root and len(line) > 1])
            else:
                first = links_table.c.origin == root
            linked = sa.select(links_table.c.number, links_table.c.run)
            below = linked.where(first).cte(recursive=True)
            below = below.union(linked.join(below, links_table.c.origin == below.c.run))
            members = connection.scalars(sa.select(below.c.run).order_by(below.c.number)).all()
        return [root, *(member for member in members if member != root)]

    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        """While this lasts, `delete` leaves the run alone. For who reads more of it than one answer."""
        with self._lock:
            self._held[run] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[run] -= 1
                if not self._held[run]:
                    del self._held[run]

    def ended(self, before: datetime) -> dict[str, str | None]:
        """The runs begun before then that have ended, oldest first, each with the run it is a study of, or None."""
        query = (
            sa.select(runs_table.c.run)
            .where(runs_table.c.closed, runs_table.c.created < before.astimezone(UTC).replace(tzinfo=None))
            .order_by(runs_table.c.created)
        )
        with self.engine.connect() as connection:
            runs = connection.scalars(query).all()
        return {run: study["of"] if (study := self.opening(run).get("study")) else None for run in runs}

    def studies(self, run: str) -> list[str]:
        """The studies of a run."""
        query = sa.select(links_table.c.run).where(links_table.c.origin == run)
        with self.engine.connect() as connection:
            linked = connection.scalars(query).all()
        return [other for other in linked if self.opening(other).get("study")]

    def delete(self, runs: Sequence[str]) -> bool:
        """Forget these runs, all or, when one is open or held, none; whether that was done.

        Raises StoreError.
        """
        with self._lock:
            if any(run in self._open or self._held[run] for run in runs):
                return False
            try:
                with self.engine.begin() as connection:
                    for table in (links_table, steps_table, frames_table, runs_table):
                        connection.execute(sa.delete(table).where(table.c.run.in_(runs)))
            except DatabaseError as error:
                raise StoreError(f"Runs cannot be deleted: {reason_of(error)}.") from None
            for run in runs:
                self._unstored.pop(run, None)
                self._cache.forget(run)
            return True

    def totals(self) -> dict[str, int]:
        """How much is stored: runs, frames, bytes."""
        query = sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(runs_table.c.last_seq + 1), 0),
            sa.func.coalesce(sa.func.sum(runs_table.c.bytes), 0),
        ).select_from(runs_table)
        with self.engine.connect() as connection:
            runs, frames, size = connection.execute(query).one()
        return {"runs": runs, "frames": frames, "bytes": size}

    def _recover(self) -> None:
        """Close the runs that an earlier process left open."""
        with self.engine.connect() as connection:
            left = connection.scalars(sa.select(runs_table.c.run).where(~runs_table.c.closed)).all()
        for run in left:
            head = self._stored_head(run)
            if head is not None:
                self._open[run] = _Open(head, Condition(self._lock))
                self.close_run(run, "interrupted", "The server stopped before the run had ended.")

    def _head_to_extend(self, run: str) -> Head:
        return self._open[run].head if run in self._open else self._stored_head(run) or Head()

    def _stored_head(self, run: str) -> Head | None:
        steps = sa.select(sa.func.count()).where(steps_table.c.run == run).scalar_subquery()
        query = sa.select(runs_table.c.last_seq, steps, runs_table.c.bytes, runs_table.c.closed).where(
            runs_table.c.run == run
        )
        with self.engine.connect() as connection:
            row = connection.execute(query).first()
        return Head(*row) if row is not None else None

    def _store(self, frames: Sequence[Frame]) -> None:
        try:
            with self.engine.begin() as connection:
                for run in dict.fromkeys(frame.run for frame in frames):
                    _write(connection, run, [frame for frame in frames if frame.run == run])
        except DatabaseError as error:
            raise StoreError(f"The run cannot be stored: {reason_of(error)}.") from None

    def _announce(self, frames: Iterable[Frame], heads: dict[str, Head]) -> None:
        for frame in frames:
            self._cache.put(frame.run, frame.seq, frame.payload)
        for run, head in heads.items():
            entry = self._open.setdefault(run, _Open(head, Condition(self._lock)))
            entry.head = head
            entry.changed.notify_all()
            if head.closed:
                del self._open[run]


def _extend(head: Head, frame: Frame) -> None:
    if frame.seq != head.last_seq + 1:
        raise ValueError(f"run {frame.run}: frame {frame.seq} after {head.last_seq}")
    head.last_seq = frame.seq
    head.bytes += len(frame.payload)
    head.steps += frame.kind == "step"
    head.closed = frame.kind == "close"


def _write(connection: sa.Connection, run: str, frames: Sequence[Frame]) -> None:
    """Insert the frames of one run and keep its row, its steps and where it came from in line with them."""
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = upsert(runs_table).values(
        run=run,
        created=datetime.now(UTC).replace(tzinfo=None),
        last_seq=frames[-1].seq,
        bytes=sum(len(frame.payload) for frame in frames),
        closed=frames[-1].kind == "close",
    )
    changes = {
        "last_seq": row.excluded.last_seq,
        "bytes": runs_table.c.bytes + row.excluded.bytes,
        "closed": row.excluded.closed,
    }
    connection.execute(row.on_conflict_do_update(index_elements=[runs_table.c.run], set_=changes))
    connection.execute(
        sa.insert(frames_table), [{"run": run, "seq": frame.seq, "payload": frame.payload} for frame in frames]
    )
    steps = [
        {"run": run, "step": frame.step, "seq": frame.seq, "token": codec.header(frame.payload).data["token"]["id"]}
        for frame in frames
        if frame.kind == "step"
    ]
    if steps:
        connection.execute(sa.insert(steps_table), steps)
    if frames[0].kind == "open" and (origin := _origin(codec.header(frames[0].payload).data)) is not None:
        connection.execute(sa.insert(links_table), {"run": run, "origin": origin})


def _origin(opening: dict[str, Any]) -> str | None:
    """The run that an `open` frame says this one came from."""
    parent, study = opening.get("parent"), opening.get("study")
    return parent["run"] if parent else study["of"] if study else None


def _origins(connection: sa.Connection, runs: Collection[str], public: Collection[str]) -> dict[str, str]:
    """Where each of these runs came from, and where that came from, up to a public one, as far as it is stored here."""
    linked = sa.select(links_table.c.run, links_table.c.origin).join(
        runs_table, runs_table.c.run == links_table.c.origin
    )
    above = linked.where(links_table.c.run.in_(runs)).cte(recursive=True)
    above = above.union(linked.join(above, links_table.c.run == above.c.origin).where(above.c.origin.not_in(public)))
    return {row.run: row.origin for row in connection.execute(sa.select(above.c.run, above.c.origin))}


def _line(origins: dict[str, str], run: str) -> list[str]:
    """The run, the one it came from, and so on."""
    line = [run]
    while (origin := origins.get(line[-1])) is not None and origin not in line:
        line.append(origin)
    return line
