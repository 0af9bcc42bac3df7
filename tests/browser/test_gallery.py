"""The gallery as its visitors use it: by mouse, by keys, on a phone, in the dark, without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.support.pages import NewPage
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage
from tools.record.__main__ import recipes, workloads

PAINTED = """all => all.map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((_, at) => at % 4 === 3).reduce((count, alpha) => count + (alpha > 0), 0) / (data.length / 4);
})"""
"""How much of each picture is not the card's own ground."""
DRAWN = "all => all.map(canvas => canvas.toDataURL())"


def open_gallery(page: Page, server: Server) -> Page:
    page.goto(f"{server.url}gallery")
    expect(page.locator("canvas").last).to_be_visible()
    return page


def test_every_card_has_a_picture_of_its_own_in_either_theme_and_keys_go_through_them(stage: Stage) -> None:
    page = open_gallery(stage.page, stage.server)
    pictures = page.get_by_role("img")
    expect(pictures).to_have_count(len(recipes()) + len(workloads()))
    before = pictures.evaluate_all(DRAWN)
    assert len(set(before)) == len(before)
    assert min(pictures.evaluate_all(PAINTED)) > 0.05
    page.get_by_role("button", name="Dark theme").click()
    expect(page.get_by_role("button", name="Light theme")).to_be_visible()
    assert all(one != other for one, other in zip(before, pictures.evaluate_all(DRAWN), strict=True))
    page.get_by_role("button", name="Help").focus()  # the last before the cards
    names = []
    for _ in range(2):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert names == [str(recipe["title"]) for recipe in recipes()[:2]]
    page.keyboard.press("Enter")
    stage.expect_step(recipes()[1]["open"]["step"])


def test_a_card_opens_its_run_at_the_moment_it_shows(stage: Stage) -> None:
    page = open_gallery(stage.page, stage.server)
    cards = page.get_by_role("heading").get_by_role("link")
    addresses = {link.inner_text().strip(): link.get_attribute("href") or "" for link in cards.all()}
    for recipe in recipes():
        title, opening = str(recipe["title"]), recipe["open"]
        page.goto(stage.server.url + addresses[title].lstrip("/"))
        stage.expect_step(opening["step"])
        expect(page.get_by_role("group", name="Shared run").get_by_role("heading")).to_have_text(title)
        place = "&".join(f"{name}={opening[name]}" for name in ("layer", "head", "query", "key"))
        expect(page).to_have_url(re.compile(rf"{place}(&|$)"))
        here = [note for note in recipe["note"] if note["step"] == opening["step"]]
        expect(page.get_by_role("region", name="Notes").get_by_role("listitem")).to_have_count(len(here))


def test_a_phone_and_whoever_has_no_scripts_find_it_too(new_page: NewPage, server: Server) -> None:
    stage = Stage(new_page(**PHONE), server).open()
    stage.page.get_by_label("Recorded runs").select_option("More, in the gallery…")
    expect(stage.page.get_by_role("heading", name="Gallery", level=1)).to_be_visible()
    page = new_page(java_script_enabled=False)
    page.goto(f"{server.url}gallery")
    for recipe in recipes():
        expect(page.get_by_role("link", name=str(recipe["title"]), exact=True)).to_be_visible()
