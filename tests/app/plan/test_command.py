"""`kvscope plan`: a table or JSON, with every assumption's source; one line for what the user got wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kvscope.app.cli import main
from tests.support.planned import profile

SMALL = ("--people", "10", "--runs-each", "2", "--minutes", "2", "--tokens", "8")


def planned(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


@pytest.fixture
def made(tmp_path: Path) -> str:
    """A file with a profile whose numbers are known."""
    file = tmp_path / "profile.json"
    file.write_text(profile().model_dump_json())
    return str(file)


def test_it_prints_what_is_needed_and_where_each_assumption_comes_from(made: str) -> None:
    result = planned(*SMALL, "--profile", made)
    assert result.exit_code == 0, result.output
    rows = {line.split("  ")[0]: line for line in result.stdout.splitlines()}
    assert rows["engines"].split() == ["engines", "1"]
    assert "10 people, 20 runs, 2 min" in rows["in the busiest period"]
    assumptions = result.stdout.split("Assumptions\n")[1].splitlines()
    assert len(assumptions) > 8
    assert all(line.endswith(")") and "(" in line for line in assumptions)
    assert any("(measured 2026-11-27 by `none`: made up, made up)" in line for line in assumptions)


def test_json_has_the_same_numbers(made: str) -> None:
    result = planned("class", *SMALL, "--profile", made, "--json", "--engines", "2")
    document = json.loads(result.stdout)
    (plan,) = document["plans"]
    assert (plan["engines"], plan["runs"], plan["scenario"]["people"]) == (2, 20, 10)
    assert plan["uses"][plan["limit"]]["busiest"] == max(use["busiest"] for use in plan["uses"].values())
    assert {each["source"].split()[0] for each in document["assumptions"]} == {"measured", "assumed", "from"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["clas"], "'clas' is not a scenario; choose from class, lecture, course, demo."),
        (["--people", "0"], "--people is 0; it must be from 1 to 100,000,000."),
        (["--prompt-tokens", "513"], "--prompt-tokens is 513; it must be from 1 to 512."),
        (["--tokens", "many"], "'many' is not a valid integer"),
        (["--wait", "0"], "0.1<=x<=3600"),
        (["--people", "90000000", "--runs-each", "1000"], "it must have from 1 to 200,000"),
        (["class", "--wait", "0.1", "--prompt-tokens", "512"], "it must be more"),
        (["--profile", "nowhere.json"], "nowhere.json cannot be read"),
    ],
)
def test_what_the_user_got_wrong_is_one_message_and_exit_code_2(arguments: list[str], says: str) -> None:
    result = planned(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
