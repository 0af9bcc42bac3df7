"""Branching: a click on a candidate goes on from there, shares the cache, and stands in the tree by the timeline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import PHONE
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
    """Branch at a step with a candidate, by keyboard; the branch's id and the token's text."""
    button, text = candidate(stage, step, rank, run)
    button.press("Enter")
    expect(stage.page.locator(f"html:not([data-run='{run}'])")).to_be_attached()
    expect(stage.region("Branches")).to_contain_text("Branch:")
    return stage.run_id, text


def rows(stage: Stage) -> Locator:
    return stage.region("Branches").get_by_role("listitem").get_by_role("button")


def test_a_branch_shares_its_parents_blocks_and_the_tree_leads_back_and_forth(stage: Stage, long_run: str) -> None:
    stage.open(long_run, "#step=2&layer=13&head=8").expect_step(2)
    fork, text = branch(stage, long_run, 2)
    stage.expect_step(2)
    words, position = stage.region("Branches"), len(stage.server.opened(long_run)["tokens"]) + 2
    expect(words).to_contain_text(f"“{text}” replaces the model’s choice at position {position}")
    log = stage.server.log(fork)
    before, after = log.steps[2]["kv"]["block_table"], log.steps[3]["kv"]
    pairs = zip(before, after["block_table"], after["refcounts"], strict=False)
    shared = sum(old == new and count > 1 for old, new, count in pairs)
    assert shared >= 1
    expect(words).to_contain_text(f"It shares {shared} of its {len(after['block_table'])} cache block")
    expect(stage.words.nth(2)).to_have_attribute("title", re.compile("set by this branch"))
    stage.page.wait_for_url(f"**run={fork}*step=2&layer=13&head=8*")
    expect(rows(stage).filter(has_text=f"“{text}” given").filter(has_text="shown now").first).to_be_visible()
    rows(stage).filter(has_text="the first run").press("Enter")
    expect(stage.page.locator(f"html[data-run='{long_run}']")).to_be_attached()
    stage.expect_step(2)
    expect(words.locator("[aria-current=true]")).to_contain_text("the first run")
    stage.page.wait_for_url(f"**run={long_run}*")
    stage.page.go_back()
    expect(stage.page.locator(f"html[data-run='{fork}']")).to_be_attached()
    stage.open(long_run, "#step=5").expect_step(5)
    panel = stage.region("Next token")
    expect(panel.get_by_role("button", name=re.compile("^Branch with"))).to_have_count(0)
    expect(panel.get_by_title(re.compile("last of the 6 new tokens")).first).to_be_visible()


def test_one_branch_starts_at_a_time_and_a_refused_one_can_be_tried_again(
    stage: Stage, long_run: str, complaints: Complaints
) -> None:
    stage.open(long_run, "#step=3").expect_step(3)
    complaints.allow(r"status of 429")
    problem = '{"title": "Too Many Requests", "status": 429, "detail": "The cache has no room for another run."}'
    headers = {"Retry-After": "5", "Content-Type": "application/problem+json"}
    held: list[Route] = []
    stage.page.route("**/fork", lambda route: held.append(route))
    stage.page.route("**/fork", lambda route: route.fulfill(status=429, headers=headers, body=problem), times=1)
    button, text = candidate(stage, 3, 1, long_run)
    other, _ = candidate(stage, 3, 2, long_run)
    button.click()
    expect(stage.alert).to_contain_text("The cache has no room for another run. Try again in 5 s.")
    assert stage.run_id == long_run
    button.click()
    expect(stage.region("Branches")).to_contain_text(f"Starting a branch with “{text}”")
    expect(other).to_have_attribute("aria-disabled", "true")
    other.click(force=True)
    stage.map.press("ArrowUp")
    stage.still()
    assert len(held) == 1
    held[0].continue_()
    expect(stage.region("Branches")).to_contain_text("Branch:")
    expect(stage.alert).to_have_count(0)


def test_a_branch_left_while_it_was_starting_is_in_the_tree(stage: Stage, long_run: str, short_run: str) -> None:
    """Another run is opened before the branch has come: it is not opened over that, and not lost."""
    stage.open(long_run, "#step=4").expect_step(4)
    held: list[Route] = []
    stage.page.route("**/fork", lambda route: held.append(route))
    button, text = candidate(stage, 4, 1, long_run)
    button.click()
    expect(stage.region("Branches")).to_contain_text("Starting a branch with")
    stage.page.evaluate("([run]) => history.pushState(null, '', `/?run=${run}#step=1`)", [short_run])
    stage.page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    expect(stage.page.locator(f"html[data-run='{short_run}']")).to_be_attached()
    with stage.page.expect_response("**/fork"):
        held[0].continue_()
    stage.rest()
    assert stage.run_id == short_run
    stage.open(long_run, "#step=4")
    expect(rows(stage).filter(has_text=f"“{text}” given")).to_have_count(1)


def test_a_branch_of_a_recorded_run_stands_on_the_page_of_who_made_it_alone_also_on_a_phone(
    new_page: NewPage, server: Server
) -> None:
    stage = Stage(new_page(**PHONE), server)
    text = stage.page.request.get(server.url).text()
    example = text.split('"examples": [{"id": "', 1)[1].split('"', 1)[0]
    stage.open(example, "#step=1")
    stage.page.get_by_role("navigation", name="Panels").get_by_role("button", name="Next token").click()
    fork, _ = branch(stage, example, 1)
    expect(rows(stage).filter(has_text="shown now")).to_be_visible()
    # The rows of a recording were never in this engine's cache, unless another test has put them there.
    recomputed = stage.server.opened(fork)["parent"]["recomputed"]["rows"]
    says = f"{recomputed} rows were computed again" if recomputed else "not computed again"
    expect(stage.region("Branches")).to_contain_text(says)
    assert stage.overflow() <= 0
    other = Stage(new_page(), server)
    with other.page.expect_response(re.compile("/family")) as answered:
        other.open(example)
    assert [member["id"] for member in answered.value.json()["runs"]] == [example]
    expect(rows(other)).to_have_count(0)
