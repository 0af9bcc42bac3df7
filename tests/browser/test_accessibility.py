"""No violation that axe finds, in every view, light and dark, desktop and phone; text at twice its size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.screens import DESKTOP, PHONE, SCHEMES, VIEWS, ZOOMED, violations
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.waiting import eventually

PLACE = "#step=3&layer=13&head=2&query=8&key=1&view="


def open_view(stage: Stage, run: str, view: str) -> Stage:
    """A view at rest: what it fetches is there, what moves has moved."""
    stage.show(run, PLACE + view).expect_step(3)
    expect(stage.region("Look here").get_by_role("button").first).to_be_visible()
    stage.expect_view(view)
    return stage.rest()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_view_breaks_a_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, scheme: str, screen: dict[str, Any]
) -> None:
    stage = Stage(new_page(**screen, color_scheme=scheme, reduced_motion="reduce"), server)
    for view in VIEWS:
        open_view(stage, short_run, view)
        assert violations(stage.page) == [], view


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_opens_over_the_page_breaks_no_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme)
    stage = open_view(Stage(page, server), short_run, "head")
    stage.button("Save Inspector").click()
    stage.region("Model map").get_by_role("button", name="KV cache").focus()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("screen", [PHONE, ZOOMED], ids=["phone", "zoomed"])
def test_a_narrow_window_scrolls_only_downwards(
    new_page: Callable[..., Page], server: Server, short_run: str, screen: dict[str, Any]
) -> None:
    stage = Stage(new_page(**screen), server)
    for view in VIEWS:
        open_view(stage, short_run, view)
        assert stage.overflow() <= 0, view


def test_text_of_twice_the_size_fits_a_phone(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    stage = open_view(Stage(page, server), short_run, "head")
    page.evaluate("document.documentElement.style.setProperty('zoom', '2')")
    eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
    tabs = page.get_by_role("navigation", name="Panels").get_by_role("button")
    for tab in tabs.all():
        tab.tap()
        expect(tab).to_have_attribute("aria-current", "true")
    stage.ask()
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
