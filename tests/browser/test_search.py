"""The search and the help of every page: opened by key and by button, usable without a mouse and without a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.pages import NewPage
from tests.support.runs import export, share
from tests.support.screens import DESKTOP
from tests.support.server import Server
from tests.support.stage import Stage, open_file

OWN_PAGES = ("by-hand/a", "memory", "serving", "gallery", "learn")


def search_of(page: Page) -> tuple[Locator, Locator]:
    """The open dialog and its field."""
    dialog = page.get_by_role("dialog", name="Search")
    return dialog, dialog.get_by_role("combobox")


def look_up(page: Page, query: str) -> Locator:
    """The hit that Enter would open."""
    dialog, field = search_of(page)
    field.fill(query)
    return dialog.get_by_role("option", selected=True)


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page(**DESKTOP, reduced_motion="reduce")


def test_every_page_has_the_search_and_the_glossary(page: Page, server: Server) -> None:
    for address in OWN_PAGES:
        page.goto(f"{server.url}{address}")
        page.get_by_role("button", name="Help").wait_for()
        page.keyboard.press("/")
        expect(look_up(page, "FlashAttention")).to_contain_text("Flash attention")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Search").click()
        expect(search_of(page)[1]).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Search")).to_be_focused()
        page.keyboard.press("?")
        help_dialog = page.get_by_role("dialog", name="Help")
        expect(help_dialog.get_by_role("link", name="Show Softmax")).to_have_attribute("href", re.compile("view=pair"))
        page.keyboard.press("Escape")


def test_a_hit_opens_the_place_that_shows_it(page: Page, server: Server, short_run: str) -> None:
    stage = Stage(page, server).open_finished(short_run)
    stage.play_at("¼×")
    stage.button("Play").click()
    page.keyboard.press("/")
    stage.expect_phase("paused")
    chosen = look_up(page, "causal mask")
    expect(chosen).to_contain_text("Causal mask")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("earlier rows never change")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/s/\w+#step=0&layer=13&head=8.*view=head"))
    opened = page.url.partition("#")[0]
    page.keyboard.press("/")
    expect(look_up(page, "GeLU")).to_contain_text("Activation function")
    page.evaluate("window.stayed = true")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"view=block"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.partition("#")[0] == opened
    assert page.evaluate("window.stayed"), "another place of the same run does not load the page again"


def test_once_loaded_it_needs_no_server_and_says_so_where_it_does(page: Page, server: Server) -> None:
    page.goto(f"{server.url}memory")
    page.get_by_role("button", name="Search").click()
    expect(look_up(page, "roofline")).to_contain_text("Roofline")
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.keyboard.press("/")
    expect(look_up(page, "lora")).to_contain_text("KVScope does not show them")
    dialog, field = search_of(page)
    field.fill("qwertzu")
    expect(dialog.get_by_role("status")).to_contain_text("qwertzu")
    expect(dialog.get_by_role("option", name=re.compile("^Stage"))).to_be_visible()
    page.context.set_offline(False)


def test_a_key_that_is_typed_into_a_field_opens_nothing(page: Page, server: Server, short_run: str) -> None:
    stage = Stage(page, server).open_finished(short_run)
    stage.ask()
    page.get_by_label("Prompt", exact=True).fill("")
    page.keyboard.type("a/b?")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("a/b?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_file_finds_its_glossary(page: Page, server: Server, short_run: str, tmp_path: Path) -> None:
    session = share(server, short_run, title="Alone").id
    open_file(page, export(server, session, tmp_path), server).rest()
    page.keyboard.press("/")
    expect(look_up(page, "nucleus")).to_contain_text("Top-p")
    expect(page.get_by_role("dialog").get_by_role("link")).to_have_count(0)
