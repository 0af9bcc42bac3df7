"""A prompt whose beginning is in the cache: read where that was asked for, and shown as read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.screens import SCHEMES, violations
from tests.support.stage import Stage

BEGINNING = "The old lighthouse keeper walked along the cliff every evening, and he always carried a lamp."
READ = re.compile(r"(\d+) of (\d+) prompt tokens were read from the cache.*; (\d+) were computed")
VIEWS = ("model", "block", "head", "pair", "tokens", "cache", "time")


def run_again(stage: Stage, ending: str) -> str:
    """Run another ending with the box ticked; the run, at its end."""
    stage.ask()
    stage.page.get_by_role("form", name="New run").get_by_label("reuse the cache").check()
    run = stage.run(BEGINNING + ending, 3)
    stage.skip_to_the_end()
    return run


def test_a_run_reads_nothing_of_an_earlier_one_until_the_box_is_ticked(stage: Stage) -> None:
    stage.open()
    for _ in range(2):
        run = stage.run(BEGINNING, 3)
        stage.skip_to_the_end()
        assert "reused" not in stage.server.log(run).open
    run = run_again(stage, " One night it went out.")
    opened = stage.server.log(run).open
    assert 0 < opened["reused"] < len(opened["tokens"])
    stage.look_at("step=0&view=head")
    expect(stage.page.locator("body")).to_contain_text(READ)
    said = READ.search(stage.page.locator("body").inner_text())
    assert said is not None
    read, prompt, computed = map(int, said.groups())
    assert (read, prompt, computed) == (opened["reused"], len(opened["tokens"]), prompt - read)
    expect(stage.page.get_by_role("group", name="Prompt").locator(".is-read")).to_have_count(read)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_view_shows_a_run_that_read_its_beginning(stage: Stage, scheme: str) -> None:
    stage.page.emulate_media(color_scheme=scheme)
    stage.open()
    stage.run(BEGINNING, 3)
    stage.skip_to_the_end()
    run_again(stage, f" In {scheme} it shone.")
    for step in (0, 2):
        for view in VIEWS:
            stage.look_at(f"step={step}&layer=3&head=2&view={view}")
            stage.expect_view(view)
            stage.rest()
            text = stage.page.locator("body").inner_text()
            assert not re.search(r"\bNaN\b|\bundefined\b|\bnull\b", text), (step, view)
    stage.page.mouse.move(0, 0)  # and open no hint
    stage.rest()
    assert violations(stage.page) == []


def test_a_row_that_was_read_cannot_be_chosen_and_says_why(stage: Stage) -> None:
    stage.open()
    stage.run(BEGINNING, 3)
    stage.skip_to_the_end()
    run = run_again(stage, " Then he slept.")
    reused = stage.server.log(run).open["reused"]
    stage.look_at("step=0&layer=3&head=2&view=head")
    expect(stage.page.get_by_text(f"The first {reused} tokens have no rows here")).to_be_visible()
    stage.look_at("step=0&layer=3&head=2&query=2&key=1&view=block")
    row = stage.page.get_by_label("Row", exact=True)
    expect(row).to_have_value(str(reused))
    expect(row.locator("option:disabled")).to_have_count(reused)
