"""Other screens and other wishes: a phone, the dark, no motion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.runs import SMALL_RUN, WORDS, share
from tests.support.screens import violations
from tests.support.server import Server
from tests.support.stage import Stage

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def test_a_phone_shows_every_panel_and_never_scrolls_sideways(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = Stage(new_page(**PHONE), server).open_finished(short_run)
    assert stage.overflow() <= 0
    tabs = stage.page.get_by_role("navigation", name="Panels").get_by_role("button")
    names = ["Model map", "Inspector", "Next token", "KV cache", "Time"]
    expect(tabs).to_have_count(len(names))
    for tab, name in zip(tabs.all(), names, strict=True):
        tab.tap()
        expect(stage.region(name)).to_be_in_viewport(ratio=0.2)
        expect(tab).to_have_attribute("aria-current", "true")
        assert stage.overflow() <= 0


def test_a_phone_has_one_row_of_panels_whatever_is_open(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    page = new_page(**PHONE)
    stage = Stage(page, server).open(short_run, "#step=1&view=tokens")
    stage.expect_view("tokens")
    for name in ("Next token", "Cache", "Time"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(1)
    page.get_by_role("navigation", name="Panels").get_by_role("button", name="Cache").tap()
    stage.region("KV cache").get_by_role("button", name="Why a cache?").tap()
    stage.expect_view("cache")
    expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_in_viewport()


CONTROLS = """() => [...document.querySelectorAll("button, a, input, select, textarea, [role=application]")]
  .filter((control) => {
    const { left, top, right, bottom } = control.getBoundingClientRect();
    const inSight = right > Math.max(left, 0) && bottom > Math.max(top, 0) && left < innerWidth && top < innerHeight;
    const drawn = control.matches("input, select") || control.checkVisibility({ opacityProperty: true });
    return control.tabIndex >= 0 && inSight && drawn;
  })
  .map((control) => control.getAttribute("aria-label") ?? control.textContent)"""
"""What can be operated and is in sight. A group that arrow keys lead through counts once, as the Tab key has it."""


def test_nobody_is_asked_for_many_decisions_at_once(new_page: Callable[..., Page], stage: Stage) -> None:
    run = stage.server.finished_run(SMALL_RUN, max_new_tokens=6)  # nobody has branched off it
    newcomer = Stage(new_page(), stage.server)
    newcomer.page.goto(stage.server.url)
    expect(newcomer.button("Watch")).to_be_visible()
    first = newcomer.page.evaluate(CONTROLS)
    phone = Stage(new_page(**PHONE), stage.server).open_finished(run).rest()
    held = phone.page.evaluate(CONTROLS)
    whole = stage.open_finished(run).rest().page.evaluate(CONTROLS)
    assert (len(first) <= 15, len(whole) <= 40, len(held) <= 25) == (True, True, True), (first, whole, held)
    assert min(map(len, (first, whole, held))) > 5


@pytest.mark.parametrize("place", ["", "#step=3&layer=13&head=2&view=head"], ids=["shared", "copied"])
def test_a_link_to_a_head_opens_it_on_a_phone(
    new_page: Callable[..., Page], server: Server, short_run: str, place: str
) -> None:
    """A shared run opens at the head its sharer saw; an address that was copied, at the one it names."""
    page = new_page(**PHONE)
    address = f"?run={short_run}{place}" if place else f"s/{share(server, short_run, **WORDS).id}"
    page.goto(server.url + address)
    stage = Stage(page, server)
    stage.expect_view("head")
    expect(stage.matrix).to_be_in_viewport(ratio=0.5)
    tabs = page.get_by_role("navigation", name="Panels")
    expect(tabs.get_by_role("button", name="Inspector")).to_have_attribute("aria-current", "true")


@pytest.mark.parametrize(("screen", "path"), [(PHONE, ""), ({"viewport": {"width": 700, "height": 500}}, "embed/")])
def test_a_small_screen_is_mostly_picture(
    new_page: Callable[..., Page], server: Server, short_run: str, screen: dict[str, Any], path: str
) -> None:
    page = new_page(**screen)
    if path:
        page.goto(f"{server.url}{path}{share(server, short_run).id}?step=2&layer=13&head=2")
    else:
        Stage(page, server).open_finished(short_run)
    expect(page.get_by_role("application", name="Arrow keys choose layer and head")).to_be_attached()
    page.get_by_role("navigation", name="Panels").get_by_role("button", name="Map").click()
    answer, steps, panel = (
        page.locator(one).bounding_box()
        for one in ("[aria-label='Prompt and answer']", "[aria-label=Playback]", "#panel-map")
    )
    assert answer is not None
    assert steps is not None
    assert panel is not None
    assert steps["y"] + steps["height"] - answer["y"] <= 100
    assert panel["height"] >= 0.55 * screen["viewport"]["height"]


LAYOUT_SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => {
  const classOf = ({ node }) => node?.className;
  for (const { value, sources } of list.getEntries()) shifts.push({ value, of: sources.map(classOf) });
}).observe({ type: "layout-shift", buffered: true })"""
GOOD_LAYOUT_SHIFT = 0.1
"""The most that Core Web Vitals call good: shares of the window's area that moved, times how far."""


