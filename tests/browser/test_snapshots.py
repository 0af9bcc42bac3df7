"""What each page says, and the roles of its parts, as an outline that anybody can read: tests/browser/snapshots/.

The pages show recordings, whose numbers never change. The outline of the view `head` has the whole Stage, that of
another view only the inspector, and that of another page only what is below its header. `python -m tests.snapshots`
writes them again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kvscope.app.page_table import pages
from tests.support.outline import condense
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP, VIEWS
from tests.support.server import Server
from tests.support.stage import Rest

FOLDER = Path(__file__).parent / "snapshots"
RENEWING = "RENEW_SNAPSHOTS" in os.environ
PLACE = "#step=2&layer=13&head=8&query=8&key=1&view="
OF_THIS_SERVER = re.compile(r"http://[^/\s\"]+/")


def outline(page: Page, part: str = "body") -> str:
    Rest(page).wait()
    return condense(OF_THIS_SERVER.sub("http://server/", page.locator(part).aria_snapshot()))


def check(name: str, outlines: str) -> None:
    """Compare an outline with its file, or write the file if RENEW_SNAPSHOTS is set."""
    file = FOLDER / f"{name}.txt"
    if RENEWING:
        file.write_text(outlines, "utf-8")
    assert outlines == file.read_text("utf-8"), f"if {name} is right as it is now: python -m tests.snapshots"


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page(**DESKTOP, reduced_motion="reduce")


def recorded(page: Page, server: Server, title: str) -> str:
    """The address of a recording in the gallery."""
    page.goto(f"{server.url}gallery")
    return server.url + str(page.get_by_role("link", name=title, exact=True).get_attribute("href")).lstrip("/")


def test_the_views_of_a_recorded_run(page: Page, tiny: Server) -> None:
    address = recorded(page, tiny, "What does “it” stand for?")
    for view in VIEWS:
        page.goto(f"{address}{PLACE}{view}")
        expect(page.locator("html[data-step='2'][data-state=paused]")).to_be_attached()
        check(f"stage-{view}", outline(page, "body" if view == "head" else "[aria-label=Inspector]"))


def test_the_first_thirty_seconds(page: Page, tiny: Server) -> None:
    page.goto(tiny.url)
    expect(page.get_by_role("slider", name="Moment")).to_have_attribute("max", "8")
    moments = []
    for moment in range(9):
        expect(page.get_by_role("slider", name="Moment")).to_have_value(str(moment))
        moments.append(outline(page))
        page.keyboard.press("ArrowRight")
    check("intro", "\n".join(moments))


@pytest.mark.parametrize("name", [page.name for page in pages() if page.nav and page.name != "Stage"])
def test_pages_of_their_own(page: Page, tiny: Server, name: str) -> None:
    address = next(each.address for each in pages() if each.name == name)
    page.goto(tiny.url + address.lstrip("/"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check(name.lower().replace(" ", "-"), outline(page, "main"))
