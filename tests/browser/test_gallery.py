"""The gallery as its visitors use it: by mouse, by keys, on a phone, in the dark, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.screens import DESKTOP, PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage
from tools.record.__main__ import recipes, workloads

pytestmark = [pytest.mark.browser, pytest.mark.real]

PAINTED = """all => all.map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((_, at) => at % 4 === 3).reduce((count, alpha) => count + (alpha > 0), 0) / (data.length / 4);
})"""
"""How much of each picture is not the card's own ground."""
OPENINGS = [pytest.param(recipe, id=recipe["name"]) for recipe in recipes()]


@pytest.fixture
def gallery(new_page: Callable[..., Page], server: Server) -> Page:
    """The gallery on a desktop, its pictures drawn."""
    return open_gallery(new_page(), server)


def open_gallery(page: Page, server: Server) -> Page:
    page.goto(f"{server.url}gallery")
    expect(page.locator("canvas").last).to_be_visible()
    return page


def test_the_start_page_leads_to_it(stage: Stage) -> None:
    stage.open()
    stage.page.get_by_role("link", name="Gallery", exact=True).click()
    expect(stage.page.get_by_role("heading", name="Gallery", level=1)).to_be_visible()
    expect(stage.page.get_by_role("listitem")).to_have_count(len(recipes()) + len(workloads()))


def test_on_a_phone_the_chooser_of_recorded_runs_leads_to_it(new_page: Callable[..., Page], server: Server) -> None:
    stage = Stage(new_page(**PHONE), server).open()
    expect(stage.page.get_by_role("link", name="Gallery", exact=True)).to_be_hidden()
    stage.page.get_by_label("Recorded runs").select_option("More, in the gallery…")
    expect(stage.page.get_by_role("heading", name="Gallery", level=1)).to_be_visible()


@pytest.mark.parametrize("recipe", OPENINGS)
def test_a_card_opens_its_run_at_the_moment_it_shows(gallery: Page, server: Server, recipe: dict[str, object]) -> None:
    gallery.get_by_role("link", name=str(recipe["title"]), exact=True).click()
    gallery.wait_for_url(re.compile("/s/[a-z2-7]+"))
    stage = Stage(gallery, server)
    opening = recipe["open"]
    assert isinstance(opening, dict)
    stage.expect_step(opening["step"])
    shared = gallery.get_by_role("group", name="Shared run")
    expect(shared.get_by_role("heading", name=str(recipe["title"]), exact=True)).to_be_visible()
    for field in ("layer", "head", "query", "key"):
        expect(gallery).to_have_url(re.compile(rf"[#&]{field}={opening[field]}(&|$)"))
    notes = gallery.get_by_role("region", name="Notes")
    here = [note for note in recipe["note"] if note["step"] == opening["step"]]  # type: ignore[attr-defined]
    expect(notes.get_by_role("listitem")).to_have_count(len(here))


def test_keys_alone_go_through_the_cards_and_open_one(gallery: Page, server: Server) -> None:
    gallery.get_by_role("button", name="theme").focus()  # the last before the cards
    names = []
    for _ in range(2):
        gallery.keyboard.press("Tab")
        names.append(gallery.evaluate("document.activeElement.textContent.trim()"))
    assert names == [str(recipe["title"]) for recipe in recipes()[:2]]
    gallery.keyboard.press("Enter")
    Stage(gallery, server).expect_step(recipes()[1]["open"]["step"])


def test_pictures_differ_and_are_said_in_words(gallery: Page) -> None:
    pictures = gallery.get_by_role("img")
    expect(pictures).to_have_count(len(recipes()) + len(workloads()))
    drawn = pictures.evaluate_all("all => all.map(canvas => canvas.toDataURL())")
    assert len(set(drawn)) == len(drawn)
    expect(gallery.get_by_role("img", name="“it” puts 75 % on “animal”")).to_have_count(1)


def test_another_theme_draws_the_pictures_again(gallery: Page) -> None:
    drawn = "all => all.map(canvas => canvas.toDataURL())"
    before = gallery.get_by_role("img").evaluate_all(drawn)
    gallery.get_by_role("button", name="Dark theme").click()
    expect(gallery.get_by_role("button", name="Light theme")).to_be_visible()
    after = gallery.get_by_role("img").evaluate_all(drawn)
    assert len(after) == len(before)
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_no_picture_is_nearly_blank(gallery: Page) -> None:
    assert min(gallery.get_by_role("img").evaluate_all(PAINTED)) > 0.05


def test_a_special_token_has_no_ligature(gallery: Page) -> None:
    styles = gallery.locator("bdi").evaluate_all(
        "all => [...new Set(all.map((token) => getComputedStyle(token).fontVariantLigatures))]"
    )
    assert styles == ["no-contextual"]


def test_on_a_phone_nothing_is_wider_than_the_screen(new_page: Callable[..., Page], server: Server) -> None:
    page = open_gallery(new_page(viewport={"width": 390, "height": 844}, has_touch=True), server)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.get_by_role("link", name=recipes()[-1]["title"])).to_be_attached()


def test_without_scripts_the_words_and_the_links_are_there(new_page: Callable[..., Page], server: Server) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(f"{server.url}gallery")
    for recipe in recipes():
        expect(page.get_by_role("link", name=str(recipe["title"]), exact=True)).to_be_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_breaks_no_rule(
    new_page: Callable[..., Page], server: Server, screen: dict[str, object], scheme: str
) -> None:
    assert violations(open_gallery(new_page(**screen, color_scheme=scheme), server)) == []
