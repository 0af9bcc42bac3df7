"""The address in a real browser: followed when it is opened, edited and gone back to, and written as what is shown."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.support.runs import share
from tests.support.server import Server
from tests.support.stage import Stage

PLACE = "#step=1&layer=4&head=2&query=7&key=3&view=pair"


def expect_address(page: Page, rest: str) -> None:
    expect(page).to_have_url(re.compile(re.escape(rest) + "$"))


def test_an_address_is_followed_wherever_it_comes_from(stage: Stage, server: Server, short_run: str) -> None:
    page = stage.page
    session = share(server, short_run).id
    page.goto(f"{server.url}s/{session}?present=1{PLACE}")
    stage.expect_step(1)
    expect(stage.ending).to_be_attached()
    last = int(stage.slider.get_attribute("max") or "")
    expect_address(page, f"/s/{session}?present=1{PLACE}")

    page.evaluate("location.hash = 'step=99999999&layer=-4&head=3&query=2&key=9999&view=block&zoom=9&view=attic'")
    stage.expect_step(last)
    inside = f"/s/{session}?present=1#step={last}&layer=0&head=3&query=2&key=2&view=block"
    expect_address(page, inside)
    page.reload()
    stage.expect_step(last)
    expect_address(page, inside)

    page.go_back()
    stage.expect_step(1)
    expect_address(page, f"/s/{session}?present=1{PLACE}")
    assert page.locator("html").get_attribute("data-present") == "true"
