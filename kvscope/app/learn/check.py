"""`kvscope lessons check DIR`: checks every claim, state, term and length of every lesson, and the table of ideas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvscope.app.learn.facts import ByHand
from kvscope.app.learn.faults import Fault
from kvscope.app.learn.lesson_check import WORD, Known, LessonCheck, ideas, words_of
from kvscope.app.learn.library import PATHS, files_of
from kvscope.app.learn.nodes import text_of
from kvscope.app.learn.parse import Lesson, id_of, read, read_front
from kvscope.app.learn.paths import read_paths
from kvscope.app.store.gallery import Recording

SENTENCE_END = re.compile(r"[.!?:]+(?=\s|$)")


@dataclass(slots=True)
class Report:
    """The result of `check`. `claims`: number of computed expressions. `longest`: words of the longest step.
    `sections`: of documents on reading paths; `placed` of them lead to a place. `own`: the lessons are not those that
    ship. `shown`: each lesson as `rendered` returns it.
    """

    lessons: int = 0
    steps: int = 0
    claims: int = 0
    checks: int = 0
    states: int = 0
    longest: int = 0
    sections: int = 0
    placed: int = 0
    reading: float = 0.0
    own: bool = False
    shown: list[dict[str, Any]] = field(default_factory=list)
    ideas: dict[str, list[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def without_lesson(self) -> list[str]:
        """Ideas of the course without a lesson."""
        return [idea for idea in ideas()["course"] if idea not in self.ideas]


def check(
    folder: Path,
    recordings: Sequence[Recording],
    glossary: Mapping[str, Mapping[str, Any]],
    by_hand: ByHand,
    shipped: Path | None = None,
) -> Report:
    """Checks all lessons of a folder.

    `shipped`: the folder of the lessons before them. None: these lessons ship, have reading paths and must show every
    idea. Raises OSError.
    """
    report, lessons = Report(own=shipped is not None), [read(path) for path in files_of(folder)]
    earlier = {id_of(path): read_front(path) for path in files_of(shipped)} if shipped else {}
    known = Known(
        recordings={recording.path.stem: recording for recording in recordings},
        glossary=glossary,
        by_hand=by_hand,
        lessons=sorted({*earlier, *(lesson.id for lesson in lessons)}),
        before=set(earlier),
        introduced={term for front in earlier.values() if front for term in front.introduces},
    )
    for lesson in lessons:
        checked = LessonCheck(lesson, known)
        _count(report, lesson, checked)
        if lesson.id in earlier:
            report.faults.append(Fault(lesson.file, 1, "a lesson that ships has this name; give the file another"))
        known.before.add(lesson.id)
        known.introduced.update(lesson.readable.introduces if lesson.readable else ())
    report.reading = reading_level(" ".join(text_of(step.text) for lesson in lessons for step in lesson.steps))
    if not report.own:
        _check_paths(report, folder.parent / PATHS, lessons)
    report.faults.sort()
    return report


def _count(report: Report, lesson: Lesson, checked: LessonCheck) -> None:
    report.faults += checked.faults
    report.lessons += 1
    report.steps += len(lesson.steps)
    report.claims += checked.claims
    report.checks += checked.checks
    report.states += checked.states
    report.longest = max([report.longest, *map(words_of, lesson.steps)])
    report.shown.append(checked.shown)
    for idea in lesson.readable.ideas if lesson.readable else ():
        report.ideas.setdefault(idea, []).append(lesson.id)


def _check_paths(report: Report, folder: Path, lessons: Sequence[Lesson]) -> None:
    paths = read_paths(folder, {lesson.id: len(lesson.steps) for lesson in lessons})
    report.faults += paths.faults
    report.sections = sum(len(path.section) for path in paths.paths.values())
    report.placed = sum(section.leads is not None for path in paths.paths.values() for section in path.section)


def reading_level(text: str) -> float:
    """Returns the school year whose pupils can read a text: the automated readability index (Smith and Senter 1967,
    AMRL-TR-66-220).
    """
    words, sentences = WORD.findall(text), len(SENTENCE_END.findall(text))
    if not words or not sentences:
        return 0.0
    return 4.71 * sum(map(len, words)) / len(words) + 0.5 * len(words) / sentences - 21.43
