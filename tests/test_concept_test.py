"""The concept test: three parallel forms, and a key that covers every choice and names places that exist."""

import re
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORMS = (ROOT / "docs" / "concept-test.md").read_text("utf-8")
KEY = (ROOT / "docs" / "concept-test-key.md").read_text("utf-8")
LETTERS = "ABCD"
NAMES = "ABC"
QUESTIONS = 20


def questions(form: str) -> list[tuple[str, dict[str, str]]]:
    """Text and choices, by letter, of each question of a form."""
    text = FORMS.split(f"## Form {form}\n", 1)[1].split("\n## ", 1)[0]
    numbers = [int(number) for number in re.findall(rf"^\*\*{form}(\d+)\.\*\* ", text, re.MULTILINE)]
    assert numbers == list(range(1, QUESTIONS + 1))
    parts = re.split(rf"^\*\*{form}\d+\.\*\* ", text, flags=re.MULTILINE)[1:]
    return [(part.split("\n", 1)[0], dict(re.findall(r"^- \*\*(\w)\*\* (.+)$", part, re.MULTILINE))) for part in parts]


def right(form: str) -> list[str]:
    """The letters of the right choices, in the order of the questions."""
    row = re.search(rf"^\| Form {form} \|(.*)\|$", KEY, re.MULTILINE)
    return [letter.strip() for letter in row[1].split("|")]


def ideas() -> list[str]:
    """The key's part about each idea."""
    return re.split(r"^### \d+\. ", KEY, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("form", NAMES)
def test_a_form_has_twenty_questions_of_four_choices(form: str) -> None:
    asked = questions(form)
    assert len({text for text, _ in asked}) == QUESTIONS
    for text, choices in asked:
        assert text.endswith("?")
        assert "".join(choices) == LETTERS
        assert len(set(choices.values())) == len(LETTERS)


def test_no_question_is_in_two_forms() -> None:
    texts = [text for form in NAMES for text, _ in questions(form)]
    assert len(set(texts)) == len(texts)


def test_the_key_gives_each_choice_one_reason() -> None:
    assert len(ideas()) == QUESTIONS
    for number, idea in enumerate(ideas()):
        rows = re.findall(r"^\| ([^|]+) \| (\w) \| (\w) \| (\w) \| (.{20,}) \|$", idea, re.MULTILINE)
        assert next(label for label, *_ in rows) == "**right**"
        assert len({label for label, *_ in rows}) == len({reason for *_, reason in rows}) == len(LETTERS)
        for place, form in enumerate(NAMES, 1):
            assert sorted(row[place] for row in rows) == list(LETTERS)
            assert rows[0][place] == right(form)[number]


def test_each_idea_names_a_step_of_a_lesson_about_it() -> None:
    known = tomllib.loads((ROOT / "lessons" / "ideas.toml").read_text("utf-8"))
    for idea in ideas():
        name, file, step, heading, lesson, hash_step = re.search(
            r"^(C\d+) · \[.+?\]\((.+?)\), step (\d+), \*(.+)\* \(`/learn/([\w-]+)#(\d+)`\) · Check it: \S+",
            idea,
            re.MULTILINE,
        ).groups()
        assert name in known["course"]
        text = (ROOT / "docs" / file).read_text("utf-8")
        assert Path(file).stem == lesson
        assert re.findall(r"^## (.*)$", text, re.MULTILINE)[int(step) - 1] == heading
        assert step == hash_step
        assert name in re.search(r"^ideas: \[(.*)\]$", text, re.MULTILINE)[1].split(", ")


@pytest.mark.parametrize("form", NAMES)
def test_the_letters_of_right_choices_are_balanced(form: str) -> None:
    letters = right(form)
    assert Counter(letters) == dict.fromkeys(LETTERS, QUESTIONS // len(LETTERS))
    assert not any(a == b == c for (a, b), (_, c) in pairwise(pairwise(letters)))


@pytest.mark.parametrize("form", NAMES)
def test_the_length_of_a_choice_does_not_give_it_away(form: str) -> None:
    """By chance the right choice alone is the longest, and the shortest, in at most 5 of 20 questions."""
    longest = shortest = 0
    mean = {True: 0.0, False: 0.0}
    for letter, (_, choices) in zip(right(form), questions(form), strict=True):
        lengths = {name: len(choice) for name, choice in choices.items()}
        others = [length for name, length in lengths.items() if name != letter]
        longest += lengths[letter] > max(others)
        shortest += lengths[letter] < min(others)
        for name, length in lengths.items():
            mean[name == letter] += length / (1 if name == letter else len(LETTERS) - 1)
    assert longest <= 7
    assert shortest <= 7
    assert abs(mean[True] / mean[False] - 1) < 0.05
