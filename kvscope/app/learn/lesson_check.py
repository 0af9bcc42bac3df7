"""Checks one lesson: its claims, states, names, tasks and lengths."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from kvscope.app.learn.addresses import Address, BadAddress, address_of, counts_of, outside
from kvscope.app.learn.compute import Computer, NotComputed
from kvscope.app.learn.conditions import hold_already, wrong
from kvscope.app.learn.facts import ByHand, Facts, facts_of, no_run
from kvscope.app.learn.faults import Fault
from kvscope.app.learn.nodes import Node, text_of, walk
from kvscope.app.learn.parse import Lesson, Step
from kvscope.app.learn.picture import STAGE, pictures, unknown
from kvscope.app.learn.render import FAULTY, conditions_of, rendered
from kvscope.app.learn.schema import MOST_WORDS, Choice, StepBlock
from kvscope.app.paths import LESSONS
from kvscope.app.store.gallery import Recording
from kvscope.model.log.frames import BadFrame
from kvscope.model.log.reader import LogReader

STEPS, CHECKS = (5, 9), 2
"""Fewest and most steps of a lesson; fewest predictions and tasks."""
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
PLACES = ("layer", "head", "query", "key")
"""Fields of `show:key=4`."""


@cache
def ideas() -> Mapping[str, Mapping[str, str]]:
    """Returns the ideas that a lesson can show (lessons/ideas.toml), a line about each by its id.

    `course`: those that the lessons that ship must show; `more`: others.
    """
    return tomllib.loads((LESSONS / "ideas.toml").read_text("utf-8"))


@dataclass(slots=True)
class Known:
    """What a lesson may name. `before`, `introduced`: ids and terms of earlier lessons. `lessons`: all ids."""

    recordings: Mapping[str, Recording]
    glossary: Mapping[str, Mapping[str, Any]]
    by_hand: ByHand
    lessons: Iterable[str]
    before: set[str]
    introduced: set[str]


def words_of(step: Step) -> int:
    """Counts the words of a step's prose."""
    return len(WORD.findall(text_of(step.text)))


def shown_by(step: Step) -> list[str]:
    """Returns the addresses that the picture shows after an answer: the block's own, then those of wrong choices."""
    if step.predict is None:
        return []
    chosen = [choice.shows for choice in step.predict.choices if isinstance(choice, Choice)]
    return [shows for shows in (step.predict.shows, *chosen) if shows]


