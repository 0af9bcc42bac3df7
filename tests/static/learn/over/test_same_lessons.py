"""A lesson over a run of the reader's device has the words and numbers that the server computes over the same run."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from kvscope.app.learn.compute import Computer
from kvscope.app.learn.facts import facts_of
from kvscope.app.learn.library import files_of
from kvscope.app.learn.parse import parse, read
from kvscope.app.learn.render import rendered
from kvscope.app.learn.report import worked_out
from kvscope.app.learn.template import template_of
from kvscope.app.paths import LESSONS
from kvscope.app.store.gallery import recordings_in
from kvscope.model.by_hand.examples import EXAMPLES
from kvscope.model.log.reader import LogReader
from tests.page_tools import node
from tests.support.lessons import HEAD, RECORDINGS

SCRIPT = Path(__file__).parent / "lessons-over.js"
BY_HAND = {name: worked_out(name) for name in EXAMPLES}
RUNS = {each.path.stem: list(each.frames()) for each in recordings_in(RECORDINGS) if not each.workload}
OTHER = "temperature-high"
"""A run that no lesson was written for: many of their claims are false, and many numbers are not there."""


def over(*pairs: tuple[dict[str, Any], str]) -> list[dict[str, Any]]:
    """The page's lessons over recordings, without `problem`, whose words differ."""
    asked = [
        {"template": template, "frames": [b64encode(frame).decode() for frame in RUNS[run]], "byHand": BY_HAND}
        for template, run in pairs
    ]
    ran = subprocess.run([*node(), str(SCRIPT)], input=json.dumps(asked), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lessons: list[dict[str, Any]] = json.loads(ran.stdout)
    return lessons


def comparable(part: Any) -> Any:
    """A lesson without what only one side has, and with whether a problem is there in place of its words."""
    if isinstance(part, dict):
        kept_out = {"tree", "pending"} | ({"place", "address"} if "problem" in part else set())
        said = {"problem": True} if "problem" in part else {}
        return {name: comparable(value) for name, value in part.items() if name not in kept_out} | said
    return [comparable(each) for each in part] if isinstance(part, list) else part


def lines_of_claims(lesson: dict[str, Any]) -> dict[str, Any]:
    """A lesson in which a claim that cannot be computed has no words."""
    for step in lesson["steps"]:
        step["untrue"] = [None if "cannot be computed" in str(line) else line for line in step["untrue"]]
    return lesson


@pytest.mark.parametrize("run", ["", OTHER])
def test_every_lesson_is_the_same(run: str) -> None:
    lessons = [lesson for path in files_of(LESSONS / "en") if (lesson := read(path)).front]
    named = [(lesson, run or (lesson.front and lesson.front.run) or OTHER) for lesson in lessons]
    pairs = [(lesson, name) for lesson, name in named if name in RUNS]
    assert len(pairs) >= 16
    shown = over(*((template_of(lesson), name) for lesson, name in pairs))
    for (lesson, name), page in zip(pairs, shown, strict=True):
        server = rendered(lesson, Computer(facts_of(LogReader(RUNS[name]), worked_out)))
        assert comparable(lines_of_claims(page)) == comparable(lines_of_claims(json.loads(json.dumps(server))))


EXPRESSIONS = [
    "7 // 2 - 7 % 3 + -7 // 2 + -7 % 3",
    "round(2.5) + round(3.5) + round(-2.5) + round(0.125, 2)",
    "fixed(1234.5678, 2)",
    "2 ** 10 / 3",
    '"a" + "b" if 1 < 2 <= 2 and not 3 in [1, 2] else ""',
    "max([1, 5, 3]) + min(4, 2) + abs(-1) + int(2.9) + ceil(2.1) + len(tokens) + sum([1, 2])",
    "sum([step.position for step in steps if step.position > 20])",
    "tokens[-1]",
    'reason is None or reason == "eos" or 0',
    "percent(0.004)",
    "percent(0.9999)",
    "percent(0.00001)",
    "size(46080)",
    "sampled_chance(0, 1)",
    "chance(1, 0)",
    "strongest(3, 2, 5, 0)",
    "model.head_count * model.global_layers",
    "[] or 5",
    "token(9999)",
    "nothing",
    "1 / 0",
    "model.nothing",
    "rows(0)",
    'by_hand("a", "prefill.weights", 0, 2, 1)',
    "exp(1) + sqrt(2)",
    "0.5 == 1 / 2",
]


def test_expressions_are_computed_as_the_server_does() -> None:
    lesson = parse(HEAD + "## Step\n\n" + "\n\n".join(f"{{{each}}}" for each in EXPRESSIONS), "a", "a.md")
    [page] = over((template_of(lesson), OTHER))
    server = rendered(lesson, Computer(facts_of(LogReader(RUNS[OTHER]), worked_out)))
    shown, expected = ([line["children"][0] for line in part["steps"][0]["prose"]] for part in (page, server))
    said = [node.get("text", "-") for node in shown]
    assert dict(zip(EXPRESSIONS, said, strict=True)) == {node["expr"]: node.get("text", "-") for node in expected}


def test_what_only_a_server_computes_is_refused_by_its_name() -> None:
    lesson = parse(HEAD + "## Step\n\n{tokens[0:2]} {[*tokens]}", "a", "a.md")
    [page] = over((template_of(lesson), OTHER))
    problems = [node["problem"] for node in page["steps"][0]["prose"][0]["children"] if node["t"] == "value"]
    assert problems[0] == "{tokens[0:2]} cannot be computed: Slice needs a server"
    assert len(problems) == 2
