"""`kvscope lessons check`: the lessons that ship hold on their runs, and each kind of mistake is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kvscope.app.cli import main
from kvscope.app.learn.check import reading_level
from kvscope.app.learn.report import report_of
from kvscope.app.paths import lessons_dir
from tests.support.lessons import HEAD, RECORDINGS

MOST_YEARS = 9
"""School year whose pupils can read the lessons."""
PREDICT = "```predict\nask: Which?\nchoices: [a, b]\nanswer: a\nbecause: So.\n```\n\n"
GOOD = HEAD + "".join(f'## Step {n}\n\n```step\nat: "/#step={n}"\n```\n\nWords.\n\n{PREDICT}' for n in range(5))


def test_the_lessons_that_ship_are_right() -> None:
    report = report_of(lessons_dir() / "en", RECORDINGS)
    assert list(map(str, report.faults)) == []
    assert report.without_lesson == []
    assert report.lessons >= 16
    assert report.reading <= MOST_YEARS


def checked(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return [str(fault) for fault in report_of(folder, RECORDINGS).faults]


def test_a_right_lesson_has_no_mistakes(tmp_path: Path) -> None:
    assert checked(tmp_path, a=GOOD) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("run: animal", "run: anima"), "a.md:1: run: there is no recording anima; there are animal"),
        (GOOD.replace("run: animal\n", ""), "the Stage shows a run, and the lesson names none"),
        (GOOD.replace("#step=3", "#step=33"), "a.md:53: at: step is 33; on this run it is at most 15"),
        (GOOD.replace("#step=3", "#step=3&view=cellar"), "view is cellar; it must be one of model"),
        (GOOD.replace("/#step=3", "/cellar"), "/cellar is no page"),
        (GOOD.replace("Words.", "word " * 61, 1), "the step has 61 words; at most 60"),
        (GOOD.replace("Words.", "{nothing}", 1), "nothing is unknown here"),
        (
            GOOD.replace("Words.", "A [thing](term:kv-cache).", 1),
            "the term kv-cache is used before",
        ),
        (GOOD.replace("Words.", "A [thing](term:thing).", 1), "the glossary has no term thing"),
        (GOOD.replace("at: ", "claims: [{holds: 1 > 2, otherwise: Not so.}]\nat: ", 1), "1 > 2 does not hold"),
        (GOOD.replace("answer: a", "answer: c", 1), "the answer 'c' is none of the choices"),
        (GOOD.replace(PREDICT, ""), "0 predictions and tasks"),
        (GOOD.split("## Step 3")[0], "the lesson has 3 steps; it must have 5 to 9"),
        (GOOD.replace("ideas:", "needs: [z]\nideas:"), "needs: z is no lesson before this one"),
    ],
)
def test_each_kind_of_mistake_is_found(tmp_path: Path, text: str, said: str) -> None:
    faults = checked(tmp_path, a=text)
    assert len(faults) >= 1
    assert any(said in fault for fault in faults), faults


def test_a_term_of_an_earlier_lesson_may_be_used(tmp_path: Path) -> None:
    first = GOOD.replace("ideas:", "introduces: [kv-cache]\nideas:")
    later = GOOD.replace("Words.", "A [thing](term:kv-cache).")
    assert checked(tmp_path, a=first, b=later) == []


def test_the_command_prints_mistakes_and_fails(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD.replace("#step=3", "#step=33"))
    result = CliRunner().invoke(main, ["lessons", "check", str(tmp_path)])
    assert result.exit_code == 2
    assert "a.md:53" in result.output
    assert "C3  no lesson" in result.output


def test_long_words_and_long_sentences_need_more_school() -> None:
    easy, hard = (
        "The cat sat on it. It ran.",
        "Autoregressive transformers incrementally materialize contextualized representations.",
    )
    assert reading_level(easy) < 4 < 12 < reading_level(hard)