class LessonCheck:
    """The check of one lesson. `faults`: its mistakes. `claims`, `states`: numbers of computed claims and opened
    states. `shown`: the lesson as `rendered` returns it.
    """

    def __init__(self, lesson: Lesson, known: Known) -> None:
        self.faults = list(lesson.faults)
        self.claims = self.states = 0
        self.checks = sum((step.predict is not None) + (step.do is not None) for step in lesson.steps)
        self._lesson, self._known = lesson, known
        self._lines = lesson.text.splitlines()
        self._reasons = set[str]()
        self._log = self._run()
        self._runs_known = self._log is not None or not self._needs_run()
        self._computer, self._terms_known = Computer(self._facts()), set(known.introduced)
        self.shown = rendered(lesson, self._computer)
        self._front()
        for step in lesson.steps:
            self._prose(step)
        if self._runs_known:
            self._pictures()
            for step, shown in zip(lesson.steps, self.shown["steps"], strict=True):
                self._claims(step)
                self._rendered(step, shown)

    def _facts(self) -> Facts:
        return facts_of(self._log, self._known.by_hand) if self._log else no_run(self._known.by_hand)

    def _say(self, line: int, message: str) -> None:
        fault = Fault(self._lesson.file, line, message)
        if fault not in self.faults:
            self.faults.append(fault)

    def _line(self, step: Step, text: str) -> int:
        """Returns the line of a step that has this text, or the line of its heading."""
        later = [step_after.line for step_after in self._lesson.steps if step_after.line > step.line]
        end = min(later, default=len(self._lines) + 1) - 1
        return next((at for at in range(step.line, end + 1) if text in self._lines[at - 1]), step.line)

    def _front_line(self, member: str) -> int:
        return next((at for at, line in enumerate(self._lines, 1) if line.startswith(f"{member}:")), 1)

    def _run(self) -> LogReader | None:
        front, recordings = self._lesson.readable, self._known.recordings
        if front is None or front.run is None:
            return None
        if front.run not in recordings:
            self._say(
                self._front_line("run"),
                f"run: there is no recording {front.run}; {unknown(front.run, sorted(recordings))}",
            )
            return None
        try:
            return LogReader(recordings[front.run].frames())
        except (BadFrame, OSError) as error:
            self._say(self._front_line("run"), f"run: {front.run} cannot be read: {error}")
            return None

    def _needs_run(self) -> bool:
        """Returns whether it names a run (an unknown one, since it has none), or shows the Stage without one, which is
        a mistake.
        """
        front = self._lesson.readable
        if front is None or front.run is not None:
            return True
        addresses = [step.block.at for step in self._lesson.steps]
        addresses += [shows for step in self._lesson.steps for shows in shown_by(step)]
        stage = next((at for at in addresses if at and re.match(r"/([?#]|$)", at)), None)
        if stage is not None:
            self._say(
                1,
                f"run is missing: {stage} shows a run; {unknown('', sorted(self._known.recordings))}",
            )
        return stage is not None

    def _front(self) -> None:
        front, steps = self._lesson.readable, len(self._lesson.steps)
        if not self._lesson.text:  # the file is unreadable, which is reported
            return
        if not STEPS[0] <= steps <= STEPS[1]:
            self._say(1, f"the lesson has {steps} steps; it must have {STEPS[0]} to {STEPS[1]}")
        if self.checks < CHECKS and not any(step.faults for step in self._lesson.steps):
            self._say(1, f"the lesson has {self.checks} predictions and tasks; it must have at least {CHECKS}")
        if front is None:
            return
        every = {name for group in ideas().values() for name in group}
        for idea in front.ideas:
            if idea not in every:
                self._say(self._front_line("ideas"), f"ideas: there is no {idea}; lessons/ideas.toml lists them")
        for need in front.needs:
            if need not in self._known.before:
                self._say(
                    self._front_line("needs"),
                    f"needs: {need} is no lesson before this one; {unknown(need, sorted(self._known.before))}",
                )
        for term in front.introduces:
            if term not in self._known.glossary:
                self._say(
                    self._front_line("introduces"),
                    f"introduces: the glossary has no term {term}; {unknown(term, self._known.glossary)}",
                )
        self._terms_known.update(front.introduces)

    def _prose(self, step: Step) -> None:
        if (words := words_of(step)) > MOST_WORDS:
            self._say(step.line, f"the step has {words} words; at most {MOST_WORDS}")
        for node in walk([*step.title, *step.text]):
            if node["t"] == "term":
                self._term(step, node["id"])
            elif node["t"] == "lesson" and node["id"] not in self._known.lessons:
                line = self._line(step, f"lesson:{node['id']}")
                self._say(line, f"there is no lesson {node['id']}; {unknown(node['id'], sorted(self._known.lessons))}")
            elif node["t"] == "show":
                for name in node["place"]:
                    if name not in PLACES:
                        self._say(self._line(step, f"{name}="), f"show: a place has no {name}; {unknown(name, PLACES)}")

    def _term(self, step: Step, term: str) -> None:
        line = self._line(step, f"term:{term}")
        if term not in self._known.glossary:
            self._say(line, f"the glossary has no term {term}; {unknown(term, self._known.glossary)}")
        elif term not in self._terms_known and self._lesson.readable is not None:
            self._say(line, f"the term {term} is used before a lesson introduces it: add it to introduces")

    def _claims(self, step: Step) -> None:
        for claim in step.block.claims:
            self.claims += 1
            line = self._line(step, claim.holds)
            try:
                if not self._computer.value(claim.holds):
                    self._say(line, f"claim: {claim.holds} does not hold on the lesson's own run")
            except NotComputed as error:
                self._say(line, f"claim: {error}")

    def _pictures(self) -> None:
        """Checks what the steps show, in order: a step without an address, or with a part of one, keeps the rest."""
        at: Address | None = None
        known: dict[str, Any] = {}
        for step in self._lesson.steps:
            before = at
            if "step" in step.blocks and step.block == StepBlock.model_validate({}):
                at, known = None, {}  # its block is unreadable: the state here and after it is unknown
            elif step.block.at is not None:
                at, right = self._opened(step, "at", step.block.at)
                earlier = known if before and before.is_stage else {}
                known = self._begins(at, earlier) if at and right else {}
            others = [self._opened(step, "link", node["address"])[0] for node in walk(step.text) if node["t"] == "page"]
            others[:0] = [self._opened(step, "shows", shows)[0] for shows in shown_by(step)]
            later = [address for address in others if address]
            if at is None:
                continue
            self._named_parts(step, [at, *later])
            known = _without(known, later, self._tasks(step, [at, *later], known))

    def _named_parts(self, step: Step, addresses: Sequence[Address]) -> None:
        """Checks the named parts. `lit` stays while the answer is shown, so it may name parts of both pages."""
        self._lights(step, addresses, step.block.lit, "lit")
        for node in walk([*step.title, *step.text]):
            if node["t"] == "show":
                self._lights(step, addresses, node["names"], "show")
                self._place(step, addresses[0], node["place"])

    def _place(self, step: Step, at: Address, fields: Mapping[str, str]) -> None:
        """Checks that the page has the place that words of the prose point at."""
        if not fields or not (at.is_stage and self._log) or not set(fields) <= set(PLACES):
            return
        line = self._line(step, f"show:{next(iter(fields))}=")
        try:
            place = {name: self._computer.filled(value) for name, value in fields.items()}
        except NotComputed:
            return  # said with the other expressions of the step
        texts = "&".join(f"{name}={value}" for name, value in place.items())
        try:
            why = outside({**at.state, **address_of(f"/#{texts}").state}, counts_of(self._log))
        except BadAddress as error:
            why = str(error)
        if why:
            self._say(line, f"show: {why}")

    def _opened(self, step: Step, member: str, text: str) -> tuple[Address | None, bool]:
        """Returns the address, and whether it is valid. Of an invalid one, only a known page is returned."""
        self.states += 1
        page = urlsplit(text).path
        try:
            address = address_of(str(self._computer.filled(text)))
            if address.is_stage and self._log and (why := outside(address.state, counts_of(self._log))):
                raise BadAddress(why)
        except (BadAddress, NotComputed) as error:
            self._reasons.add(str(error))
            self._say(self._line(step, text), f"{member}: {error}")
            return Address(page, {}) if page in pictures() else None, False
        return address, True

    def _begins(self, at: Address, earlier: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what is certain of the page's state at an address. `earlier`: what was certain in the step before."""
        if not (at.is_stage and self._log):
            return dict(at.state)
        run = self._log
        settings = dict(run.open.get("sampling") or {})
        parent = run.open.get("parent")
        of_run = {"prompt": run.prompt, "steps": len(run.steps), "branched_at": parent and parent["position"]}
        return {**earlier, "query": None, "key": None, **at.state, **settings, **of_run, "run": run.run}

    def _lights(self, step: Step, addresses: Sequence[Address], names: Sequence[str], member: str) -> None:
        for name in names:
            line = self._line(step, name)
            there = {part for at in addresses for part in at.page.lights(_view_of(at))}
            elsewhere = {part for at in addresses for part in at.page.lights(None)}
            if name in there:
                continue
            if name in elsewhere:
                views = [view for view, shown in pictures()[STAGE].views.items() if name in shown.parts]
                self._say(line, f"{member}: {name} is not in this view; it is in {', '.join(views)}")
            else:
                self._say(line, f"{member}: no part is named {name}; {unknown(name, sorted(elsewhere))}")

    def _tasks(self, step: Step, addresses: Sequence[Address], known: Mapping[str, Any]) -> Iterable[str]:
        """Checks the tasks of a step and returns the fields that they ask for."""
        counts, fields = counts_of(self._log) if self._log else {}, set[str]()
        tasks = {"check": step.do and step.do.check, "cell": step.predict and step.predict.cell}
        for member, task_conditions in tasks.items():
            try:
                conditions = conditions_of(task_conditions or {}, self._computer)
            except NotComputed:
                continue  # said with the other expressions of the step
            if not conditions:
                continue
            fields.update(conditions)
            line = self._line(step, f"{member}:")
            problems = [list(wrong(conditions, at.page.reported, counts)) for at in addresses]
            if all(problems):
                for problem in problems[0]:
                    self._say(line, f"{member}: {problem}")
            elif hold_already(conditions, known):
                self._say(line, f"{member}: it already holds where the step begins, so there is nothing to do")
        return fields

    def _rendered(self, step: Step, shown: Mapping[str, Any]) -> None:
        reason = shown.get("problem", "").removeprefix(FAULTY).removeprefix(f"{self._lesson.file}:{step.line}: ")
        if reason and not step.faults and reason not in self._reasons:
            self._reasons.add(reason)
            self._say(step.line, reason)
        for node in _nodes(shown):
            self.claims += node["t"] == "value"
            if "problem" in node:
                self._say(self._line(step, str(node.get("expr", ""))), node["problem"])
        predict = shown["predict"]
        if step.predict and predict and len(predict["choices"]) > len(step.predict.choices):
            self._say(step.blocks["predict"], f"the answer {predict['answer']!r} is none of the choices")
        if step.predict and predict and len(predict["choices"]) < len(step.predict.choices):
            self._say(step.blocks["predict"], "choices: two are the same, or the run lacks what one of them names")
        if predict and predict["number"] is not None and not isinstance(predict["number"], int | float):
            self._say(step.blocks["predict"], f"number: {predict['number']!r} is not a number")


def _without(known: Mapping[str, Any], later: Iterable[Address], fields: Iterable[str]) -> dict[str, Any]:
    """Returns what remains certain of the Stage's state: not what later addresses set or tasks ask for."""
    if not all(address.is_stage for address in later):
        return {}
    changed = {*fields, *(name for address in later for name in address.state)}
    return {name: value for name, value in known.items() if name not in changed}


def _view_of(at: Address) -> str | None:
    view = at.state.get("view")
    return view if isinstance(view, str) else None


def _nodes(shown: Mapping[str, Any]) -> Iterator[Node]:
    """Yields all nodes of a rendered step."""
    yield from walk([*shown["title"], *shown["prose"], *shown["after"]])
    if predict := shown["predict"]:
        reasons = (choice["why"] for choice in predict["choices"])
        for line in (predict["ask"], predict["because"], *predict["hints"], *reasons):
            yield from walk(line)
    if task := shown["do"]:
        for line in (task["task"], task["done"], *task["hints"]):
            yield from walk(line)
