"""A busy server queues a run and shows its place, and whoever started a run can delete it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import requests
from playwright.sync_api import expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import TINY_MODEL, Server
from tests.support.stage import Stage


@pytest.fixture(scope="module")
def small(start_server: Callable[..., Server]) -> Server:
    """A server with a tiny model and one place."""
    return start_server(*TINY_MODEL, "--model", "endless", "--max-open-runs", "1")


@pytest.fixture
def stage(new_page: NewPage, small: Server, complaints: Complaints) -> Stage:
    complaints.allow("status of 409")  # the recorded run that the page begins with is of another model
    small.wait_until_ready()
    return Stage(new_page(), small)


def ask_in_vain(stage: Stage) -> str:
    """For a run while another has the only place; that one, which goes on for some seconds."""
    stage.open()
    stage.type_prompt("Hello")
    stage.set_number("new tokens", 3)
    busy = stage.server.start_run("Once upon a time", max_new_tokens=256)
    stage.button("Run").click()
    return busy


def test_who_finds_no_place_is_told_where_they_stand_and_begins_in_turn_or_leaves(
    stage: Stage, small: Server, complaints: Complaints
) -> None:
    complaints.allow("status of 404")
    busy = ask_in_vain(stage)
    line = stage.page.locator("#queued")
    expect(line).to_contain_text("your run is next in the queue")
    expect(line).to_contain_text("(estimated)")
    line.get_by_role("button", name="Cancel").click()
    expect(stage.alert).to_contain_text("Removed from the queue")
    expect(line).to_have_count(0)
    assert "kvscope_runs_waiting 0\n" in requests.get(f"{small.url}metrics", timeout=30).text
    small.stop(busy)
    small.wait_for_the_end(busy)
    busy = ask_in_vain(stage)
    expect(line).to_contain_text("your run is next in the queue")
    small.stop(busy)
    expect(line).to_have_count(0)
    stage.expect_phase("done")
    expect(stage.words).to_have_count(3)


def test_who_started_a_run_deletes_it_and_nobody_else_is_offered_to(
    stage: Stage, small: Server, new_page: NewPage, complaints: Complaints
) -> None:
    complaints.allow("status of 404")  # a page may still ask for values of the run that is gone
    stage.open()
    run = stage.run("Hello", 3)
    stage.expect_phase("done")
    other = Stage(new_page(), small)
    other.page.goto(f"{small.url}?run={run}")
    other.expect_phase("done")
    button = {"name": "Delete", "exact": True}
    expect(other.page.get_by_role("button", **button)).to_have_count(0)
    stage.page.get_by_role("button", **button).click()
    dialog = stage.page.get_by_role("dialog", name="Delete this run")
    expect(dialog).to_contain_text("for 90 days. If stored data reaches 10.0 GB before that, it deletes the oldest")
    with stage.page.expect_navigation():
        dialog.get_by_role("button", name="Delete it").click()
    assert requests.get(f"{small.url}api/runs/{run}", timeout=30).status_code == 404
