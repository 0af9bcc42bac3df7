"""The lens: the layer of a step that is opened to be followed, while it plays and where a walk stands."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.support.numbers import fixed
from tests.support.server import Server
from tests.support.stage import Stage

WATCH_FOR_IT = """() => {
  window.lenses = 0;
  new MutationObserver(() => { window.lenses += document.querySelectorAll(".map-lens").length; })
    .observe(document.body, { subtree: true, childList: true });
}"""
"""Counts a lens that is there in any frame, however short."""
SMALLEST = """(map) => Math.min(...[...map.querySelectorAll("text, p, h2, span")]
  .filter((element) => element.textContent.trim() && element.getClientRects().length)
  .map((element) => parseFloat(getComputedStyle(element).fontSize)))"""


def lens_of(stage: Stage) -> Locator:
    return stage.map.get_by_role("img", name=re.compile(r"^Layer \d+ opened"))


def walk(stage: Stage, layers: int) -> None:
    for _ in range(layers):
        stage.page.keyboard.press(".")


def test_a_walk_stands_in_the_lens_of_its_layer_and_at_rest_it_is_closed(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    stage.open(short_run, "#step=2&layer=13&head=2&view=head").expect_step(2)
    expect(lens_of(stage)).to_have_count(0)
    positions = len(log.open["tokens"]) + 3
    newest = log.tokens[positions - 1]["text"].strip()
    for layer in range(3):
        walk(stage, 1)
        said = f"Layer {layer} opened: 9 heads of “{newest}” read K and V of {positions} tokens"
        expect(lens_of(stage)).to_have_accessible_name(said)
    took = log.steps[3]["ms"]["layers"][2]
    written = fixed(took, 0 if took >= 10 else 1 if took >= 1 else 2)
    expect(stage.map).to_contain_text(re.compile(rf"took {written}\s*ms"))
    expect(stage.map).to_contain_text("layers 3 to 29: not computed yet")
    stage.page.keyboard.press("ArrowUp")  # looks elsewhere
    expect(lens_of(stage)).to_have_count(0)
    stage.page.keyboard.press("ArrowDown")
    expect(lens_of(stage)).to_have_count(1)
    stage.slider.fill("3")
    expect(lens_of(stage)).to_have_count(0)


def test_in_prefill_the_same_with_all_tokens_at_once(stage: Stage, short_run: str) -> None:
    tokens = stage.server.log(short_run).open["tokens"]
    stage.open(short_run, "#step=0&layer=13&head=2&view=head").expect_step(0)
    stage.page.keyboard.press(",")
    said = f"Layer 29 opened: 9 heads of all {len(tokens)} tokens read K and V of {len(tokens)} tokens"
    expect(lens_of(stage)).to_have_accessible_name(said)
    expect(stage.map).to_contain_text(f"threads of “{tokens[-1]['text'].strip()}”")
    expect(stage.map).not_to_contain_text("not computed yet")


def test_a_step_that_plays_opens_the_lens_at_the_selected_layer_and_closes_it(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=0&layer=13&head=2&view=head").expect_step(0)
    stage.play_at("½×")  # it is open for three seconds then
    stage.button("Next step").click()
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 13 opened"))
    expect(stage.map).to_contain_text(re.compile(r"took [\d.]+\s*m?s"))
    expect(lens_of(stage)).to_have_count(0)
    stage.expect_phase("paused")
    stage.expect_step(1)


def test_with_reduced_motion_nothing_opens_while_it_plays_and_a_walk_cuts_to_all_of_it(
    server: Server, short_run: str, new_page: Callable[..., Page]
) -> None:
    stage = Stage(new_page(reduced_motion="reduce"), server)
    stage.open(short_run, "#step=2&layer=13&head=2&view=head").expect_step(2)
    stage.page.evaluate(WATCH_FOR_IT)
    stage.button("Next step").click()
    stage.expect_step(3)
    stage.painted()
    assert stage.page.evaluate("window.lenses") == 0
    walk(stage, 1)
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 0 opened"))


def test_what_is_pointed_at_in_the_lens_is_what_a_click_takes(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head").expect_step(2)
    walk(stage, 14)
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 13 opened"))
    taken = set()
    for share in (0.3, 0.5, 0.7):
        box = lens_of(stage).bounding_box()
        assert box
        point = (box["x"] + 0.43 * box["width"], box["y"] + share * box["height"])
        stage.page.mouse.move(*point)
        tip = stage.map.locator(".tooltip")
        expect(tip).to_contain_text(re.compile(r"Layer 13, head \d: “.+” looks at “.+”"))
        told = re.search(r"head (\d).*key at position (\d+)", tip.inner_text(), re.DOTALL)
        assert told
        stage.page.mouse.click(*point)
        expect(stage.page).to_have_url(re.compile(f"layer=13&head={told[1]}&.*key={told[2]}"))
        taken.add(told[1])
    assert len(taken) == 3


def test_a_press_while_the_lens_moves_takes_what_was_drawn_there_then(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=0&layer=13&head=2&view=head").expect_step(0)
    stage.play_at("½×")
    box = stage.map.bounding_box()
    assert box
    stage.button("Next step").click()
    expect(lens_of(stage)).to_have_count(1)
    lens = lens_of(stage).bounding_box()
    assert lens
    # An old token's column, some rows above the one that is opened.
    stage.page.mouse.click(box["x"] + 44, lens["y"] + 0.4 * lens["height"])
    expect(stage.page).to_have_url(re.compile("layer=13&.*query=0"))


def test_on_a_phone_it_opens_lower_and_draws_the_strongest_threads_of_a_longer_prompt(
    server: Server, new_page: Callable[..., Page]
) -> None:
    run = server.finished_run("one two three four five six seven eight nine ten " * 5, max_new_tokens=2)
    stage = Stage(new_page(viewport={"width": 390, "height": 844}), server)
    stage.open(run, "#step=0&layer=13&head=2&view=head").expect_step(0)
    stage.page.get_by_role("button", name="Map", exact=True).click()
    walk(stage, 14)
    expect(lens_of(stage)).to_be_visible()
    expect(stage.map).to_contain_text("top 8")
    card, whole = lens_of(stage).bounding_box(), stage.map.bounding_box()
    assert card
    assert whole
    assert card["height"] < 0.4 * whole["height"]
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= 390
    assert stage.map.evaluate(SMALLEST) >= 12
    assert stage.overflow() <= 0


def test_nothing_on_the_map_is_written_smaller_than_12_px(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head").expect_step(2)
    assert stage.map.evaluate(SMALLEST) >= 12
    walk(stage, 14)
    expect(lens_of(stage)).to_be_visible()
    assert stage.map.evaluate(SMALLEST) >= 12
