"""Recorded real runs that ship with the project.

Each is a file of one run (docs/frames.md). If its metadata has `session` and `gallery`, it is a saved session with a
card in the gallery. A recording without these, or whose card has `starts`, is stored in the log like any other run, and
can be shown while the model loads.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from kvscope.app.store.errors import Damaged, Deleted, StoreError
from kvscope.app.store.manifest import canonical, is_workload, name_of
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.store.value_parts import Values, describe
from kvscope.model.log import frames as codec
from kvscope.model.log.archive import Archive
from kvscope.model.log.untrusted import BadFile

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded run: its id and its prompt. `look`: layer, head, query and key of the cell shown first."""

    id: str
    title: str
    look: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Examples:
    """The recordings in the log, by the page that shows them first."""

    runs: list[Example]
    workloads: list[Example]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all examples."""
        return frozenset(example.id for example in (*self.runs, *self.workloads))


@dataclass(frozen=True, slots=True)
class Card:
    """A recorded run in the gallery. `id`: of its session; `shows`: its subject in a few words; `picture`: the data to
    draw; `tokens`: number of tokens of its prompt.
    """

    id: str
    title: str
    shows: str
    sentence: str
    notes: int
    steps: int
    tokens: int
    picture: dict[str, Any]
    made_of: str = "step"
    """The unit of `steps`: "step", or "pass" for a workload."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One file, as its header describes it. `words`: of its session; None if it has no card."""

    path: Path
    example: Example | None
    words: dict[str, Any] | None
    card: Card | None
    order: int
    workload: bool = False
    prompt: str = ""
    level: str | None = None
    """Level of its exact values; None if it has none."""

    def frames(self) -> Iterator[bytes]:
        """Returns the payloads of the log. Raises codec.BadFrame, OSError."""
        return (frame.payload for frame in codec.split(self.path.read_bytes()))

    def values(self) -> list[bytes]:
        """Returns the payloads of its `values` frames. Raises BadFile, OSError."""
        return list(Archive(memoryview(self.path.read_bytes())).values())


def recordings_in(folder: Path) -> list[Recording]:
    """Returns the recording of each `*.safetensors` in the folder, by name. A damaged file is left out."""
    recordings = []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            recordings.append(_described(path))
        except (codec.BadFrame, OSError, ValueError, KeyError, TypeError) as error:
            log.warning("recording %s is left out: %s", path.name, error)
    return recordings


def load(recordings: list[Recording], runs: RunLog, *, store: bool = True) -> Examples:
    """Stores recordings that have an example in the log, under their own ids, unless they are there, and returns the
    examples. A damaged file is left out. `store`: False if another process, which leads, stores them.
    """
    examples = Examples([], [])
    for recording in recordings:
        if recording.example is None:
            continue
        try:
            if runs.head(recording.example.id) is None:
                frames = codec.split(recording.path.read_bytes())
                if store:
                    runs.append(frames)
        except (codec.BadFrame, OSError, ValueError, KeyError) as error:
            log.warning("recording %s is left out: %s", recording.path.name, error)
        else:
            (examples.workloads if recording.workload else examples.runs).append(recording.example)
    return examples


class Gallery:
    """Saves recordings as sessions, once, in a thread: at a first start it takes longer than serving the first page."""

    def __init__(self, recordings: list[Recording], sessions: SessionStore) -> None:
        self._sessions = sessions
        self.ids = frozenset(recording.card.id for recording in recordings if recording.card)
        """Session ids of all recordings that could have a card."""
        self._lock = Lock()
        self._unsaved = sorted(recordings, key=lambda recording: recording.order)
        self._saved: list[Recording] = []
        self._thread = Thread(target=self.cards, name="gallery", daemon=True)

    def start(self) -> None:
        """Saves the recordings in the background."""
        self._thread.start()

    def cards(self) -> list[Card]:
        """Returns the cards of the saved recordings, in order.

        A file that is damaged, or whose content has another id, is left out. A recording that could not be stored is
        tried again in the next call.
        """
        with self._lock:
            unsaved, self._unsaved = self._unsaved, []
            for recording in unsaved:
                self._save(recording)
            self._saved.sort(key=lambda recording: recording.order)
            return [recording.card for recording in self._saved if recording.card is not None]

    def close(self) -> None:
        """Waits until the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _save(self, recording: Recording) -> None:
        if recording.card is None or recording.words is None:
            return
        try:
            _save(recording, recording.card.id, recording.words, self._sessions)
        except StoreError as error:
            log.warning("recording %s cannot be saved now: %s", recording.path.name, error)
            self._unsaved.append(recording)
        except (codec.BadFrame, BadFile, OSError, ValueError, KeyError, Damaged, Deleted) as error:
            log.warning("recording %s is not in the gallery: %s", recording.path.name, error)
        else:
            self._saved.append(recording)


def _save(recording: Recording, id: str, words: dict[str, Any], sessions: SessionStore) -> None:
    """Saves a recording. Its values are no part of its id: links stay valid when a later version ships more of them."""
    if sessions.head(id) is None:
        frames = list(recording.frames())
        name = name_of(canonical(words), frames)
        if not name.startswith(id):
            raise ValueError(f"its content has the id {name[: len(id)]}, not {id}")
        # Nobody gets the token: recordings that ship must not be deleted.
        sessions.keep(words, lambda: iter(frames))
    if recording.level and sessions.manifest(id)["values"] is None:
        payloads = recording.values()
        parts = [describe(payload) for payload in payloads]
        sessions.add_values(id, Values(recording.level, parts, lambda: iter(payloads)))


def _described(path: Path) -> Recording:
    """Returns a recording from the file's header. Raises codec.BadFrame, OSError, ValueError, KeyError, TypeError."""
    fields = codec.raw_header(path.read_bytes())["__metadata__"]
    opening = json.loads(json.loads(fields["000000"])["data"])
    example = Example(fields["run"], opening["prompt"])
    if "gallery" not in fields:
        return Recording(path, example, None, None, 0, prompt=opening["prompt"])
    session, shown = json.loads(fields["session"]), json.loads(fields["gallery"])
    kinds = [json.loads(fields[name])["kind"] for name in fields if name.isdecimal()]
    words = {field: session[field] for field in ("title", "notes", "open")}
    card = Card(
        session["id"],
        session["title"],
        shown["shows"],
        shown["sentence"],
        len(session["notes"]),
        sum(kind in ("step", "pass") for kind in kinds),
        len(opening["tokens"]),
        shown["picture"],
        "pass" if is_workload(opening) else "step",
    )
    look = {name: session["open"][name] for name in ("layer", "head", "query", "key")}
    if None not in look.values():
        example = replace(example, look=look)
    started = example if shown["starts"] else None
    return Recording(
        path, started, words, card, shown["order"], is_workload(opening), opening["prompt"], session.get("values")
    )
