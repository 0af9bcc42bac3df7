"""The lessons of a folder, in order, and their recordings."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from kvscope.app.learn.nodes import text_of
from kvscope.app.learn.parse import Lesson, id_of, read
from kvscope.app.learn.paths import Paths, read_paths
from kvscope.app.learn.schema import Front
from kvscope.app.store.gallery import Recording
from kvscope.app.text_files import files_with
from kvscope.model.log.reader import LogReader

PATHS = "paths"
"""The folder of reading paths, beside that of the lessons."""
Stamp = tuple[int, int]
"""A file's time of modification in nanoseconds and its size in bytes. They change when its text does."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A lesson in a list. `number`: from 1. `steps`: number of steps. `own`: from the folder that `--lessons` names."""

    id: str
    number: int
    title: str
    minutes: int
    steps: int
    ideas: tuple[str, ...]
    needs: tuple[str, ...]
    own: bool


class Library:
    """The lessons of a folder, then those of `more`. A changed file is read again at the next request, so that its
    writer sees the change. The list leaves out files without readable front matter.
    """

    def __init__(self, folder: Path, recordings: Sequence[Recording], more: Path | None = None) -> None:
        self._folders = [folder, *([more] if more else [])]
        self._recordings = {recording.path.stem: recording for recording in recordings}
        self._lock = Lock()
        self._lessons: dict[Path, tuple[Stamp, Lesson]] = {}
        self._paths: tuple[object, Paths] = (None, Paths())

    def _current(self) -> dict[str, Lesson]:
        """Returns the lessons by id, from the files as they are now."""
        with self._lock:
            current = {}
            for path in (path for folder in self._folders for path in files_of(folder)):
                with suppress(OSError):  # removed in the meantime
                    known, stamp = self._lessons.get(path), _stamp(path)
                    current[path] = known if known and known[0] == stamp else (stamp, read(path))
            self._lessons = current
            return {lesson.id: lesson for _, lesson in current.values()}

    @property
    def listed(self) -> list[Listed]:
        """The lessons of the list, in order."""
        own = {id_of(path) for folder in self._folders[1:] for path in files_of(folder)}
        lessons = self._current().values()
        return [_listed(lesson, number, lesson.front, own) for number, lesson in enumerate(lessons, 1) if lesson.front]

    @property
    def titles(self) -> dict[str, list[str]]:
        """The titles of the steps of each lesson, by its id. An expression in a title is a 0."""
        return {id: [text_of(step.title).strip() for step in lesson.steps] for id, lesson in self._current().items()}

    @property
    def paths(self) -> Paths:
        """The reading paths over the lessons as they are now."""
        folder = self._folders[0].parent / PATHS
        steps = {id: len(lesson.steps) for id, lesson in self._current().items()}
        with self._lock:
            state = (steps, [(path, _stamp(path)) for path in files_with(".toml", folder)])
            if self._paths[0] != state:
                self._paths = state, read_paths(folder, steps)
            return self._paths[1]

    def lesson(self, id: str) -> Lesson:
        """Returns a lesson. Raises KeyError."""
        return self._current()[id]

    def recording(self, lesson: Lesson) -> Recording | None:
        """Returns a lesson's recording; None if it has none, or this installation lacks it."""
        return self._recordings.get(lesson.front.run) if lesson.front and lesson.front.run else None

    def log(self, recording: Recording) -> LogReader:
        """Reads a recording's log. Raises codec.BadFrame, OSError."""
        return LogReader(recording.frames())


def _stamp(path: Path) -> Stamp:
    """Returns a file's stamp. Raises OSError."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size


def _listed(lesson: Lesson, number: int, front: Front, own: Container[str]) -> Listed:
    lists = tuple(front.ideas), tuple(front.needs)
    return Listed(lesson.id, number, front.title, front.minutes, len(lesson.steps), *lists, lesson.id in own)


def files_of(folder: Path) -> list[Path]:
    """Returns the lesson files of a folder, ordered by name."""
    return list(files_with(".md", folder))
