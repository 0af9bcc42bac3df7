"""`kvscope lessons check`: the lessons that ship hold on their runs, and each kind of mistake is found."""

from pathlib import Path

import pytest

from kvscope.app.learn.check import reading_level
from kvscope.app.learn.report import report_of
from kvscope.app.paths import LESSONS
from tests.support.command import command
from tests.support.lessons import GOOD, PREDICT, RECORDINGS

MOST_YEARS = 9
"""School year whose pupils can read the lessons."""


def test_the_lessons_that_ship_are_right() -> None:
    report = report_of(LESSONS / "en", RECORDINGS)
    assert list(map(str, report.faults)) == []
    assert report.without_lesson == []
    assert report.lessons >= 16
    assert report.reading <= MOST_YEARS


def checked(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return [str(fault) for fault in report_of(folder, RECORDINGS).faults]


def worded(words: str) -> str:
    """A lesson whose first step has these words."""
    return GOOD.replace("Words.", words, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("run: animal", "run: anima"), "a.md:5: run: there is no recording anima; did you mean animal?"),
        (GOOD.replace("run: animal\n", ""), "a.md:1: run is missing: /#step=0 shows a run; there are animal"),
        (GOOD.replace("#step=3", "#step=33"), "a.md:56: at: step is 33; on this run it is at most 15"),
        (GOOD.replace("#step=3", "#step=3&view=cellar"), "view is cellar; there are model"),
        (GOOD.replace("/#step=3", "/cellar"), "/cellar is no page"),
        (worded("word " * 61), "the step has 61 words; at most 60"),
        (worded("{nothing}"), "nothing is unknown here"),
        (worded("A [thing](term:fork)."), "a.md:14: the term fork is used before a lesson introduces it"),
        (worded("A [thing](term:thing)."), "the glossary has no term thing"),
        (GOOD.replace("at: ", "claims: [{holds: 1 > 2, otherwise: Not so.}]\nat: ", 1), "1 > 2 does not hold"),
        (GOOD.replace("answer: a", "answer: c", 1), "the answer 'c' is none of the choices"),
        (GOOD.replace("choices: [a, b]", "choices: [a, b, b]", 1), "two are the same, or the run lacks what one"),
        (GOOD.replace("choices: [a, b]", 'choices: [a, b, "{token(999)}"]', 1), "or the run lacks what one"),
        (GOOD.replace("[a, b]", "[a, {text: b, why: '{token(999)}'}]", 1), "{token(999)} cannot be computed"),
        (GOOD.replace("[a, b]", "[a, {text: b, shows: '/#step=999'}]", 1), "shows: "),
        (GOOD.replace(PREDICT, ""), "0 predictions and tasks"),
        (GOOD.split("## Step 3")[0], "the lesson has 3 steps; it must have 5 to 9"),
        (GOOD.replace("ideas:", "needs: [z]\nideas:"), "needs: z is no lesson before this one"),
    ],
)
def test_each_kind_of_mistake_is_found(tmp_path: Path, text: str, said: str) -> None:
    faults = checked(tmp_path, a=text)
    assert any(said in fault for fault in faults), faults


def with_task(check: str, at: str = "/#step=0&view=model") -> str:
    """A lesson whose first step is at an address and has a task."""
    task = f"```do\ntask: Go.\ncheck: {check}\ndone: There.\n```\n\n"
    return GOOD.replace("/#step=0", at, 1).replace("Words.\n\n", f"Words.\n\n{task}", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_task("{temperatur: {below: 0.5}}"), "a.md:18: check: the page has no state temperatur; did you mean"),
        (with_task("{step: {blow: 3}}"), "a.md:18: check.step.blow is unknown; allowed are above, below, at_least"),
        (with_task("{view: model}"), "a.md:18: check: it already holds where the step begins"),
        (with_task("{temperature: {above: 0.5}}"), "a.md:18: check: it already holds where the step begins"),
        (with_task('{prompt: "{prompt.text}"}'), "a.md:18: check: it already holds where the step begins"),
        (with_task("{view: model}", "/serving"), "a.md:18: check: the page has no state view; there are run, experim"),
        (with_task("{run: x}", "/serving?experiment=drft"), "a.md:11: at: experiment is drft; did you mean draft?"),
        (GOOD.replace("#step=3", "#step=3&temperature=1"), "a.md:56: at: an address of / cannot set temperature; "),
        (GOOD.replace("/#step=3", "/?step=3"), "a.md:56: at: / reads step after #, not after ?"),
        (GOOD.replace('#step=3"', '#step=3"\nlit: [coice]'), "a.md:57: lit: no part is named coice; did you"),
        (
            GOOD.replace('#step=3"', '#step=3&view=head"\nlit: [attn.k]'),
            "a.md:57: lit: attn.k is not in this view; it is in block",
        ),
        (worded("Its [scores](show:logitz)."), "a.md:14: show: no part is named logitz; did you mean"),
        (worded("[It](show:keys=3)."), "a.md:14: show: a place has no keys; did you mean key?"),
        (worded("[It](show:key=30)."), "a.md:14: show: key is 30; on this run it is at most 10"),
        (worded("[It](lesson:99-x)."), "a.md:14: there is no lesson 99-x; there are 01-what-is-a-token"),
        (GOOD.replace("[C2]", "[C99]"), "a.md:4: ideas: there is no C99; lessons/ideas.toml lists them"),
    ],
)
def test_a_wrong_name_or_task_is_said_once_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    assert [fault[: len(said)] for fault in checked(tmp_path, a=text)] == [said]


