"""The code that just ran, below the picture: its lines, the shapes of the step, and the way from one to the other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.screens import PHONE, SCHEMES, flaws
from tests.support.server import Server
from tests.support.stage import Stage

BLOCK = {"step": 3, "layer": 13, "head": 8, "view": "block"}


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="The code that just ran")


def open_panel(page: Page, server: Server, run: str) -> Locator:
    place = "&".join(f"{name}={value}" for name, value in BLOCK.items())
    page.goto(f"{server.url}?run={run}#{place}&code=1")
    expect(panel(page)).to_be_visible()
    return panel(page)


def test_lines_have_the_shapes_of_the_step_and_of_prefill_beside_it(
    stage: Stage, server: Server, short_run: str
) -> None:
    code = open_panel(stage.page, server, short_run)
    expect(code).to_contain_text("cache.write(layer, batch.slots, k, v)")
    expect(code).to_contain_text("[1, 576]")
    code.get_by_role("button", name="Compare with prefill").click()
    expect(code).to_contain_text("[11, 576]")


def test_a_line_lights_its_tensor_and_closing_changes_the_address(stage: Stage, server: Server, short_run: str) -> None:
    page = stage.page
    code = open_panel(page, server, short_run)
    code.get_by_role("button", name="find attn.scores").first.click()
    expect(page.locator("[data-lit='attn.scores']")).to_be_attached()
    code.get_by_role("button", name="Close").click()
    expect(code).not_to_be_visible()
    page.keyboard.press("c")
    expect(code).to_be_visible()


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_no_rule_of_accessibility_is_broken(
    new_page, server: Server, short_run: str, screen: dict[str, object]
) -> None:
    page = new_page(**screen)
    code = open_panel(page, server, short_run)
    expect(code).to_contain_text("[1, 576]")
    assert flaws(page, SCHEMES if not screen else SCHEMES[:1]) == []