@pytest.mark.parametrize("screen", [PHONE, {}], ids=["phone", "desktop"])
def test_nothing_jumps_while_a_run_is_opened(
    new_page: Callable[..., Page], server: Server, screen: dict[str, Any]
) -> None:
    """A run of its own: one that other tests branched has a tree, which comes when the server has found its family."""
    run = server.finished_run(SMALL_RUN, max_new_tokens=3)
    page = new_page(**screen)
    page.add_init_script(LAYOUT_SHIFTS)
    Stage(page, server).open_finished(run)
    expect(page.get_by_role("region", name="Look here").get_by_role("button").first).to_be_visible()
    shifts = page.evaluate("shifts")
    assert sum(shift["value"] for shift in shifts) < GOOD_LAYOUT_SHIFT, shifts


def test_a_phone_says_that_there_is_more_text_and_shows_it(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    whole = server.finished_run(
        "Once upon a time there was a small robot who lived in a house by the sea", max_new_tokens=40
    )
    page = new_page(**PHONE)
    stage = Stage(page, server).open_finished(short_run)
    more = stage.button("All of the text")
    expect(more).to_have_count(0)
    before = stage.answer.bounding_box()
    stage.open_finished(whole)
    expect(more).to_have_attribute("aria-expanded", "false")
    assert stage.answer.bounding_box() == before
    assert page.evaluate("scrollX") == stage.overflow() == 0
    more.tap()
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(stage.ending).to_be_in_viewport()
    expect(stage.words.first).to_be_in_viewport()
    assert violations(page) == []
    more.tap()
    expect(more).to_have_attribute("aria-expanded", "false")
    assert stage.answer.bounding_box() == before


SELECTED = """(answer) => {
  getSelection().selectAllChildren(answer);
  const text = getSelection().toString();
  getSelection().removeAllRanges();
  return text;
}"""


@pytest.mark.parametrize("screen", [PHONE, {}], ids=["phone", "desktop"])
def test_why_a_run_ended_is_no_part_of_its_answer(
    new_page: Callable[..., Page], server: Server, short_run: str, screen: dict[str, Any]
) -> None:
    """It is not copied with the answer, and has an edge around it."""
    stage = Stage(new_page(**screen), server).open_finished(short_run)
    assert stage.answer.evaluate(SELECTED).rstrip().endswith(stage.words.last.inner_text().strip())
    edge = "element => parseFloat(getComputedStyle(element).borderLeftWidth)"
    assert stage.ending.evaluate(edge) > 0


@pytest.mark.parametrize("screen", [PHONE, {}], ids=["phone", "desktop"])
def test_what_stands_under_a_token_has_a_key(
    new_page: Callable[..., Page], server: Server, short_run: str, screen: dict[str, Any]
) -> None:
    stage = Stage(new_page(**screen), server).open_finished(short_run)
    key = stage.region("Timeline").get_by_text("number position · ms step that read it · % how likely it was")
    expect(key).to_have_count(0)
    stage.button("Tokens").click()
    expect(key).to_be_visible()
    box = key.bounding_box()
    assert box is not None
    assert box["height"] < 24, "one line"
    expect(stage.answer).to_contain_text(re.compile(r"\d\sms"))
    expect(stage.answer).to_contain_text("%")
    assert violations(stage.page) == []


def test_a_phone_runs_a_prompt(new_page: Callable[..., Page], server: Server) -> None:
    stage = Stage(new_page(**PHONE), server).open()
    shown = stage.run_id
    stage.set_number("new tokens", 2)
    stage.type_prompt("Hello")
    stage.button("Run").tap()
    expect(stage.page.locator(f"html:not([data-run='{shown}'])")).to_be_attached()
    stage.expect_phase("done")
    assert stage.overflow() <= 0


def test_the_theme_follows_the_system_and_a_choice_outlives_a_reload(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = Stage(new_page(color_scheme="dark"), server).open_finished(short_run)
    page = stage.page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    assert sum(int(part) for part in dark.removeprefix("rgb(").rstrip(")").split(",")) < 3 * 60
    in_the_dark = stage.picture("Model map")
    stage.button("Light theme").click()
    expect(stage.button("Dark theme")).to_be_visible()
    light = page.evaluate(background)
    assert sum(int(part) for part in light.removeprefix("rgb(").rstrip(")").split(",")) > 3 * 200
    stage.painted()
    assert stage.picture("Model map") != in_the_dark
    page.reload()
    expect(stage.button("Dark theme")).to_be_visible()


PICTURES_OF_A_SECOND = """async () => {
  const map = document.querySelector("[aria-label='Model map'] canvas");
  const pictures = [];
  for (const end = performance.now() + 1000; performance.now() < end; ) {
    await new Promise(requestAnimationFrame);
    pictures.push(map.toDataURL());
  }
  return pictures;
}"""


def test_with_reduced_motion_a_step_is_whole_at_once(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = Stage(new_page(reduced_motion="reduce"), server).open_finished(short_run)
    stage.page.get_by_label("Speed").select_option("¼×")
    stage.button("Next step").click()
    stage.expect_step(1)
    rising = stage.page.evaluate(PICTURES_OF_A_SECOND)
    assert len(set(rising[len(rising) // 4 :])) == 1  # the layers would rise for two seconds and more


def test_a_step_rises_layer_by_layer_and_any_key_completes_it(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    stage.page.get_by_label("Speed").select_option("¼×")
    stage.button("Next step").click()
    stage.expect_step(1)
    rising = stage.picture("Model map")
    stage.page.keyboard.press("Shift")
    stage.painted()
    whole = stage.picture("Model map")
    assert whole != rising
    assert set(stage.page.evaluate(PICTURES_OF_A_SECOND)) == {whole}
