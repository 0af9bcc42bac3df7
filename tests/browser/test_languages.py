"""Every page in the pseudo-language: nothing that the page says is left in English, and all of it fits."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from kvscope.app.page_table import page_of, pages
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP, PHONE
from tests.support.server import Server

ENGLISH = """() => [...document.querySelectorAll("button, h1, h2, h3, legend, label > span, nav a, summary, th")]
  .filter((element) => element.checkVisibility() && !element.closest(".cards, [lang=en]"))
  .filter((element) => !element.querySelector("bdi, [data-step]"))
  .map((element) => element.innerText.trim())
  .filter((text) => /[a-z]{4} ?[a-z]/.test(text) && !/[áçéíñóřšúýÁÇÉÍÑÓŘŠÚÝ~“]/.test(text))"""
"""Labels in English. Tokens, names of recordings and lessons stay as they are: the first have quotes around them."""

VIEWS = [f"#step=1&view={view}" for view in ("head", "model", "block", "pair", "tokens", "cache", "time")]


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_page_is_translated_and_fits(
    new_page: NewPage, server: Server, short_run: str, screen: dict[str, Any]
) -> None:
    page = new_page(**screen)
    stage = page_of("stage").address.removeprefix("/")
    others = [each.address.removeprefix("/") for each in pages() if each.id != "stage"]
    addresses = [f"{stage}?run={short_run}&lang=xx{view}" for view in VIEWS] + [f"{each}?lang=xx" for each in others]
    for address in addresses:
        page.goto("about:blank")
        page.goto(f"{server.url}{address}")
        expect(page.locator("html[lang=xx]")).to_be_attached()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
        assert page.evaluate(ENGLISH) == [], address
