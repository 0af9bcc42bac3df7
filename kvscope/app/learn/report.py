"""The output of `kvscope lessons check DIR`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from kvscope.app.learn.check import Report, check
from kvscope.app.learn.lesson_check import ideas
from kvscope.app.paths import LESSONS, STATIC
from kvscope.app.store.gallery import recordings_in
from kvscope.model.by_hand.examples import EXAMPLES


def report_of(folder: Path, recordings: Path) -> Report:
    """Checks the lessons of a folder with the recordings of another. A reader's own lessons follow those that ship.
    Raises OSError.
    """
    glossary = json.loads((STATIC / "shared" / "words" / "glossary.json").read_text("utf-8"))
    shipped = LESSONS / "en"
    return check(
        folder,
        recordings_in(recordings),
        glossary,
        worked_out,
        None if folder.resolve() == shipped.resolve() else shipped,
    )


@cache
def worked_out(example: str) -> dict[str, Any]:
    """Computes a worked example in this process. Raises LookupError for an unknown one."""
    if example not in EXAMPLES:
        raise LookupError(f"there is no worked example {example}; there are {', '.join(EXAMPLES)}")
    # Imported by its name: the web process also imports this module, and must not load tensors.
    derivation = import_module("kvscope.model.by_hand.derivation")
    answer: dict[str, Any] = derivation.derive(EXAMPLES[example]).as_json()
    return answer


def lines(report: Report) -> Iterator[str]:
    """Yields the mistakes, then the figures; for the lessons that ship, also the lessons of each idea."""
    yield from map(str, report.faults)
    lessons = "1 lesson" if report.lessons == 1 else f"{report.lessons} lessons"
    yield f"{lessons}, {report.steps} steps, {report.checks} predictions and tasks"
    yield f"{report.claims} claims computed, {report.states} states opened"
    yield f"longest step: {report.longest} words; reading level: school year {report.reading:.1f}"
    if report.own:
        return
    yield f"reading paths: {report.sections} sections, {report.placed} with a place here"
    for idea in [name for group in ideas().values() for name in group]:
        yield f"{idea:>4}  {', '.join(report.ideas.get(idea, ['no lesson']))}"
    yield f"ideas of the course without a lesson: {len(report.without_lesson)}"
