"""Reading paths and questions: each lead is a lesson, a step of one, or an address; what is not is named."""

from pathlib import Path

import pytest

from kvscope.app.learn.paths import read_paths

STEPS = {"01-one": 5, "02-two": 6}


def read(folder: Path, text: str, name: str = "a.toml"):
    (folder / name).write_text(text)
    return read_paths(folder, STEPS)


def test_each_section_leads_to_its_place(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'title = "A"\nby = "B"\n[[section]]\nheading = "One"\nleads = "02-two#3"\ndiffers = "Not so."\n'
        '[[section]]\nheading = "Two"\nleads = "/memory?model=llama-3-8b"\n'
        '[[section]]\nheading = "Three"\nnowhere = "Because."\n',
    )
    assert found.faults == []
    [path] = found.as_json()["paths"]
    assert [each["leads"] for each in path["sections"]] == ["/learn/02-two#3", "/memory?model=llama-3-8b", None]
    assert found.along("02-two") == {2: ["“A”, One"]}


def test_questions_lead_to_lessons(tmp_path: Path) -> None:
    found = read(tmp_path, '[[question]]\nask = "Why?"\nleads = "01-one"\n', "questions.toml")
    assert found.as_json()["questions"] == [{"ask": "Why?", "leads": "/learn/01-one"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "this is not TOML"),
        ('title = "A"\n', "section: Field required"),
        ('title = "A"\n[[section]]\nheading = "One"\n', "either leads or nowhere"),
        ('title = "A"\n[[section]]\nheading = "One"\nleads = "09-nine"\n', "there is no lesson 09-nine"),
        ('title = "A"\n[[section]]\nheading = "One"\nleads = "01-one#6"\n', "01-one has steps 1 to 5"),
        ('title = "A"\n[[section]]\nheading = "One"\nleads = "/cellar"\n', "/cellar is no page"),
        ('title = "A"\n[[section]]\nheading = "One"\nnowhere = "x"\ncolour = "red"\n', "colour"),
    ],
)
def test_what_leads_nowhere_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert said in str(read(tmp_path, text).faults[0])


def test_an_entry_that_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    questions = 'question = [{ ask = "Why?", leads = "01-one" }, { ask = "How?", leads = "09-nine" }]'
    read(tmp_path, questions, "questions.toml")
    one, two = 'heading = "One"\nleads = "09-nine#1"', 'heading = "Two"\nnowhere = "Because."'
    found = read(tmp_path, f'title = "A"\n[[section]]\n{one}\n[[section]]\n{two}\n')
    assert [each.ask for each in found.questions] == ["Why?"]
    assert [each.heading for each in found.paths["a"].section] == ["Two"]
    assert len(found.faults) == 2
