"""Questions to the engine about values that are computed again: each is computed once, and nobody may ask without end.

The answer to a question depends on nothing but the question and the model, so it is kept under a hash of both: while it
is being computed, everybody who asks waits for the same answer; afterwards it is in memory, and on the disk where what
it is about is kept too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Requester
from kvscope.model.api import ChangedRun
from kvscope.model.work_folder import whole_file

MOST_AT_ONCE, MOST_BY_ADDRESS, MOST_BY_CLIENT = 48, 36, 12
"""Questions being computed or waited for: in all, of one address, of one client. A page asks a handful at a time."""
RETRY_S = 2
MEMORY_BYTES, DISK_BYTES = 64 * 1024 * 1024, 256 * 1024 * 1024
JSON, BINARY = b"j", b"b"
"""What an answer's first byte says of the rest."""

Answer = bytes | Any


class TooManyQuestions(Exception):
    """As many questions as may be are being computed, `limit`; `retry_after`: in how many seconds to ask again."""

    def __init__(self, whose: str, limit: int) -> None:
        super().__init__(f"{limit} requests {whose} are being computed, the most allowed. Try again in a moment.")
        self.limit, self.retry_after = limit, RETRY_S


@dataclass(frozen=True, slots=True)
class Computation:
    """A method of the service with its arguments. `lasting`: it is about something that is kept, a saved session.
    `model`: which answers; None: any.
    """

    method: str
    arguments: tuple[Any, ...]
    lasting: bool = False
    model: ServedModel | None = None


def under_changes(opening: Mapping[str, Any], method: str, *arguments: Any) -> tuple[Any, ...]:
    """The method that answers a question about a run with this `open` frame, and its arguments."""
    changed = ChangedRun.of(opening)
    return (method, *arguments) if changed is None else ("of_changed", changed, method, *arguments)


class Questions:
    """Asks the engine. `info`: what tells a model from others (None: any that answers); answers on the
    disk are in `folder`.
    """

    def __init__(self, pool: Pool, info: Callable[[ServedModel | None], dict[str, Any] | None], folder: Path) -> None:
        self._pool, self._info, self._folder = pool, info, folder
        self._lock = Lock()
        self._computing: dict[str, Future[bytes]] = {}
        self._asking: Counter[str | Requester] = Counter()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0

    def ask(self, computation: Computation, requester: Requester, count: Callable[[], None] = lambda: None) -> Answer:
        """The answer: bytes, or what JSON says. `count` is called before anything is computed for it.

        Raises Refused, TooManyQuestions, EngineUnavailable, RuntimeError for a fault inside the engine, and what
        `count` raises.
        """
        key = self._key(computation)
        if (answer := self._known(key, computation.lasting)) is not None:
            return _read(answer)
        count()
        with self._turn(requester):
            with self._lock:
                computing = self._computing.get(key)
                first = computing is None
                if computing is None:
                    computing = self._computing[key] = Future()
            if first:
                self._compute(key, computation, requester, computing)
            return _read(computing.result())

    def stored(self, computation: Computation) -> Answer | None:
        """The answer, if it is kept."""
        answer = self._known(self._key(computation), computation.lasting)
        return None if answer is None else _read(answer)

    def ask_again(self, computation: Computation, requester: Requester) -> Answer:
        """The answer as it is now, which is not kept. Raises as `ask`."""
        with self._turn(requester):
            return self._call(computation, requester)

    def _call(self, computation: Computation, requester: Requester) -> Any:
        return self._pool.call(
            computation.method, *computation.arguments, client="\n".join(requester), model=computation.model
        )

    def _compute(self, key: str, computation: Computation, requester: Requester, computing: Future[bytes]) -> None:
        try:
            value = self._call(computation, requester)
            answer = BINARY + value if isinstance(value, bytes) else JSON + json.dumps(value).encode()
        except BaseException as error:
            with self._lock:
                del self._computing[key]
            computing.set_exception(error)
            return
        self._keep(key, answer, computation.lasting)
        with self._lock:
            del self._computing[key]
        computing.set_result(answer)

    @contextmanager
    def _turn(self, requester: Requester) -> Iterator[None]:
        """While a question is being answered, it counts for its client, its address and in all."""
        limits: tuple[tuple[str | Requester, int, str], ...] = (
            (requester, MOST_BY_CLIENT, "from you"),
            (requester.address, MOST_BY_ADDRESS, "from your address"),
            ("", MOST_AT_ONCE, "in total"),
        )
        with self._lock:
            for who, limit, whose in limits:
                if self._asking[who] >= limit:
                    raise TooManyQuestions(whose, limit)
            self._asking.update(who for who, _, _ in limits)
        try:
            yield
        finally:
            with self._lock:
                self._asking.subtract(who for who, _, _ in limits)
                # Without the zeros: what is left names those who are asking.
                self._asking = +self._asking

    def _key(self, computation: Computation) -> str:
        model = self._info(computation.model) or {}
        asked = [model.get("sha256"), model.get("weight_dtype"), computation.method, computation.arguments]
        return hashlib.sha256(json.dumps(asked, default=repr).encode()).hexdigest()

    def _known(self, key: str, lasting: bool) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        if not lasting:
            return None
        try:
            answer = (self._folder / key).read_bytes()
            os.utime(self._folder / key)
        except OSError:
            return None
        self._remember(key, answer)
        return answer

    def _keep(self, key: str, answer: bytes, lasting: bool) -> None:
        self._remember(key, answer)
        if not lasting:
            return
        with suppress(OSError):  # a full disk: it is computed again
            self._folder.mkdir(parents=True, exist_ok=True)
            with whole_file(self._folder / key) as file:
                file.write(answer)
            self._keep_within(DISK_BYTES)

    def _remember(self, key: str, answer: bytes) -> None:
        with self._lock:
            if key in self._kept or len(answer) > MEMORY_BYTES:
                return
            self._kept[key] = answer
            self._kept_bytes += len(answer)
            while self._kept_bytes > MEMORY_BYTES:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1])

    def _keep_within(self, most: int) -> None:
        """Delete what nobody has asked for longest until the folder has at most so many bytes."""
        found = ((file, file.stat()) for file in self._folder.iterdir() if file.is_file())
        files = sorted(found, key=lambda item: item[1].st_mtime)
        over = sum(status.st_size for _, status in files) - most
        for file, status in files:
            if over <= 0:
                return
            file.unlink(missing_ok=True)
            over -= status.st_size


def _read(answer: bytes) -> Answer:
    return answer[1:] if answer.startswith(BINARY) else json.loads(answer[1:])
