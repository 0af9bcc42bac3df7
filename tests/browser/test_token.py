"""A server that asks for a token: the page says so, and has it once it was opened with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.live_server import LiveServer
from tests.support.waiting import eventually

TOKEN = "let-me-in.please"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    server = LiveServer(tmp_path / "data", "delay=0.01", options=["--token", TOKEN])
    eventually(lambda: server.get("readyz").ok, 60)
    yield server
    server.close()


def ask_for_a_run(page: Page) -> None:
    if not page.get_by_label("Prompt", exact=True).is_visible():
        page.get_by_role("button", name="Try your own").click()
    page.get_by_label("Prompt", exact=True).fill("abc")
    page.get_by_role("button", name="Run", exact=True).click()


def test_a_page_without_the_token_says_how_to_get_it_and_one_with_it_keeps_it(
    browser: Browser, server: LiveServer
) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}#view=head")
    ask_for_a_run(page)
    expect(page.get_by_text("This server requires a token").first).to_be_visible()  # a prompt’s tokens may ask too
    page.goto("about:blank")
    page.goto(f"{server.url}#token={TOKEN}")
    expect(page).not_to_have_url(re.compile(TOKEN))  # soon it is that of the run that is shown
    page.goto("about:blank")
    page.goto(f"{server.url}#view=head")
    with page.expect_response("**/api/runs") as answer:  # a prompt's tokens are asked for beside it
        ask_for_a_run(page)
    assert answer.value.status == 201
    page.close()
