"""From every page to every other, on a desktop and a phone, by keys: a link in sight, or a button and then a link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kvscope.app.page_table import pages
from tests.support.pages import NewPage
from tests.support.runs import WORDS, share
from tests.support.screens import DESKTOP, PHONE
from tests.support.server import Server
from tests.support.stage import Stage
from tools.record.__main__ import workloads

OPEN_AND_LEAVE = """async ([button, other]) => {
  button.focus();
  button.click();
  await null;
  const expanded = button.ariaExpanded;
  other.focus();
  return expanded;
}"""
PLACES = {page.name: page.address.removeprefix("/") for page in pages() if page.nav}
"""Every page that the navigation leads to: its name and its path."""


def starts(page: Page, server: Server, run: str) -> dict[str, str | None]:
    """Every kind of address, and which of the places it is. The Stage leads to rooms by *Share*."""
    page.goto(f"{server.url}gallery")
    workload = page.get_by_role("link", name=str(workloads()[0]["title"])).get_attribute("href")
    assert workload
    return {
        "": "Stage",
        f"?run={run}#step=1&view=head": "Stage",
        f"?run={run}#view=intro": "Stage",
        "by-hand/a": "By hand",
        "by-hand/b": "By hand",
        "by-hand/c": "By hand",
        "memory": "Memory",
        "serving": "Serving",
        "gallery": "Gallery",
        f"s/{share(server, run, **WORDS).id}": None,
        workload.lstrip("/"): None,
    }


def opened(page: Page) -> Locator:
    """The names of the pages, opened by keys where they are behind a button."""
    names, button = page.get_by_role("navigation", name="Pages"), page.get_by_role("button", name="Pages")
    expect(names.or_(button).first).to_be_visible()
    if button.is_visible():
        expect(names).to_be_hidden()
        button.press("Enter")
        expect(names).to_be_visible()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('nav')?.ariaLabel") == "Pages"
    return names


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_page_leads_to_every_other(
    new_page: NewPage, server: Server, short_run: str, screen: dict[str, Any]
) -> None:
    page = new_page(**screen)
    for at, (start, here) in enumerate(starts(page, server, short_run).items()):
        page.goto(server.url + start)
        names = opened(page)
        of_stage = start.startswith(("?", "s/")) or not start
        others = [name for name in PLACES if name != here and not (of_stage and name == "Room")]
        for name in others:
            expect(names.get_by_role("link", name=name, exact=True)).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), start
        goal = others[at % len(others)]
        names.get_by_role("link", name=goal, exact=True).press("Enter")
        page.wait_for_url(re.compile(rf"^{re.escape(server.url + PLACES[goal])}([?#]|$)"))


def test_the_pages_behind_their_button_close_as_they_opened(phone: Stage, short_run: str) -> None:
    stage = phone.open_finished(short_run)
    names, button = stage.page.get_by_role("navigation", name="Pages"), stage.button("Pages")
    button.tap()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(names).to_be_visible()
    stage.page.keyboard.press("Escape")
    expect(names).to_be_hidden()
    expect(button).to_be_focused()
    button.tap()
    expect(names).to_be_visible()
    stage.slider.focus()
    expect(names).to_be_hidden()
    # As soon as they are in sight, however busy the browser is.
    both = [button.element_handle(), stage.slider.element_handle()]
    assert stage.page.evaluate(OPEN_AND_LEAVE, both) == "true"
    expect(names).to_be_hidden()
