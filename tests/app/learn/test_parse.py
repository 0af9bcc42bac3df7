"""A lesson file is read step by step; what is wrong is named with its line, and the rest stays."""

import pytest

from kvscope.app.learn.nodes import text_of
from kvscope.app.learn.parse import parse
from tests.support.lessons import HEAD

STEP = "## One\n\nWords.\n\n"


def test_a_step_has_a_title_prose_and_blocks() -> None:
    text = (
        HEAD
        + "## A *title*\n\n“{token(8)}” is [a key](show:cache.k), at [8](show:query=8,key={strongest(13,8,8)}). "
        + "A [token](term:token).\n\n"
        + "- one\n- two\n\n"
        + '```step\nat: "/#step=3"\nlit: [attn.k]\n```\n\n'
        + "```predict\nask: Which?\nchoices: [a, b]\nanswer: a\nbecause: So.\n```\n\n"
        + "```do\ntask: Go.\ncheck: {step: {at_least: 3}}\ndone: There.\n```\n"
    )
    lesson = parse(text, "x", "x.md")
    assert lesson.faults == []
    [step] = lesson.steps
    assert [node["t"] for node in step.title] == ["text", "em"]
    assert [node["t"] for node in step.prose] == ["paragraph", "list"]
    shown = [node for node in step.prose[0]["children"] if node["t"] == "show"]
    place = {"query": "8", "key": "{strongest(13,8,8)}"}
    assert [(node["names"], node["place"]) for node in shown] == [(["cache.k"], {}), ([], place)]
    assert {"t": "value", "expr": "token(8)"} in step.prose[0]["children"]
    assert step.block.at == "/#step=3"
    assert None not in (step.predict, step.do)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("## One\n", 1, "must begin with ---"),
        ("---\ntitle: A\nminutes: 3\nteacher: me\n---\n" + STEP, 4, "teacher is unknown; allowed are title"),
        ("---\ntitle: A\nminutes: soon\n---\n" + STEP, 3, "minutes"),
        ("---\ntitle: [A\n---\n" + STEP, 2, "not YAML"),
        (HEAD + "Before.\n\n" + STEP, 8, "text before the first step"),
        (HEAD + STEP + "<script>alert(1)</script>\n", 12, "HTML is not allowed"),
        (HEAD + "## One\n\nA <b>word</b>.\n", 10, "HTML is not allowed"),
        (HEAD + "## One\n\n![a](https://x.example/a.png)\n", 10, "image is not allowed"),
        (HEAD + STEP + "### Two\n", 12, "heading is not allowed"),
        (HEAD + "## One\n\n[a](http://x.example)\n", 10, "the link"),
        (HEAD + STEP + "```steps\nat: /\n```\n", 12, "'steps' is none of step, predict, do"),
        (HEAD + STEP + "```step\nat: /\nwhere: here\n```\n", 14, "where is unknown; allowed are at, lit, claims"),
        (HEAD + STEP + "```step\nat: /\n```\n\n```step\nat: /\n```\n", 16, "second block step"),
        (HEAD + STEP + "```predict\nask: Which?\nbecause: So.\n```\n", 12, "exactly one of number, answer"),
        (HEAD + STEP + "```do\ntask: Go.\ndone: There.\ncheck: {step: {}}\n```\n", 15, "needs one of above"),
        (HEAD + STEP + "```do\ntask: Go.\ndone: A.\ncheck: {step: [1]}\n```\n", 15, "must be a value, or bounds: a"),
        (HEAD + STEP + "```do\ntask: {token(1)}\ndone: A.\ncheck: {step: 1}\n```\n", 13, "put the text in quotes"),
        (HEAD + STEP + "```do\ntask: {token(1)} is\ndone: A.\n```\n", 13, "not YAML: expected <block end>"),
        (HEAD + STEP + "```do\ntask: So: go\ndone: A.\n```\n", 13, 'put a text in quotes that has ": " in it'),
        (HEAD + STEP + "```predict\nask: A?\nnumber: {kv.bytes}\nbecause: A.\n```\n", 14, "put the text in quotes"),
        (HEAD + STEP + "```predict\nask: A?\nchoices: [yes, b]\nanswer: b\nbecause: A.\n```\n", 14, "yes or no"),
        (
            HEAD + STEP + "```predict\nask: A?\nchoices: [a, {txt: b}]\nanswer: b\nbecause: A.\n```\n",
            14,
            "allowed are text",
        ),
        (HEAD + STEP + "```step\nlit: choice\n```\n", 13, "lit must be a list, such as [a, b]"),
        (HEAD + STEP + "```step\nclaims: [{hold: a, otherwise: b}]\n```\n", 13, "allowed are holds, otherwise"),
        ("---\ntitel: A\nminutes: 3\n---\n" + STEP, 2, "titel is unknown; allowed are title"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, said: str) -> None:
    faults = parse(text, "x", "x.md").faults
    assert [(fault.line, said in fault.message) for fault in faults] == [(line, True)], faults


def test_prose_below_the_question_comes_with_its_answer() -> None:
    question = "```predict\nask: Which?\nchoices: [a, b]\nanswer: a\nbecause: So.\n```\n\n"
    lesson = parse(HEAD + "## One\n\nBefore.\n\n" + question + "After.\n\nMore.\n", "x", "x.md")
    assert lesson.faults == []
    [step] = lesson.steps
    assert [text_of(part).split() for part in (step.prose, step.after)] == [["Before."], ["After.", "More."]]


def test_a_mistake_in_one_step_leaves_the_others() -> None:
    lesson = parse(HEAD + "## One\n\n<b>word</b>\n\n## Two\n\nWords here.\n", "x", "x.md")
    assert [bool(step.faults) for step in lesson.steps] == [True, False]
    assert text_of(lesson.steps[1].prose).split() == ["Words", "here."]
