"""The log of every run, in the database. A frame is stored here before anyone is told of it.

One thread appends (the engine's supervisor); any number of threads read and wait. Where several processes share the
database, one of them appends; in the others a log grows when the one that appends says so (app.store.news).
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
"""How long a process that follows waits for news of a run of which it has heard nothing, before it looks again."""
SERVER_STOPPED = "The server stopped before the run ended."
OLDEST = 100
"""Runs looked at together when some have to go."""


News = Mapping[str, Head | None]
"""Where the logs of runs end; None for a run that was deleted."""
Claim = Callable[[sa.Connection], None]
"""Raises Fenced where what this transaction changes must not be stored."""


@dataclass(slots=True)
class _Open:
    """`awaited`: whether somebody waited for it to grow."""

    head: Head
    changed: Condition
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class _Unstored:
    """A `close` frame that the database could not take yet, and where the run's log ends with it."""

    close: Frame
    head: Head


class Gone(KeyError):
    """There is no such run, or none any more: it may be forgotten while somebody asks about it."""


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """The runs that came from another."""

    studies: list[str]
    branches: list[str]


class RunLog:
    """All runs in one database: the file in `folder`, or the one at `url`.

    Whatever reads or writes raises StoreError when the database cannot be used. `alone`: no other process adds to it,
    so runs that are open are an earlier one's leftovers. `process`: what the database knows its connections by.
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
        """Notified when a process that follows hears anything."""
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
        """Give the database back. Waiters are woken."""
        with self._lock:
            with suppress(StoreError):  # the next start closes as interrupted what is not closed
                self.store_rest()
            for entry in self._open.values():
                entry.changed.notify_all()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, frames: Sequence[Frame]) -> None:
        """Store frames, then wake who waits for them. Frames of a closed run are dropped.

        Raises StoreError, with nothing of `frames` announced, when they cannot be stored; ValueError on a gap in a
        run's seq.
        """
        with self._lock:
            heads = {run: self.head(run) or Head() for run in {frame.run for frame in frames}}
            kept = [frame for frame in frames if not heads[frame.run].closed]
            for frame in kept:
                heads[frame.run].extend(frame)
            if kept:
                self._store(kept)
                self._announce(kept, heads)

    def follow(self) -> None:
        """From now on another process appends. Nothing is written, and an open run ends where that one says."""
        with self._lock:
            self._follows, self._claim = True, _refuse

    def hear(self, news: News) -> None:
        """What the process that appends has stored, while this one follows."""
        for run, head in news.items():
            entry = self._open.get(run)
            if head is not None and entry is not None and entry.awaited:
                with suppress(StoreError):  # whoever waits reads it then, and hears why it cannot be read
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
        """Forget what was heard: it may be out of date."""
        with self._lock:
            if self._follows:
                self._forget_open()

    def heads(self) -> dict[str, Head]:
        """Where the logs of open runs end."""
        with self._lock:
            return {run: replace(entry.head) for run, entry in self._open.items()}

    def lead(self, claim: Claim, tell: Callable[[News], None]) -> None:
        """From now on this process appends. Runs that are open are an earlier one's leftovers.

        Whatever changes is stored only if `claim` lets its transaction; then `tell` gets it. Raises StoreError.
        """
        with self._lock:
            self._follows, self._claim, self._tell = False, claim, tell
            self._forget_open()
            self.recover()

    def recover(self) -> None:
        """Close the runs that an earlier process left open, or of which this one does not know that they were begun,
        since the database was away. Raises StoreError.
        """
        with self._lock:
            with reading(self.engine) as connection:
                left = connection.scalars(sa.select(runs_table.c.run).where(~runs_table.c.closed)).all()
            for run in left:
                head = None if run in self._open or run in self._unstored else self.head(run)
                if head is not None:
                    self._open[run] = _Open(head, Condition(self._lock))
                    self.close_run(run, "interrupted", SERVER_STOPPED)

    @contextmanager
    def changing(self, failure: str, *, lasting: bool = False) -> Iterator[sa.Connection]:
        """A transaction, as `writing` has it, of whoever may change what is stored. Raises StoreError."""
        with writing(self.engine, failure, lasting=lasting) as connection:
            self._claim(connection)
            yield connection

    def when_closed(self, hear: Callable[[str], None]) -> None:
        """Call `hear` with every run that is closed from now on. It must neither take long nor ask the log anything."""
        self._hear = hear

    def close_run(self, run: str, reason: str, error: str | None) -> None:
        """End an open run with a `close` frame written here.

        Where the database does not take that frame, it stays in memory until `store_rest`, or the next `append`.
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
        """Store the `close` frames that wait in memory. Raises StoreError, and they wait on."""
        with self._lock:
            if self._unstored:
                self._store([])

    def open_runs(self) -> list[str]:
        """Runs without their `close` frame, oldest first."""
        with self._lock:
            return list(self._open)

    def head(self, run: str) -> Head | None:
        """Where the run's log ends; None for an unknown run."""
        if not is_key(run):
            return None
        with self._lock:
            entry = self._open.get(run) or self._unstored.get(run)
            if entry is not None:
                return replace(entry.head)
        with reading(self.engine) as connection:
            return stored_head(connection, run)

    def frames(self, run: str, after: int, limit: int = PAGE) -> list[bytes]:
        """Payloads of the frames that follow seq `after`, at most `limit`, without a gap."""
        found = self._cache.take(run, after, limit)
        if found:
            return found
        rest = self._unstored.get(run)
        if rest is not None and after >= rest.close.seq - 1:
            return [rest.close.payload] if after < rest.close.seq else []
        last = self._last_of(run)
        return self._read(run, after, limit if last is None else min(limit, last - after))

    def _last_of(self, run: str) -> int | None:
        """Where an open run's log ends for readers: what is stored beyond that nobody is to see, since the process that
        appends did not learn that it is stored, and may replace it, but for its first frame. None for a run that is
        closed.
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
            if entry is None and self._follows:
                self._heard.wait(min(timeout, POLL_S))
            elif entry is not None and entry.head.last_seq <= after:
                entry.awaited = True
                entry.changed.wait(timeout)

    def wake(self, run: str) -> None:
        """Wake who waits for this run, though nothing came."""
        with self._lock:
            entry = self._open.get(run)
            if entry is not None:
                entry.changed.notify_all()

    def opening(self, run: str) -> dict[str, Any]:
        """The data of the run's `open` frame. Raises Gone for an unknown run."""
        first = self.frames(run, -1, 1)
        if not first:
            raise Gone(run)
        return codec.header(first[0]).data

    def closing(self, run: str) -> dict[str, Any] | None:
        """The data of the run's `close` frame, None while it is open. Raises Gone for an unknown run."""
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
        """How many passes a workload's log has: what it has in place of steps."""
        return sum(codec.header(payload).kind == "pass" for payload in self.all_frames(run))

    def chosen(self, run: str) -> list[tuple[int, int]]:
        """For each complete step: seq of its `step` frame, id of the token it chose."""
        query = (
            sa.select(steps_table.c.seq, steps_table.c.token)
            .where(steps_table.c.run == run)
            .order_by(steps_table.c.step)
        )
        with reading(self.engine) as connection:
            return [(seq, token) for seq, token in connection.execute(query)]

    def family(self, run: str, public: Collection[str] = (), known: Collection[str] = ()) -> list[Member]:
        """The runs that are connected with `run` by a branch or a study, itself among them: first the one that comes
        from none of them, then the others, oldest first.

        What comes from a `public` run belongs to who made it, so it connects nothing but itself: of that, only the
        branch that `run` is on is listed, and those with a run that is `known`.
        """
        with reading(self.engine) as connection:
            found = members(connection, run, public, [each for each in known if is_key(each)])
        return [self._with_rest(member) for member in found]

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
        with reading(self.engine) as connection:
            runs = connection.scalars(query).all()
        return {run: study.get("of") if (study := self.opening(run).get("study")) else None for run in runs}

    def made_from(self, run: str) -> MadeFrom:
        """What is stored that came from a run."""
        query = sa.select(links_table.c.run).where(links_table.c.origin == run)
        with reading(self.engine) as connection:
            linked = connection.scalars(query).all()
        studies = {other for other in linked if self.opening(other).get("study")}
        return MadeFrom(sorted(studies), [other for other in linked if other not in studies])

    def oldest(self, *, closed: bool = True) -> Iterator[tuple[str, int]]:
        """The runs that have ended, or all of them, oldest first, each with its bytes."""
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
        """Let the token with this hash delete the run, which is stored."""
        with self._lock, self.changing("The run cannot be stored") as connection:
            changed = sa.update(runs_table).where(runs_table.c.run == run).values(token_sha256=token_sha256)
            connection.execute(changed)

    def is_token(self, run: str, token: str) -> bool:
        """Whether this is the token that deletes the run."""
        with reading(self.engine) as connection:
            stored = connection.scalar(sa.select(runs_table.c.token_sha256).where(runs_table.c.run == run))
        return stored is not None and hmac.compare_digest(stored, hash_of(token))

    def delete(self, runs: Sequence[str]) -> bool:
        """Forget these runs, all or, when one is open or held, none; whether that was done."""
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
        """Raise Lost where the database's file was deleted or replaced; other troubles are for whoever uses it."""
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
        """How much is stored: runs, frames, bytes."""
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
        """Read the frames that came, once for all who wait for them."""
        while after < last and (page := self._read(run, after, min(PAGE, last - after))):
            after += len(page)

    def _forget_open(self) -> None:
        for entry in self._open.values():
            entry.changed.notify_all()
        self._open.clear()
        self._heard.notify_all()

    def _store(self, frames: Sequence[Frame]) -> None:
        """Store frames, and with them what waits in memory."""
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
        """A run's log ends there now; who waits for it is woken."""
        entry = self._open.setdefault(run, _Open(head, Condition(self._lock)))
        entry.head = head
        entry.changed.notify_all()
        if head.closed:
            del self._open[run]


def _refuse(_connection: sa.Connection) -> None:
    raise Fenced("Another web process leads; this one stores nothing.")


def is_workload(opening: dict[str, Any]) -> bool:
    """Whether a log with this `open` data is of several requests that were answered together."""
    study = opening.get("study")
    return study is not None and study["kind"] == "serving"


def hash_of(token: str) -> str:
    """What is stored of a token that deletes something."""
    return sha256(token.encode()).hexdigest()
