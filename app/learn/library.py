"""The lessons of a folder in their order, and the recordings that they run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvscope.app.learn.parse import Lesson, read
from kvscope.app.learn.paths import read_paths
from kvscope.app.learn.schema import Front
from kvscope.app.store.gallery import Recording
from kvscope.model.log.reader import LogReader

PATHS = "paths"
"""The folder beside that of the lessons, which has the reading paths."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A lesson as lists have it. `number`: from 1; `steps`: how many it has."""

    id: str
    number: int
    title: str
    minutes: int
    steps: int
    ideas: tuple[str, ...]
    needs: tuple[str, ...]


class Library:
    """The lessons of a folder, then those of `more`, read once. A file without readable front matter is left out of the
    list.
    """

    def __init__(self, folder: Path, recordings: Sequence[Recording], more: Path | None = None) -> None:
        files = [*files_of(folder), *(files_of(more) if more else ())]
        self._lessons = {path.stem: read(path) for path in files}
        self.paths = read_paths(folder.parent / PATHS, {id: len(each.steps) for id, each in self._lessons.items()})
        self._recordings = {recording.path.stem: recording for recording in recordings}
        self.listed = [
            _listed(each, number, each.front) for number, each in enumerate(self._lessons.values(), 1) if each.front
        ]

    def lesson(self, id: str) -> Lesson:
        """Raises KeyError."""
        return self._lessons[id]

    def recording(self, lesson: Lesson) -> Recording | None:
        """The recording that it runs on; None for none, or one that this installation lacks."""
        return self._recordings.get(lesson.front.run) if lesson.front and lesson.front.run else None

    def log(self, recording: Recording) -> LogReader:
        """Raises codec.BadFrame, OSError."""
        return LogReader(recording.frames())


def _listed(lesson: Lesson, number: int, front: Front) -> Listed:
    lists = tuple(front.ideas), tuple(front.needs)
    return Listed(lesson.id, number, front.title, front.minutes, len(lesson.steps), *lists)


def files_of(folder: Path) -> list[Path]:
    """The lesson files of a folder in their order, which is that of their names."""
    return sorted(folder.glob("*.md"))
