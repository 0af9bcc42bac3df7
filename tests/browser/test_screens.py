"""Other screens and other wishes: a phone, the dark, no motion."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import NewPage
from tests.support.runs import SMALL_RUN, WORDS, share
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, box_of

CONTROLS = """() => [...document.querySelectorAll("button, a, input, select, textarea, [role=application]")]
  .filter((control) => {
    const { left, top, right, bottom } = control.getBoundingClientRect();
    const inSight = right > Math.max(left, 0) && bottom > Math.max(top, 0) && left < innerWidth && top < innerHeight;
    const drawn = control.matches("input, select") || control.checkVisibility({ opacityProperty: true });
    return control.tabIndex >= 0 && inSight && drawn;
  })
  .map((control) => control.getAttribute("aria-label") ?? control.textContent)"""
"""What can be operated and is in sight. A group that arrow keys lead through counts once, as the Tab key has it."""
LAYOUT_SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => {
  const classOf = ({ node }) => node?.className;
  for (const { value, sources } of list.getEntries()) shifts.push({ value, of: sources.map(classOf) });
}).observe({ type: "layout-shift", buffered: true })"""
GOOD_LAYOUT_SHIFT = 0.1
"""The most that Core Web Vitals call good: shares of the window's area that moved, times how far."""
SELECTED = """(answer) => {
  getSelection().selectAllChildren(answer);
  const text = getSelection().toString();
  getSelection().removeAllRanges();
  return text;
}"""
PICTURES_OF_A_SECOND = """async () => {
  const map = document.querySelector("[aria-label='Model map'] canvas");
  const pictures = [];
  for (const end = performance.now() + 1000; performance.now() < end; ) {
    await new Promise(requestAnimationFrame);
    pictures.push(map.toDataURL());
  }
  return pictures;
}"""


def test_a_phone_leads_to_every_panel_by_its_tabs_and_brings_what_is_opened(phone: Stage, sampled_run: str) -> None:
    # Not the run that other tests branch and change: the tree of its relatives takes room.
    stage = phone.open_finished(sampled_run)
    page, server = stage.page, stage.server
    tabs = page.get_by_role("navigation", name="Panels").get_by_role("button")
    names = ["Model map", "Inspector", "Next token", "KV cache", "Time"]
    for tab, name in zip(tabs.all(), names, strict=True):
        tab.tap()
        expect(stage.region(name)).to_be_in_viewport(ratio=0.2)
        expect(tab).to_have_attribute("aria-current", "true")
        assert stage.overflow() <= 0
    tabs.nth(0).tap()
    parts = ("[aria-label='Prompt and answer']", "[aria-label=Playback]", "#panel-map")
    answer, steps, panel = (box_of(page.locator(part)) for part in parts)
    assert steps["y"] + steps["height"] - answer["y"] <= 100
    assert panel["height"] >= 0.55 * 844, "a small screen is mostly picture"
    for tab, button, view in (("Next token", "Why this token?", "tokens"), ("Cache", "Why a cache?", "cache")):
        tabs.filter(has_text=tab).tap()
        stage.button(button).tap()
        stage.expect_view(view)
        stage.rest()
        expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_in_viewport()
        assert stage.region("Inspector").evaluate("region => region.scrollWidth - region.clientWidth") <= 0
        if view == "tokens":
            notes = box_of(page.locator(".path tfoot"))
            assert notes["width"] >= 0.8 * 390, "what each stage did is a text, not a column of words"
    shared = share(server, sampled_run, **WORDS).id
    for address in (f"?run={sampled_run}#step=3&layer=13&head=2&view=head", f"s/{shared}"):
        page.goto(server.url + address)
        stage.expect_view("head")
        expect(stage.matrix).to_be_in_viewport(ratio=0.5)


def test_a_phone_runs_a_prompt_and_shows_all_of_a_longer_text(phone: Stage) -> None:
    stage = phone.open()
    shown = stage.run_id
    stage.set_number("new tokens", 24)
    stage.type_prompt("Once upon a time there was a small robot who lived in a house by the sea")
    stage.button("Run").tap()
    expect(stage.page.locator(f"html:not([data-run='{shown}'])")).to_be_attached()
    stage.skip_to_the_end()
    more, before = stage.button("All of the text"), stage.answer.bounding_box()
    more.tap()
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(stage.ending).to_be_in_viewport()
    expect(stage.words.first).to_be_in_viewport()
    more.tap()
    expect(more).to_have_attribute("aria-expanded", "false")
    assert stage.answer.bounding_box() == before
    assert stage.answer.evaluate(SELECTED).rstrip().endswith(stage.words.last.inner_text().strip()), (
        "without its ending"
    )


def test_nobody_is_asked_for_many_decisions_and_nothing_jumps(new_page: NewPage, server: Server) -> None:
    """A run of its own: nobody has branched off it."""
    run = server.finished_run(SMALL_RUN, max_new_tokens=6)
    newcomer = Stage(new_page(), server)
    newcomer.page.goto(server.url)
    expect(newcomer.button("Watch")).to_be_visible()
    assert 5 < len(newcomer.page.evaluate(CONTROLS)) <= 15
    for screen, most in (({}, 47), (PHONE, 27)):
        page = new_page(**screen)
        page.add_init_script(LAYOUT_SHIFTS)
        stage = Stage(page, server).open_finished(run).rest()
        assert 5 < len(page.evaluate(CONTROLS)) <= most
        shifts = page.evaluate("shifts")
        assert sum(shift["value"] for shift in shifts) < GOOD_LAYOUT_SHIFT, shifts
        stage.button("Tokens").click()
        expect(stage.answer).to_contain_text(re.compile(r"\d\sm?s"))


def test_the_theme_follows_the_system_and_a_choice_outlives_a_reload(
    new_page: NewPage, server: Server, short_run: str
) -> None:
    stage = Stage(new_page(color_scheme="dark"), server).open_finished(short_run)
    page = stage.page
    background = "getComputedStyle(document.documentElement).backgroundColor.match(/[0-9]+/g).map(Number)"
    assert sum(page.evaluate(background)) < 3 * 60
    in_the_dark = stage.picture("Model map")
    stage.button("Light theme").click()
    expect(stage.button("Dark theme")).to_be_visible()
    assert sum(page.evaluate(background)) > 3 * 200
    stage.painted()
    assert stage.picture("Model map") != in_the_dark
    page.reload()
    expect(stage.button("Dark theme")).to_be_visible()


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_step_rises_layer_by_layer_until_a_key_or_is_whole_at_once(
    new_page: NewPage, server: Server, short_run: str, motion: Any
) -> None:
    stage = Stage(new_page(reduced_motion=motion), server).open_finished(short_run)
    stage.play_at("¼×")
    stage.button("Next step").click()
    stage.expect_step(1)
    rising = stage.picture("Model map")
    if motion == "reduce":
        pictures = stage.page.evaluate(PICTURES_OF_A_SECOND)
        assert len(set(pictures[len(pictures) // 4 :])) == 1  # the layers would rise for two seconds and more
        return
    stage.page.keyboard.press("Shift")
    whole = stage.painted().picture("Model map")
    assert whole != rising
    assert set(stage.page.evaluate(PICTURES_OF_A_SECOND)) == {whole}
