"""`kvscope lessons check DIR`: every claim, state, term and length of every lesson, and the table of ideas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvscope.app.learn.addresses import BadAddress, address_of, outside
from kvscope.app.learn.compute import Computer, NotComputed
from kvscope.app.learn.facts import ByHand, facts_of, no_run
from kvscope.app.learn.faults import Fault
from kvscope.app.learn.library import PATHS, files_of
from kvscope.app.learn.nodes import Node, text_of, walk
from kvscope.app.learn.parse import Lesson, Step, read
from kvscope.app.learn.paths import read_paths
from kvscope.app.learn.render import FAULTY, rendered
from kvscope.app.learn.schema import MOST_WORDS
from kvscope.app.store.gallery import Recording
from kvscope.model.log.frames import BadFrame
from kvscope.model.log.reader import LogReader

IDEAS = tuple(f"C{number}" for number in range(1, 41))
"""That the lessons together have to show."""
STEPS, CHECKS = (5, 9), 2
"""How many steps a lesson has; the fewest of predictions and tasks in it."""
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
SENTENCE_END = re.compile(r"[.!?:]+(?=\s|$)")


@dataclass(slots=True)
class Report:
    """What `check` found. `claims`: expressions that were computed; `longest`: words of the longest step's prose;
    `sections`: of documents on reading paths, of which `placed` lead somewhere.
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
    ideas: dict[str, list[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def without_lesson(self) -> list[str]:
        """Ideas that no lesson shows."""
        return [idea for idea in IDEAS if idea not in self.ideas]


def check(
    folder: Path, recordings: Sequence[Recording], glossary: Mapping[str, Mapping[str, Any]], by_hand: ByHand
) -> Report:
    """Check all lessons of a folder. Raises OSError."""
    report, introduced, ids = Report(), set[str](), set[str]()
    texts: list[str] = []
    by_name = {recording.path.stem: recording for recording in recordings}
    lessons = [read(path) for path in files_of(folder)]
    for lesson in lessons:
        found = _Checked(lesson, by_name, glossary, by_hand, introduced, ids)
        report.faults += found.faults
        report.lessons += 1
        report.steps += len(lesson.steps)
        report.claims += found.claims
        report.checks += found.checks
        report.states += found.states
        report.longest = max([report.longest, *map(_words, lesson.steps)])
        texts += [text_of(step.prose) for step in lesson.steps]
        ids.add(lesson.id)
        if lesson.front:
            introduced.update(lesson.front.introduces)
            for idea in lesson.front.ideas:
                report.ideas.setdefault(idea, []).append(lesson.id)
    paths = read_paths(folder.parent / PATHS, {lesson.id: len(lesson.steps) for lesson in lessons})
    report.faults += paths.faults
    report.sections = sum(len(path.section) for path in paths.paths.values())
    report.placed = sum(each.leads is not None for path in paths.paths.values() for each in path.section)
    report.reading = reading_level(" ".join(texts))
    report.faults.sort()
    return report


def reading_level(text: str) -> float:
    """School year whose pupils can read it: the automated readability index (Smith and Senter 1967, AMRL-TR-66-220)."""
    words, sentences = WORD.findall(text), len(SENTENCE_END.findall(text))
    if not words or not sentences:
        return 0.0
    return 4.71 * sum(map(len, words)) / len(words) + 0.5 * len(words) / sentences - 21.43


def _words(step: Step) -> int:
    return len(WORD.findall(text_of(step.prose)))


class _Checked:
    """One lesson. `introduced`, `ids`: terms and ids of the lessons before it."""

    def __init__(
        self,
        lesson: Lesson,
        recordings: Mapping[str, Recording],
        glossary: Mapping[str, Mapping[str, Any]],
        by_hand: ByHand,
        introduced: Iterable[str],
        ids: Iterable[str],
    ) -> None:
        self.faults = list(lesson.faults)
        self.claims = self.states = 0
        self.checks = sum((step.predict is not None) + (step.do is not None) for step in lesson.steps)
        self._lesson, self._glossary = lesson, glossary
        self._log: LogReader | None = None
        run = lesson.front.run if lesson.front else None
        if run is not None and run not in recordings:
            self._say(1, f"run: there is no recording {run}; there are {', '.join(sorted(recordings))}")
        elif run is not None:
            try:
                self._log = LogReader(recordings[run].frames())
            except (BadFrame, OSError) as error:
                self._say(1, f"run: {run} cannot be read: {error}")
        self._computer = Computer(facts_of(self._log, by_hand) if self._log else no_run(by_hand))
        self._known = set(introduced)
        self._front(set(ids))
        for step in lesson.steps:
            self._step(step)
        shown = rendered(lesson, facts_of(self._log, by_hand) if self._log else no_run(by_hand))
        for step, made in zip(lesson.steps, shown["steps"], strict=True):
            self._rendered(step, made)

    def _say(self, line: int, message: str) -> None:
        fault = Fault(self._lesson.file, line, message)
        if fault not in self.faults:
            self.faults.append(fault)

    def _front(self, before: set[str]) -> None:
        front, steps = self._lesson.front, len(self._lesson.steps)
        if not STEPS[0] <= steps <= STEPS[1]:
            self._say(1, f"the lesson has {steps} steps; it must have {STEPS[0]} to {STEPS[1]}")
        if self.checks < CHECKS:
            self._say(1, f"the lesson has {self.checks} predictions and tasks; it must have at least {CHECKS}")
        if front is None:
            return
        for need in front.needs:
            if need not in before:
                self._say(1, f"needs: {need} is no lesson before this one")
        for term in front.introduces:
            if term not in self._glossary:
                self._say(1, f"introduces: the glossary has no term {term}")
        self._known.update(front.introduces)

    def _step(self, step: Step) -> None:
        if (words := _words(step)) > MOST_WORDS:
            self._say(step.line, f"the step has {words} words; at most {MOST_WORDS}")
        self._terms(step)
        self._states(step)
        for claim in step.block.claims:
            self.claims += 1
            line = step.blocks.get("step", step.line)
            try:
                if not self._computer.value(claim.holds):
                    self._say(line, f"claim: {claim.holds} does not hold on the lesson's own run")
            except NotComputed as error:
                self._say(line, f"claim: {error}")

    def _terms(self, step: Step) -> None:
        for node in walk([*step.title, *step.prose]):
            if node["t"] == "term" and node["id"] not in self._glossary:
                self._say(step.line, f"the glossary has no term {node['id']}")
            elif node["t"] == "term" and node["id"] not in self._known:
                self._say(step.line, f"the term {node['id']} is used before a lesson introduces it")

    def _states(self, step: Step) -> None:
        shown = [step.block.at, step.predict and step.predict.shows]
        shown += [node["address"] for node in walk(step.prose) if node["t"] == "page"]
        for text in filter(None, shown):
            self.states += 1
            try:
                address = address_of(str(self._computer.filled(text)))
            except (BadAddress, NotComputed) as error:
                self._say(step.line, f"at: {error}")
                continue
            if address.page == "stage" and self._log is None:
                self._say(step.line, "at: the Stage shows a run, and the lesson names none")
            elif address.page == "stage" and self._log and (why := outside(address.place, self._log)):
                self._say(step.line, f"at: {why}")

    def _rendered(self, step: Step, made: Mapping[str, Any]) -> None:
        if "problem" in made and not step.faults:
            self._say(
                step.line, made["problem"].removeprefix(FAULTY).removeprefix(f"{self._lesson.file}:{step.line}: ")
            )
        for node in _nodes(made):
            self.claims += node["t"] == "value"
            if "problem" in node:
                self._say(step.line, node["problem"])
        predict = made["predict"]
        if step.predict and predict and len(predict["choices"]) > len(step.predict.choices):
            self._say(step.blocks["predict"], f"the answer {predict['answer']!r} is none of the choices")
        if predict and predict["number"] is not None and not isinstance(predict["number"], int | float):
            self._say(step.blocks["predict"], f"number: {predict['number']!r} is not a number")


def _nodes(made: Mapping[str, Any]) -> Iterator[Node]:
    """All nodes of a rendered step."""
    yield from walk([*made["title"], *made["prose"]])
    for block in (made["predict"], made["do"]):
        for part in (block or {}).values():
            if isinstance(part, list) and part and isinstance(part[0], dict):
                yield from walk(part)
            elif isinstance(part, list):
                for line in part:
                    if isinstance(line, list):
                        yield from walk(line)
