"""The log of every run, in the database. A frame is stored here before anyone gets it.

One thread appends (the engine's supervisor); any number of threads read and wait. If several processes share the
database, one of them appends; in the others a log grows when that process reports it (app.store.cluster.news).
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Condition, RLock
from typing import Any, Self

import sqlalchemy as sa

from kvscope.app.store.database import connect, is_key, reading, writing
from kvscope.app.store.errors import Fenced, Lost, StoreError
from kvscope.app.store.family import Member, members
from kvscope.app.store.frame_cache import FrameCache
from kvscope.app.store.head import Head
from kvscope.app.store.run_tables import (
    delete,
    frames_table,
    links_table,
    runs_table,
    steps_table,
    stored_head,
    write,
    write_close,
)
from kvscope.app.store.spare import with_spare
from kvscope.model.api import Frame
from kvscope.model.log import frames as codec

PAGE = 32
"""Frames read at a time: at most 2 MiB, since no frame is over 64 KB."""
CACHE_BYTES = 64 * 1024 * 1024
POLL_S = 1.0
"""How long a process that follows waits for the first news of a run before it checks again."""
SERVER_STOPPED = "The server stopped before the run ended."
OLDEST = 100
"""Runs read at a time when the oldest runs are listed."""


News = Mapping[str, Head | None]
"""Where the logs of runs end; None for a run that was deleted."""
Claim = Callable[[sa.Connection], None]
"""A function that raises Fenced if the changes of this transaction must not be stored."""


@dataclass(slots=True)
class _Open:
    """An open log. `awaited`: whether a thread has waited for it to grow."""

    head: Head
    changed: Condition
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class _Unstored:
    """A `close` frame that the database could not take yet, and where the run's log ends with it."""

    close: Frame
    head: Head


class Gone(KeyError):
    """There is no such run, or it was deleted, perhaps while somebody asked about it."""


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """The runs that came from another run."""

    studies: list[str]
    branches: list[str]