def test_a_task_may_ask_for_what_an_answer_or_an_earlier_task_changed(tmp_path: Path) -> None:
    task = "```do\ntask: Go.\ncheck: {view: model}\ndone: So.\n```\n"
    step = f'## Again\n\n```step\nat: "/#step=2"\n```\n\nWords.\n\n{task}'
    first = with_task("{view: head}")
    assert checked(tmp_path, a=first.replace("## Step 2", f"{step}\n## Step 2")) == []
    shown = GOOD.replace("because: So.", 'because: So.\nshows: "/#step=0&view=head"', 1)
    shown = shown.replace("/#step=0", "/#step=0&view=model", 1)
    assert checked(tmp_path, a=shown.replace("## Step 2", f"{step}\n## Step 2")) == []


def test_a_step_that_says_no_view_keeps_the_one_before(tmp_path: Path) -> None:
    text = with_task("{view: head}").replace("/#step=1", "/#step=1&view=tokens")
    later = "```do\ntask: Go.\ncheck: {view: tokens}\ndone: So.\n```\n\n"
    found = checked(tmp_path, a=text.replace("## Step 3", f"{later}## Step 3"))
    assert [fault.partition(": ")[2][:26] for fault in found] == ["check: it already holds wh"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("minutes: 3", "minutes: soon"),
        GOOD.replace("run: animal", "run: anima"),
        GOOD.replace("run: animal\n", ""),
        GOOD.replace("## Step 0", "## Step {model.layers}").replace("run: animal", "run: anima"),
        GOOD.replace('at: "/#step=0"', 'at: "/#step=0&view=tokenz"\nlit: [logits]'),
        GOOD.replace('at: "/#step=0"', "at: {x} y"),
        # Steps 1 to 4 have no address: they stay where step 0 is.
        "```".join(GOOD.split("```")[:3]).replace("#step=0", "#step=99")
        + f"\n{PREDICT}"
        + f"## More\n\nWords.\n\n{PREDICT}" * 4,
    ],
)
def test_one_mistake_is_one_line(tmp_path: Path, text: str) -> None:
    introduced = text.replace("ideas:", "introduces: [fork]\nideas:")
    introduced = introduced.replace("Words.", "A {model.layers} [thing](term:fork).")
    assert len(checked(tmp_path, a=introduced, b=GOOD.replace("Words.", "A [thing](term:fork)."))) == 1


def test_own_lessons_come_after_those_that_ship(tmp_path: Path) -> None:
    text = GOOD.replace("ideas:", "needs: [09-the-loop]\nideas:")
    assert checked(tmp_path, a=text.replace("Words.", "[It](term:kv-cache), [there](lesson:09-the-loop).")) == []
    assert checked(tmp_path, **{"09-the-loop": GOOD}) == [
        "09-the-loop.md:1: a lesson that ships has this name; give the file another"
    ]


def test_the_report_of_own_lessons_says_nothing_of_the_course(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD)
    result = command("lessons", "check", tmp_path)
    assert (result.exit_code, "C3" in result.output, "reading paths" in result.output) == (0, False, False)
    course = command("lessons", "check", LESSONS / "en")
    assert " C3  02-six-steps" in course.output


def test_the_command_prints_what_the_reader_reads(tmp_path: Path) -> None:
    number = 'number: "{model.layers / 7}"\nunit: B\nwithin: 0.1'
    asked = f'```predict\nask: "How many in {{model.layers}} layers?"\n{number}\nbecause: So.\n```\n\n'
    (tmp_path / "a.md").write_text(worded("“{token(8)}” has *{prompt.tokens}*.").replace(PREDICT, asked, 1))
    printed = command("lessons", "check", tmp_path, "--print").output
    lines = {"--- 1. Step 0", "shows: /#step=0", "“it” has *11*.", "ask: How many in 30 layers?", "answer: a"}
    assert lines | {"  ( ) b", "answer: It is 4.286 B. (within 10\u202f%)"} <= set(printed.splitlines()), printed


def test_a_term_of_an_earlier_lesson_may_be_used(tmp_path: Path) -> None:
    first = GOOD.replace("ideas:", "introduces: [fork]\nideas:")
    later = GOOD.replace("Words.", "A [thing](term:fork).")
    assert checked(tmp_path, a=first, b=later) == []


def test_the_command_prints_mistakes_and_fails(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD.replace("#step=3", "#step=33"))
    result = command("lessons", "check", tmp_path)
    assert result.exit_code == 2
    assert "a.md:56" in result.output
    assert "Error: 1 mistake\n" in result.output


def test_long_words_and_long_sentences_need_more_school() -> None:
    hard = "Autoregressive transformers incrementally materialize contextualized representations."
    assert reading_level("The cat sat on it. It ran.") < 4 < 12 < reading_level(hard)
