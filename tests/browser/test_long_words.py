"""A session whose words are as long, as dense and as hostile as the server takes them opens like any other."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import NewPage
from tests.support.runs import note, share
from tests.support.screens import DESKTOP, PHONE
from tests.support.server import Server
from tests.support.stage import open_link

MARKUP = "<img src=x onerror=alert(1)></bdi><script>alert(2)</script>"
RIGHT_TO_LEFT = "אבג"
UNBROKEN = "W"


def filled(text: str, length: int) -> str:
    return (text * length)[:length]


@pytest.mark.parametrize(
    ("screen", "text"),
    [(DESKTOP, MARKUP), (PHONE, RIGHT_TO_LEFT), (PHONE, UNBROKEN)],
    ids=["markup", "right-to-left", "unbroken"],
)
def test_the_longest_words_are_text_inside_the_page(
    new_page: NewPage, server: Server, short_run: str, screen: dict[str, Any], text: str
) -> None:
    notes = [note(0, filled(text, 2000), layer=index % 30, head=index % 9) for index in range(50)]
    shared = share(server, short_run, title=filled(text, 200), notes=notes, open={"step": 0})
    page = new_page(**screen)
    stage = open_link(page, server, shared.id)
    listed = stage.region("Notes").get_by_role("listitem", include_hidden=True)  # a phone shows one at a time
    expect(listed).to_have_count(50)
    expect(listed.last).to_contain_text(filled(text, 2000)[-40:])
    assert page.locator("img, [onerror], .page script").count() == 0
    assert stage.overflow() <= 0
    stage.button("Next step").click()
    stage.expect_step(1)


def test_the_longest_title_leaves_the_header_its_buttons_while_the_model_is_not_ready(
    new_page: NewPage, server: Server, short_run: str
) -> None:
    shared, page = share(server, short_run, title=filled(UNBROKEN, 200), open={"step": 0}), new_page()
    standing = {"state": "loading", "message": "Reading the weights", "done": 1_000_000, "total": 538_060_032}
    page.route("**/readyz", lambda route: route.fulfill(status=503, json=standing))
    stage = open_link(page, server, shared.id)
    expect(page.get_by_role("group", name="Model")).to_contain_text("Reading the weights")
    for width in (768, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert stage.overflow() <= 0
        for name in ("Dark theme", "Help"):
            expect(stage.button(name)).to_be_in_viewport(ratio=1)