class RunLog:
    """All runs in one database: the file in `folder`, or the one at `url`.

    Methods that read or write raise StoreError if the database cannot be used. `alone`: no other process appends, so an
    earlier process left the open runs. `process`: the name of this process's connections in the database.
    """

    def __init__(
        self,
        folder: Path,
        url: str | None = None,
        *,
        cache_bytes: int = CACHE_BYTES,
        alone: bool = True,
        process: str | None = None,
    ) -> None:
        self._lock = RLock()
        self._heard = Condition(self._lock)
        """Notified when a process that follows gets news."""
        self._follows = False
        self._claim: Claim = lambda _connection: None
        self._tell: Callable[[News], None] = lambda _news: None
        self._open: dict[str, _Open] = {}
        self._unstored: dict[str, _Unstored] = {}
        self._held: Counter[str] = Counter()
        self._hear: Callable[[str], None] = lambda _run: None
        self._cache = FrameCache(cache_bytes)
        self.folder = folder
        self.engine = connect(folder, url, process)
        if alone:
            self.recover()

    def close(self) -> None:
        """Closes the database, and wakes waiting threads."""
        with self._lock:
            with suppress(StoreError):  # the next start closes the open runs as interrupted
                self.store_rest()
            for entry in self._open.values():
                entry.changed.notify_all()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, frames: Sequence[Frame]) -> None:
        """Stores frames, then wakes the threads that wait for them. Frames of a closed run are dropped.

        Raises StoreError, with no frame announced, if they cannot be stored; ValueError for a gap in a run's seq.
        """
        with self._lock:
            heads = {run: self.head(run) or Head() for run in {frame.run for frame in frames}}
            new_frames = [frame for frame in frames if not heads[frame.run].closed]
            for frame in new_frames:
                heads[frame.run].extend(frame)
            if new_frames:
                self._store(new_frames)
                self._announce(new_frames, heads)

    def follow(self) -> None:
        """Lets another process append from now on. This one writes nothing; an open log ends where that one reports."""
        with self._lock:
            self._follows, self._claim = True, _refuse

    def hear(self, news: News) -> None:
        """Takes news of what the appending process has stored, while this process follows."""
        for run, head in news.items():
            entry = self._open.get(run)
            if head is not None and entry is not None and entry.awaited:
                with suppress(StoreError):  # the waiting threads read the frames again, and get the error
                    self._read_ahead(run, entry.head.last_seq, head.last_seq)
        with self._lock:
            if not self._follows:
                return
            for run, head in news.items():
                if head is None:
                    self._cache.forget(run)
                    head = Head(closed=True)
                self._grow(run, head)
            self._heard.notify_all()

    def go_deaf(self) -> None:
        """Forgets earlier news, which may be out of date."""
        with self._lock:
            if self._follows:
                self._forget_open()

    def heads(self) -> dict[str, Head]:
        """Returns where the logs of open runs end."""
        with self._lock:
            return {run: replace(entry.head) for run, entry in self._open.items()}

    def lead(self, claim: Claim, tell: Callable[[News], None]) -> None:
        """Lets this process append from now on, and closes the runs that an earlier process left open.

        `claim` is called in each transaction, and can refuse it; after the transaction `tell` gets the news. Raises
        StoreError.
        """
        with self._lock:
            self._follows, self._claim, self._tell = False, claim, tell
            self._forget_open()
            self.recover()

    def recover(self) -> None:
        """Closes the runs that an earlier process left open, or whose beginning was stored without this process
        knowing, because the database was unavailable. Raises StoreError.
        """
        with self._lock:
            with reading(self.engine) as connection:
                unclosed = connection.scalars(sa.select(runs_table.c.run).where(~runs_table.c.closed)).all()
            for run in unclosed:
                head = None if run in self._open or run in self._unstored else self.head(run)
                if head is not None:
                    self._open[run] = _Open(head, Condition(self._lock))
                    self.close_run(run, "interrupted", SERVER_STOPPED)

    @contextmanager
    def changing(self, failure: str, *, lasting: bool = False) -> Iterator[sa.Connection]:
        """Opens a transaction, as `writing` does, if this process may write. Raises StoreError, Fenced if not."""
        with writing(self.engine, failure, lasting=lasting) as connection:
            self._claim(connection)
            yield connection

    def when_closed(self, hear: Callable[[str], None]) -> None:
        """Calls `hear` with every run that is closed from now on. It must return quickly and not use the log."""
        self._hear = hear

    def close_run(self, run: str, reason: str, error: str | None) -> None:
        """Ends an open run with a `close` frame.

        If the database does not take that frame, it stays in memory until `store_rest`, or the next `append`.
        """
        with self._lock:
            entry = self._open.get(run)
            if entry is None:
                return
            head = replace(entry.head)
            close = codec.encode(
                run, head.last_seq + 1, "close", {"reason": reason, "error": error, "steps": head.steps}
            )
            head.extend(close)
            self._unstored[run] = _Unstored(close, head)
            with suppress(StoreError):
                self.store_rest()
            self._announce([close], {run: head})

    @property
    def has_rest(self) -> bool:
        """Whether `close` frames wait in memory for the database."""
        return bool(self._unstored)

    def store_rest(self) -> None:
        """Stores the `close` frames that wait in memory. Raises StoreError; then they still wait."""
        with self._lock:
            if self._unstored:
                self._store([])

    def open_runs(self) -> list[str]:
        """Returns the runs without their `close` frame, oldest first."""
        with self._lock:
            return list(self._open)

    def head(self, run: str) -> Head | None:
        """Returns where the run's log ends; None for an unknown run."""
        if not is_key(run):
            return None
        with self._lock:
            entry = self._open.get(run) or self._unstored.get(run)
            if entry is not None:
                return replace(entry.head)
        with reading(self.engine) as connection:
            return stored_head(connection, run)

    def frames(self, run: str, after: int, limit: int = PAGE) -> list[bytes]:
        """Returns payloads of the frames that follow seq `after`, at most `limit`, without a gap."""
        cached = self._cache.take(run, after, limit)
        if cached:
            return cached
        rest = self._unstored.get(run)
        if rest is not None and after >= rest.close.seq - 1:
            return [rest.close.payload] if after < rest.close.seq else []
        last = self._last_of(run)
        return self._read(run, after, limit if last is None else min(limit, last - after))

    def _last_of(self, run: str) -> int | None:
        """Returns the seq of the last frame of an open run that readers may get; None for a closed run. Later frames
        may be stored without the appending process knowing; it may replace them, except for the first frame.
        """
        entry = self._open.get(run)
        if entry is not None:
            return entry.head.last_seq
        if not self._follows:
            return None
        head = self.head(run)
        return None if head is None or head.closed else 0

    def _read(self, run: str, after: int, limit: int) -> list[bytes]:
        if limit <= 0:
            return []
        query = (
            sa.select(frames_table.c.seq, frames_table.c.payload)
            .where(frames_table.c.run == run, frames_table.c.seq > after)
            .order_by(frames_table.c.seq)
            .limit(limit)
        )
        with reading(self.engine) as connection:
            rows = connection.execute(query).all()
        for seq, payload in rows:
            self._cache.put(run, seq, payload)
        return [payload for _, payload in rows]

    def all_frames(self, run: str, after: int = -1, last: int | None = None) -> Iterator[bytes]:
        """Yields payloads of the frames after seq `after`, up to and including seq `last`, if they are stored now."""
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
        """Waits until the run has a frame after seq `after`, is closed, `wake` is called, or `timeout` seconds pass."""
        with self._lock:
            entry = self._open.get(run)
            if entry is None and self._follows:
                self._heard.wait(min(timeout, POLL_S))
            elif entry is not None and entry.head.last_seq <= after:
                entry.awaited = True
                entry.changed.wait(timeout)

    def wake(self, run: str) -> None:
        """Wakes the threads that wait for this run, although no frame was added."""
        with self._lock:
            entry = self._open.get(run)
            if entry is not None:
                entry.changed.notify_all()

    def opening(self, run: str) -> dict[str, Any]:
        """Returns the data of the run's `open` frame. Raises Gone for an unknown run."""
        first = self.frames(run, -1, 1)
        if not first:
            raise Gone(run)
        return codec.header(first[0]).data

    def closing(self, run: str) -> dict[str, Any] | None:
        """Returns the data of the run's `close` frame, None while it is open. Raises Gone for an unknown run."""
        head = self.head(run)
        if head is None:
            raise Gone(run)
        if not head.closed:
            return None
        last = self.frames(run, head.last_seq - 1, 1)
        if not last:
            raise Gone(run)
        return codec.header(last[0]).data

    def passes(self, run: str) -> int:
        """Returns how many passes the log of a workload has; it has no steps."""
        return sum(codec.header(payload).kind == "pass" for payload in self.all_frames(run))

    def chosen(self, run: str) -> list[tuple[int, int]]:
        """Returns for each complete step the seq of its `step` frame and the id of its token."""
        query = (
            sa.select(steps_table.c.seq, steps_table.c.token)
            .where(steps_table.c.run == run)
            .order_by(steps_table.c.step)
        )
        with reading(self.engine) as connection:
            return [(seq, token) for seq, token in connection.execute(query)]

    def family(self, run: str, public: Collection[str] = (), known: Collection[str] = ()) -> list[Member]:
        """Returns the runs that branches or studies connect with `run`, and `run` itself: first the run from which the
        others came, then the others, oldest first.

        Runs that came from a `public` run belong to different people. Of these, only the branch with `run` and the
        branches with a `known` run are listed.
        """
        with reading(self.engine) as connection:
            family = members(connection, run, public, [each for each in known if is_key(each)])
        return [self._with_rest(member) for member in family]

    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        """Prevents `delete` of the run inside the context, for callers that read it in several steps."""
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
        """Returns the ended runs that began before then, oldest first, each with the run it is a study of, or None."""
        query = (
            sa.select(runs_table.c.run)
            .where(runs_table.c.closed, runs_table.c.created < before.astimezone(UTC).replace(tzinfo=None))
            .order_by(runs_table.c.created)
        )
        with reading(self.engine) as connection:
            runs = connection.scalars(query).all()
        return {run: study.get("of") if (study := self.opening(run).get("study")) else None for run in runs}

    def made_from(self, run: str) -> MadeFrom:
        """Returns the stored runs that came from a run."""
        query = sa.select(links_table.c.run).where(links_table.c.origin == run)
        with reading(self.engine) as connection:
            linked = connection.scalars(query).all()
        studies = {other for other in linked if self.opening(other).get("study")}
        return MadeFrom(sorted(studies), [other for other in linked if other not in studies])

    def oldest(self, *, closed: bool = True) -> Iterator[tuple[str, int]]:
        """Yields the ended runs, or all, oldest first, each with its bytes."""
        created, run = runs_table.c.created, runs_table.c.run
        query = sa.select(created, run, runs_table.c.bytes).order_by(created, run).limit(OLDEST)
        query, after = query.where(runs_table.c.closed) if closed else query, None
        while True:
            later = sa.true() if after is None else sa.or_(created > after[0], (created == after[0]) & (run > after[1]))
            with reading(self.engine) as connection:
                rows = connection.execute(query.where(later)).all()
            if not rows:
                return
            yield from ((row.run, row.bytes) for row in rows)
            after = (rows[-1].created, rows[-1].run)

    def own(self, run: str, token_sha256: str) -> None:
        """Lets the token with this hash delete a stored run."""
        with self._lock, self.changing("The run cannot be stored") as connection:
            changed = sa.update(runs_table).where(runs_table.c.run == run).values(token_sha256=token_sha256)
            connection.execute(changed)

    def is_token(self, run: str, token: str) -> bool:
        """Returns whether `token` may delete the run."""
        with reading(self.engine) as connection:
            stored = connection.scalar(sa.select(runs_table.c.token_sha256).where(runs_table.c.run == run))
        return stored is not None and hmac.compare_digest(stored, hash_of(token))

    def delete(self, runs: Sequence[str]) -> bool:
        """Deletes these runs. Returns False, and deletes none, if one is open or `held`."""
        with self._lock:
            if any(run in self._open or self._held[run] for run in runs):
                return False
            with_spare(self.folder, lambda: self._delete(runs))
            for run in runs:
                self._unstored.pop(run, None)
                self._cache.forget(run)
            self._tell(dict.fromkeys(runs))
            return True

    def check(self) -> None:
        """Raises Lost if the database's file was deleted or replaced; ignores other errors, which its users get."""
        if self.engine.dialect.name != "sqlite":
            return
        try:
            with reading(self.engine) as connection:
                connection.execute(sa.select(1))
        except Lost:
            raise
        except StoreError:
            pass

    def totals(self) -> dict[str, int]:
        """Returns the stored totals: {runs, frames, bytes}."""
        query = sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(runs_table.c.last_seq + 1), 0),
            sa.func.coalesce(sa.func.sum(runs_table.c.bytes), 0),
        ).select_from(runs_table)
        with reading(self.engine) as connection:
            runs, frames, size = connection.execute(query).one()
        return {"runs": runs, "frames": frames, "bytes": size}

    def _delete(self, runs: Sequence[str]) -> None:
        with self.changing("Runs cannot be deleted", lasting=True) as connection:
            delete(connection, runs)

    def _read_ahead(self, run: str, after: int, last: int) -> None:
        """Reads new frames into the cache, once for all threads that wait for them."""
        while after < last and (page := self._read(run, after, min(PAGE, last - after))):
            after += len(page)

    def _forget_open(self) -> None:
        for entry in self._open.values():
            entry.changed.notify_all()
        self._open.clear()
        self._heard.notify_all()

    def _store(self, frames: Sequence[Frame]) -> None:
        """Stores frames, and the `close` frames that wait in memory."""
        with self.changing("The run cannot be stored") as connection:
            for rest in self._unstored.values():
                write_close(connection, rest.close, rest.head)
            write(connection, frames)
        self._tell({run: rest.head for run, rest in self._unstored.items()})
        self._unstored.clear()

    def _with_rest(self, member: Member) -> Member:
        rest = self._unstored.get(member.run)
        return member if rest is None else replace(member, closing=codec.header(rest.close.payload).data)

    def _announce(self, frames: Iterable[Frame], heads: dict[str, Head]) -> None:
        for frame in frames:
            self._cache.put(frame.run, frame.seq, frame.payload)
        self._tell({run: replace(head) for run, head in heads.items() if run not in self._unstored})
        for run, head in heads.items():
            self._grow(run, head)
            if head.closed:
                self._hear(run)

    def _grow(self, run: str, head: Head) -> None:
        """Notes where a run's log ends now, and wakes the threads that wait for it."""
        entry = self._open.setdefault(run, _Open(head, Condition(self._lock)))
        entry.head = head
        entry.changed.notify_all()
        if head.closed:
            del self._open[run]


def _refuse(_connection: sa.Connection) -> None:
    raise Fenced("Another web process leads; this one stores nothing.")


def hash_of(token: str) -> str:
    """Returns the hash that is stored for a token that deletes something."""
    return sha256(token.encode()).hexdigest()
