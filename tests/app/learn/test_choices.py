"""The choices of a question, over the lesson's recording and over another run."""

from typing import Any

from kvscope.app.learn.compute import Computer
from kvscope.app.learn.facts import facts_of
from kvscope.app.learn.parse import parse
from kvscope.app.learn.render import rendered
from kvscope.app.learn.report import worked_out
from kvscope.app.learn.written_out import lines_of
from kvscope.app.store.gallery import recordings_in
from kvscope.model.log.reader import LogReader
from tests.support.lessons import HEAD, RECORDINGS

REASON = '{text: "{token(1)}", why: "It has {percent(weight(13, 8, 8, 1))}.", shows: "/#step=0&key=1"}'


def lesson_over(run: str, choices: str, answer: str) -> dict[str, Any]:
    """A lesson with one question, over a recording."""
    question = f"```predict\nask: Which?\nchoices: {choices}\nanswer: {answer}\nbecause: So.\n```\n"
    lesson = parse(f"{HEAD}## One\n\n{question}", "a", "a.md")
    assert lesson.faults == []
    [recording] = [each for each in recordings_in(RECORDINGS) if each.path.stem == run]
    return rendered(lesson, Computer(facts_of(LogReader(recording.frames()), worked_out)))


def texts(lesson: dict[str, Any]) -> list[str]:
    return [choice["text"] for choice in lesson["steps"][0]["predict"]["choices"]]


def test_a_wrong_choice_has_its_reason_and_its_picture() -> None:
    lesson = lesson_over("animal", f"[it, {REASON}]", "it")
    right, wrong = lesson["steps"][0]["predict"]["choices"]
    assert right == {"text": "it", "why": [], "shows": None}
    assert (wrong["text"], wrong["shows"]) == ("animal", "/#step=0&key=1")
    assert [node["text"] for node in wrong["why"] if node["t"] == "value"] == ["75\u202f%"]
    assert "  ( ) animal: It has 75 %." in list(lines_of(lesson))


def test_tokens_that_are_the_same_in_a_run_are_one_choice() -> None:
    choices = '["{token(20)}", "{token(23)}", "{token(24)}"]'
    assert texts(lesson_over("capital", choices, '"{token(24)}"'))[1:] == ["What"]


def test_a_choice_that_the_run_lacks_is_left_out_and_the_right_one_is_there() -> None:
    assert texts(lesson_over("animal", '[a, "{token(999)}", b]', '"{token(1)}"')) == ["a", "b", "animal"]
