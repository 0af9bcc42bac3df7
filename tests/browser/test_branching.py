"""Branching: a click on a candidate goes on from there, shares the cache, and stands in the tree by the timeline."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.support.complaints import Complaints
from tests.support.server import Server
from tests.support.stage import Stage

LONG = "The animal didn't cross the street because it was too tired to walk, and the driver of the car did not stop"


@pytest.fixture(scope="session")
def long_run(_server: Server) -> str:
    """A finished greedy run whose prompt fills more than one block of 16 positions."""
    _server.wait_until_ready()
    return _server.finished_run(LONG, max_new_tokens=6)


def candidate(stage: Stage, step: int, rank: int, run: str) -> tuple[Locator, str]:
    """The button of a candidate in the small panel, and the token's text."""
    text = stage.server.log(run).steps[step]["top_tokens"][rank]["text"].strip()
    name = re.compile(rf"^Branch with ·?{re.escape(text)} ")
    return stage.region("Next token").get_by_role("button", name=name), text


def branch(stage: Stage, run: str, step: int, rank: int = 1) -> tuple[str, str]:
    """Branch at a step with a candidate; the branch's id and the token's text."""
    button, text = candidate(stage, step, rank, run)
    button.click()
    expect(stage.page.locator(f"html:not([data-run='{run}'])")).to_be_attached()
    expect(stage.region("Branches")).to_contain_text("A branch:")
    return stage.run_id, text


def rows(stage: Stage) -> Locator:
    return stage.region("Branches").get_by_role("listitem").get_by_role("button")


def test_a_click_on_a_candidate_opens_a_branch_at_that_step_with_shared_blocks(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=2&layer=13&head=8")
    stage.expect_step(2)
    fork, text = branch(stage, long_run, 2)
    stage.expect_step(2)
    words = stage.region("Branches")
    position = len(stage.server.log(long_run).open["tokens"]) + 2
    expect(words).to_contain_text(f"“{text}” was put at position {position}")
    expect(words).to_contain_text("with its parent: the same memory")
    log = stage.server.log(fork)
    before, after = log.steps[2]["kv"]["block_table"], log.steps[3]["kv"]
    pairs = zip(before, after["block_table"], after["refcounts"], strict=False)
    shared = sum(old == new and count > 1 for old, new, count in pairs)
    assert shared >= 1
    expect(words).to_contain_text(f"Shares {shared} of its {len(after['block_table'])} cache block")
    stage.page.wait_for_url(re.compile(r"step=2&layer=13&head=8"))
    expect(stage.words.nth(2)).to_have_attribute("title", re.compile("given by this branch"))


def test_the_tree_leads_from_branch_to_branch_and_back(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=1")
    stage.expect_step(1)
    first, text = branch(stage, long_run, 1)
    expect(rows(stage).filter(has_text=f"given “{text}”").filter(has_text="shown now").first).to_be_visible()
    stage.page.wait_for_url(f"**run={first}*")
    rows(stage).filter(has_text="the first run").click()
    expect(stage.page.locator(f"html[data-run='{long_run}']")).to_be_attached()
    stage.expect_step(1)
    current = stage.region("Branches").locator("[aria-current=true]")
    expect(current).to_contain_text("the first run")
    stage.page.wait_for_url(f"**run={long_run}*")
    stage.page.go_back()
    expect(stage.page.locator(f"html[data-run='{first}']")).to_be_attached()


def test_a_new_branch_appears_in_the_tree_of_its_parent_by_keyboard(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=3")
    stage.expect_step(3)
    button, text = candidate(stage, 3, 2, long_run)
    button.focus()
    stage.page.keyboard.press("Enter")
    expect(rows(stage).filter(has_text=f"given “{text}”").filter(has_text="shown now")).to_have_count(1)
    root = rows(stage).filter(has_text="the first run")
    root.focus()
    stage.page.keyboard.press("Enter")
    expect(stage.page.locator(f"html[data-run='{long_run}']")).to_be_attached()
    stage.expect_step(3)


def test_two_quick_clicks_start_one_branch_and_the_page_says_that_it_is_starting(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=2")
    stage.expect_step(2)
    held: list[Route] = []
    stage.page.route("**/fork", lambda route: held.append(route))
    button, text = candidate(stage, 2, 1, long_run)
    other, _ = candidate(stage, 2, 2, long_run)
    button.click()
    expect(stage.region("Branches")).to_contain_text(f"Starting a branch with “{text}”")
    expect(other).to_have_attribute("aria-disabled", "true")
    other.click(force=True)
    stage.still()
    assert len(held) == 1
    held[0].continue_()
    expect(stage.region("Branches")).to_contain_text("A branch:")


def test_a_refused_branch_is_told_and_can_be_tried_again(stage: Stage, long_run: str, complaints: Complaints) -> None:
    complaints.allow(r"status of 429")
    stage.open(long_run, "#step=2")
    stage.expect_step(2)
    problem = '{"title": "Too Many Requests", "status": 429, "detail": "The cache has no room for another run."}'
    headers = {"Retry-After": "5", "Content-Type": "application/problem+json"}
    stage.page.route("**/fork", lambda route: route.fulfill(status=429, headers=headers, body=problem), times=1)
    button, _ = candidate(stage, 2, 1, long_run)
    button.click()
    expect(stage.alert).to_contain_text("The branch could not be started")
    expect(stage.alert).to_contain_text("The cache has no room for another run. Try again in 5 s.")
    assert stage.run_id == long_run
    branch(stage, long_run, 2)
    expect(stage.alert).to_have_count(0)


def test_the_last_tokens_candidates_say_why_they_cannot_be_branched(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=5")
    stage.expect_step(5)
    panel = stage.region("Next token")
    expect(panel.get_by_role("button", name=re.compile("^Branch with"))).to_have_count(0)
    expect(panel.get_by_title(re.compile("last of the 6 new tokens")).first).to_be_visible()


def test_the_tree_fits_a_phone(new_page: Callable[..., Page], server: Server, long_run: str) -> None:
    stage = Stage(new_page(viewport={"width": 390, "height": 844}, has_touch=True), server)
    stage.open(long_run, "#step=2")
    stage.page.get_by_role("navigation", name="Panels").get_by_role("button", name="Next token").click()
    branch(stage, long_run, 2, 3)
    expect(rows(stage).filter(has_text="shown now")).to_be_visible()
    assert stage.overflow() <= 0


def test_a_branch_of_a_recorded_run_stands_on_the_page_of_who_made_it_alone(
    stage: Stage, new_page: Callable[..., Page]
) -> None:
    example = (
        stage.page.request.get(f"{stage.server.url}/").text().split('"examples": [{"id": "', 1)[1].split('"', 1)[0]
    )
    stage.open(example, "#step=1")
    for rank in (1, 2):
        branch(stage, example, 1, rank)
        stage.open(example, "#step=1")
        expect(rows(stage)).to_have_count(1 + rank)
    other = Stage(new_page(), stage.server)
    with other.page.expect_response(re.compile("/family")) as answered:
        other.open(example)
    assert [member["id"] for member in answered.value.json()["runs"]] == [example]
    expect(rows(other)).to_have_count(0)
