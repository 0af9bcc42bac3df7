"""Computes the exact values of a run to store in a session, one step at a time, so that other runs continue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.store.database import reason_of
from kvscope.app.store.errors import StoreError
from kvscope.app.store.manifest import label_of
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.value_parts import Values, describe
from kvscope.model.api import Frame, ValueLevel, ValuesRequest, under_changes, value_bytes
from kvscope.model.log.schema import rows_of

WAIT_S = 120.0
"""How long a run waits while the values of another run are computed."""


class ValueMaker:
    """Computes the values of one run at a time; until they are stored they are in a temporary file in `folder`."""

    def __init__(self, runs: RunLog, sessions: SessionStore, pool: Pool, folder: Path, most_bytes: int) -> None:
        self._runs, self._sessions, self._pool = runs, sessions, pool
        self._folder, self.most_bytes = folder, most_bytes
        self._turn = Lock()
        self._done: dict[str, int] = {}

    def estimate(self, run: str, level: ValueLevel) -> int:
        """Returns the estimated bytes of the values of a run."""
        opening = self._runs.opening(run)
        rows = len(opening["tokens"]) + len(self._runs.chosen(run)) - 1
        return value_bytes(opening["model"], rows, level)

    def progress(self, run: str) -> int | None:
        """Returns how many steps are computed; None if no values of the run are being computed."""
        return self._done.get(run)

    def share(self, run: str, words: dict[str, Any], level: ValueLevel) -> tuple[str, str]:
        """Saves an ended run with `words` and its values, as SessionStore.share does. The values are computed unless
        the run was shared with the same words and level before.

        Raises EngineUnavailable, Refused, StoreError.
        """
        origin = self._sessions.origin_of(run, words, level)
        again = self._sessions.share_again(origin)
        if again is not None:
            return again
        with self._turn_of(run), self._runs.held(run):
            # The thread that had the turn before may have shared the same.
            again = self._sessions.share_again(origin)
            if again is not None:
                return again
            with self._computed(run, label_of(run), level) as values:
                return self._sessions.share(run, words, values, origin)

    @contextmanager
    def _turn_of(self, run: str) -> Iterator[None]:
        """Waits for the turn of a run; one has it at a time. Raises EngineUnavailable after WAIT_S."""
        if not self._turn.acquire(timeout=WAIT_S):
            raise EngineUnavailable("Exact values of another run are being computed. Try again later.", retry_after=30)
        self._done[run] = 0
        try:
            yield
        finally:
            self._done.pop(run)
            self._turn.release()

    @contextmanager
    def _computed(self, run: str, label: str, level: ValueLevel) -> Iterator[Values]:
        """Yields the values of the run that has the turn, in frames of the run `label`; deleted after the context."""
        try:
            with _spool(self._folder) as file:
                parts = []
                for payload in self._frames(run, label, level):
                    file.write(payload)
                    parts.append(describe(payload))
                file.flush()
                yield Values(level, parts, lambda: _payloads(file, parts))
        except OSError as error:
            raise StoreError(f"The exact values cannot be stored: {reason_of(error)}.") from None

    def _frames(self, run: str, label: str, level: ValueLevel) -> Iterator[bytes]:
        opening = self._runs.opening(run)
        prompt, model = [token["id"] for token in opening["tokens"]], self._pool.serving(opening["model"])
        chosen = [token for _, token in self._runs.chosen(run)]
        for step, token in enumerate(chosen):
            ids = prompt + chosen[:step]
            request = ValuesRequest(label, step, ids, rows_of(len(prompt), step).start, token, level)
            if model is not None:
                model.touch()
            frames: list[Frame] = self._pool.call(*under_changes(opening, "values", request), model=model)
            for frame in frames:
                yield frame.payload
            self._done[run] = step + 1


def _spool(folder: Path) -> IO[bytes]:
    return TemporaryFile(dir=folder, prefix="values-")


def _payloads(file: IO[bytes], parts: list[dict[str, Any]]) -> Iterator[bytes]:
    file.seek(0)
    for part in parts:
        yield file.read(part["bytes"])
