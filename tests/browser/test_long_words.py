"""A session whose words are as long, as dense and as hostile as the server takes them opens like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.test_accessibility import DESKTOP, PHONE
from tests.browser.test_sharing import note, open_link, share

MARKUP = "<img src=x onerror=alert(1)></bdi><script>alert(2)</script>"
RIGHT_TO_LEFT = "אבג"
UNBROKEN = "W"


def filled(text: str, length: int) -> str:
    return (text * length)[:length]


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("text", [MARKUP, RIGHT_TO_LEFT, UNBROKEN], ids=["markup", "right-to-left", "unbroken"])
def test_the_longest_words_are_text_inside_the_page(
    new_page: Callable[..., Page], server: Server, short_run: str, screen: dict[str, Any], text: str
) -> None:
    notes = [note(0, filled(text, 2000), layer=index % 30, head=index % 9) for index in range(50)]
    shared = share(server, short_run, title=filled(text, 200), notes=notes, open={"step": 0})
    page = new_page(**screen)
    stage = open_link(page, server, shared.id)
    expect(stage.region("Notes").get_by_role("listitem")).to_have_count(50)
    expect(stage.region("Notes").get_by_role("listitem").last).to_contain_text(filled(text, 2000)[-40:])
    assert page.locator("img, [onerror], .page script").count() == 0
    assert stage.overflow() <= 0
    stage.button("Next step").click()
    stage.expect_step(1)
