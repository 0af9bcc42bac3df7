"""No violation that axe finds, in every view, light and dark, desktop and phone; text at twice its size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.server import Server, eventually
from tests.browser.stage import Stage

VIEWS = ["model", "block", "head", "pair", "tokens", "cache", "time"]
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Zoomed to twice its size, a window has half of its width and height for the page.
ZOOMED = {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2}
PLACE = "#step=3&layer=13&head=2&query=8&key=1&view="


def open_view(page: Page, server: Server, run: str, view: str) -> Stage:
    """A view at rest: what it fetches is there, what moves has moved."""
    stage = Stage(page, server).open(run, PLACE + view)
    stage.expect_step(3)
    expect(stage.region("Look here").get_by_role("button").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)
    return stage


def violations(page: Page) -> list[str]:
    """A line per element that breaks a rule."""
    response = Axe().run(page).response
    assert len(response["passes"]) > 10, "axe has not looked"
    return [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_view_breaks_no_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, view: str, scheme: str, screen: dict[str, Any]
) -> None:
    page = new_page(**screen, color_scheme=scheme, reduced_motion="reduce")
    open_view(page, server, short_run, view)
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_opens_over_the_page_breaks_no_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, scheme: str
) -> None:
    page = new_page(**DESKTOP, color_scheme=scheme)
    stage = open_view(page, server, short_run, "head")
    stage.button("Save Inspector").click()
    stage.region("Model map").get_by_role("button", name="KV cache").focus()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("screen", [PHONE, ZOOMED], ids=["phone", "zoomed"])
def test_a_narrow_window_scrolls_only_downwards(
    new_page: Callable[..., Page], server: Server, short_run: str, view: str, screen: dict[str, Any]
) -> None:
    stage = open_view(new_page(**screen), server, short_run, view)
    assert stage.overflow() <= 0


def test_text_of_twice_the_size_fits_a_phone(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    stage = open_view(page, server, short_run, "head")
    page.evaluate("document.documentElement.style.setProperty('zoom', '2')")
    eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
    tabs = page.get_by_role("navigation", name="Panels").get_by_role("button")
    for tab in tabs.all():
        tab.tap()
        expect(tab).to_have_attribute("aria-current", "true")
    for name in ("Prompt", "Step"):
        expect(page.get_by_label(name, exact=True)).to_be_visible()
    stage.button("Run").scroll_into_view_if_needed()
    expect(stage.button("Run")).to_be_in_viewport(ratio=1)


def test_the_map_and_the_matrix_say_in_words_what_they_show(stage: Stage, short_run: str) -> None:
    stage.open(short_run, PLACE + "head")
    stage.expect_step(3)
    sentence = re.compile(r"^Head 2 of layer 13: “.+” looks most at “?.+”? \(\d+\s%\)$")
    expect(stage.region("Model map").get_by_text(sentence)).to_be_attached()
    expect(stage.region("Inspector").get_by_role("table").first.get_by_role("row").nth(1)).to_be_visible()
