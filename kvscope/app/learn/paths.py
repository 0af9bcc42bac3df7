"""Reading paths, which give each section of a document its place in KVScope; and questions, each with its lesson."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from kvscope.app.learn.addresses import BadAddress, address_of
from kvscope.app.learn.faults import Fault
from kvscope.app.learn.schema import Strict
from kvscope.app.text_files import NotUtf8, files_with, text_of

QUESTIONS = "questions.toml"
Leads = Annotated[str, Field(min_length=1, max_length=400)]
"""A lesson, one of its steps ("09-the-loop#3", from 1), or an address of KVScope."""


class Section(Strict):
    """A section of a document, by its heading. It leads to a place, or `nowhere` says why not."""

    heading: str = Field(min_length=1, max_length=200)
    leads: Leads | None = None
    differs: str = Field("", max_length=400, description="what is different here from the printed text")
    nowhere: str = Field("", max_length=200, description="why KVScope has no place for it")

    @model_validator(mode="after")
    def _has_one(self) -> Section:
        if (self.leads is None) == (self.nowhere == ""):
            raise ValueError("a section has either leads or nowhere")
        return self


class ReadingPath(Strict):
    """A document."""

    title: str = Field(min_length=1, max_length=200)
    by: str = Field("", max_length=200, description="who wrote it")
    section: list[Section] = Field(min_length=1)


class Question(Strict):
    ask: str = Field(min_length=1, max_length=200)
    leads: Leads


class Questions(Strict):
    question: list[Question]


@dataclass(slots=True)
class Paths:
    """The reading paths of a folder. `faults`: mistakes, whose files and entries are left out."""

    paths: dict[str, ReadingPath] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON for the page of lessons, with the address of each place."""
        return {
            "paths": [
                {
                    "title": path.title,
                    "by": path.by,
                    "sections": [
                        section.model_dump() | {"leads": section.leads and address_from(section.leads)}
                        for section in path.section
                    ],
                }
                for path in self.paths.values()
            ],
            "questions": [{"ask": question.ask, "leads": address_from(question.leads)} for question in self.questions],
        }

    def along(self, lesson: str) -> dict[int, list[str]]:
        """Returns the sections that lead to each step of a lesson, by step from 0: “title, heading”."""
        sections: dict[int, list[str]] = {}
        for path in self.paths.values():
            for section in path.section:
                id, _, step = (section.leads or "").partition("#")
                if id == lesson and step:
                    sections.setdefault(int(step) - 1, []).append(f"“{path.title}”, {section.heading}")
        return sections


def address_from(leads: str) -> str:
    """Returns the address of a place: `/learn/09-the-loop#3` for `09-the-loop#3`; an address is unchanged."""
    return leads if leads.startswith("/") else f"/learn/{leads}"


def read_paths(folder: Path, steps: Mapping[str, int]) -> Paths:
    """Reads the paths of a folder. `steps`: number of steps per lesson. A place that does not exist is a mistake."""
    result = Paths()

    def led(file: Path, leads: str | None) -> bool:
        """Returns whether an entry is valid. An invalid one is reported and left out."""
        why = leads and _nowhere(leads, steps)
        if why:
            result.faults.append(Fault(file.name, 1, f"{leads}: {why}"))
        return not why

    for file in files_with(".toml", folder):
        try:
            content = tomllib.loads(text_of(file.read_bytes()))
            if file.name == QUESTIONS:
                result.questions = [
                    question for question in Questions.model_validate(content).question if led(file, question.leads)
                ]
            else:
                path = result.paths[file.stem] = ReadingPath.model_validate(content)
                path.section = [section for section in path.section if led(file, section.leads)]
        except NotUtf8 as error:
            result.faults.append(Fault(file.name, error.line, str(error)))
        except (tomllib.TOMLDecodeError, ValidationError) as error:
            result.faults += _faults(file, error)
    return result


def _faults(file: Path, error: tomllib.TOMLDecodeError | ValidationError) -> Iterator[Fault]:
    if isinstance(error, ValidationError):
        for mistake in error.errors():
            yield Fault(
                file.name, 1, f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg'].removeprefix('Value error, ')}"
            )
    else:
        yield Fault(file.name, 1, f"this is not TOML: {error}")


def _nowhere(lead: str, steps: Mapping[str, int]) -> str:
    """Returns why a place does not exist; empty if it does."""
    if lead.startswith("/"):
        try:
            address_of(lead)
        except BadAddress as error:
            return str(error)
        return ""
    lesson, _, step = lead.partition("#")
    if lesson not in steps:
        return f"there is no lesson {lesson}"
    if step and not (step.isdecimal() and 1 <= int(step) <= steps[lesson]):
        return f"{lesson} has steps 1 to {steps[lesson]}"
    return ""
