"""docs/refusals.md is what this version answers to bad input."""

from flask.testing import FlaskClient

from tools.messages.refusals import COMMANDS, PAGE, REQUESTS, on_the_command_line, over_http, section


def test_the_page_has_what_the_api_answers(client: FlaskClient) -> None:
    assert section(*REQUESTS, list(over_http(client))) in PAGE.read_text("utf-8"), (
        "run `python -m tools.messages.refusals`"
    )


def test_the_page_has_what_the_command_line_answers() -> None:
    assert section(*COMMANDS, list(on_the_command_line())) in PAGE.read_text("utf-8")


def test_a_message_about_a_bound_has_the_value_and_what_is_allowed() -> None:
    about_bounds = [line for line in PAGE.read_text("utf-8").splitlines() if "must be from" in line]
    assert len(about_bounds) > 20
    assert [line for line in about_bounds if " is " not in line.rsplit("|", 2)[1]] == []
