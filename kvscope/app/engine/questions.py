"""Asks the engine for values that are computed again: each once, and a limited number at a time for one client.

An answer depends only on the question and the model, so it is stored under a hash of both: in memory, and also on the
disk if it is about a saved session.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.once import Once
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Requester
from kvscope.model.work_folder import whole_file

MOST_AT_ONCE, MOST_BY_ADDRESS, MOST_BY_CLIENT = 48, 36, 12
"""Limits of questions in progress: in total, of one address, of one client. A page asks a few at a time."""
RETRY_S = 2
MEMORY_BYTES, DISK_BYTES = 64 * 1024 * 1024, 256 * 1024 * 1024
JSON, BINARY = b"j", b"b"
"""The first byte of a stored answer: the format of the rest."""

Answer = bytes | Any


class TooManyQuestions(Exception):
    """`limit` questions are being computed, the most allowed. `retry_after`: seconds to wait before the next try."""

    def __init__(self, whose: str, limit: int) -> None:
        super().__init__(f"{limit} requests {whose} are being computed, the most allowed. Try again in a moment.")
        self.limit, self.retry_after = limit, RETRY_S


@dataclass(frozen=True, slots=True)
class Computation:
    """A method of the service with its arguments. `lasting`: whether it is about a saved session. `model`: the model
    that answers it; None for any.
    """

    method: str
    arguments: tuple[Any, ...]
    lasting: bool = False
    model: ServedModel | None = None


class Questions:
    """Asks the engines of `pool`. `info`: returns the `model` object of a model, or of any model for None. `folder`:
    for lasting answers.
    """

    def __init__(self, pool: Pool, info: Callable[[ServedModel | None], dict[str, Any] | None], folder: Path) -> None:
        self._pool, self._info, self._folder = pool, info, folder
        self._lock = Lock()
        self._in_progress: Counter[str | Requester] = Counter()
        self._once = Once[str](MEMORY_BYTES)

    def ask(self, computation: Computation, requester: Requester, count: Callable[[], None] = lambda: None) -> Answer:
        """Returns the answer: bytes, or a value from JSON. `count` is called unless the answer is stored.

        Raises Refused, TooManyQuestions, EngineUnavailable, RuntimeError for a fault inside the engine, and the errors
        of `count`.
        """
        key = self._key(computation)
        answer = self._stored(key, computation.lasting)
        if answer is None:
            count()
            with self._turn(requester):
                answer = self._once.compute(key, lambda: self._compute(key, computation, requester))
        return _read(answer)

    def stored(self, computation: Computation) -> Answer | None:
        """Returns the answer if it is stored, else None."""
        answer = self._stored(self._key(computation), computation.lasting)
        return None if answer is None else _read(answer)

    def ask_again(self, computation: Computation, requester: Requester) -> Answer:
        """Returns a newly computed answer, which is not stored. Raises the same errors as `ask`."""
        with self._turn(requester):
            return self._call(computation, requester)

    def _call(self, computation: Computation, requester: Requester) -> Any:
        return self._pool.call(
            computation.method, *computation.arguments, client="\n".join(requester), model=computation.model
        )

    def _compute(self, key: str, computation: Computation, requester: Requester) -> bytes:
        value = self._call(computation, requester)
        answer = BINARY + value if isinstance(value, bytes) else JSON + json.dumps(value).encode()
        if computation.lasting:
            with suppress(OSError):  # for example a full disk: the answer is computed again next time
                self._folder.mkdir(parents=True, exist_ok=True)
                with whole_file(self._folder / key) as file:
                    file.write(answer)
                self._keep_within(DISK_BYTES)
        return answer

    @contextmanager
    def _turn(self, requester: Requester) -> Iterator[None]:
        """Counts a question for its client, its address and in total. Raises TooManyQuestions."""
        limits: tuple[tuple[str | Requester, int, str], ...] = (
            (requester, MOST_BY_CLIENT, "from you"),
            (requester.address, MOST_BY_ADDRESS, "from your address"),
            ("", MOST_AT_ONCE, "in total"),
        )
        with self._lock:
            for who, limit, whose in limits:
                if self._in_progress[who] >= limit:
                    raise TooManyQuestions(whose, limit)
            self._in_progress.update(who for who, _, _ in limits)
        try:
            yield
        finally:
            with self._lock:
                self._in_progress.subtract(who for who, _, _ in limits)
                self._in_progress = +self._in_progress  # without the zeros

    def _key(self, computation: Computation) -> str:
        model = self._info(computation.model) or {}
        key_parts = [model.get("sha256"), model.get("weight_dtype"), computation.method, computation.arguments]
        return hashlib.sha256(json.dumps(key_parts, default=repr).encode()).hexdigest()

    def _stored(self, key: str, lasting: bool) -> bytes | None:
        answer = self._once.get(key)
        if answer is None and lasting:
            with suppress(OSError):
                answer = (self._folder / key).read_bytes()
                os.utime(self._folder / key)
                self._once.put(key, answer)
        return answer

    def _keep_within(self, most: int) -> None:
        """Deletes the least recently used answers until the folder has at most `most` bytes."""
        entries = ((file, file.stat()) for file in self._folder.iterdir() if file.is_file())
        files = sorted(entries, key=lambda entry: entry[1].st_mtime)
        over = sum(status.st_size for _, status in files) - most
        for file, status in files:
            if over <= 0:
                return
            file.unlink(missing_ok=True)
            over -= status.st_size


def _read(answer: bytes) -> Answer:
    return answer[1:] if answer.startswith(BINARY) else json.loads(answer[1:])
