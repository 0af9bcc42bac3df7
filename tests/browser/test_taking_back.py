"""A shared run is deleted on its own page, by who has the token that sharing gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.runs import share
from tests.support.screens import DESKTOP, PHONE, violations
from tests.support.server import Server
from tests.support.stage import Stage, open_link, share_by_dialog
from tools.record.__main__ import recipes


def ask_to_delete(stage: Stage) -> Locator:
    """The dialog, opened."""
    stage.button("Delete…").click()
    dialog = stage.page.get_by_role("dialog", name="Delete this run")
    expect(dialog.get_by_label("Delete token")).to_be_focused()
    return dialog


def status_of(server: Server, session: str) -> int:
    return requests.get(f"{server.url}api/sessions/{session}", timeout=60).status_code


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_only_its_token_deletes_a_shared_run(
    new_page: Callable[..., Page], server: Server, short_run: str, complaints: Complaints, screen: dict[str, Any]
) -> None:
    complaints.allow("status of (403|410)")
    shared = share(server, short_run, title=f"Taken back at {screen['viewport']['width']} pixels")
    stage = open_link(new_page(**screen), server, shared.id)
    dialog = ask_to_delete(stage)
    token = dialog.get_by_label("Delete token")
    expect(token).to_have_value("")
    for wrong in ("not-the-token", "schlüssel"):
        token.fill(wrong)
        token.press("Enter")
        expect(dialog.get_by_role("alert")).to_have_text("That is not a token of this run. Nothing was deleted.")
        expect(token).to_have_value(wrong)
    assert status_of(server, shared.id) == 200
    assert violations(stage.page) == []
    assert stage.overflow() <= 0
    token.fill(f" {shared.delete_token} ")
    dialog.get_by_role("button", name="Delete it for everybody").click()
    expect(stage.page.get_by_role("heading", name="This session was deleted")).to_be_visible()
    expect(stage.page.get_by_role("link", name="Open KVScope")).to_be_visible()
    assert status_of(server, shared.id) == 410


def test_the_browser_that_shared_it_has_the_token(
    new_page: Callable[..., Page], server: Server, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of 410")
    page = new_page()
    stage = Stage(page, server).open(short_run, "#step=1")
    form = share_by_dialog(stage, "Kept by the browser")
    link = form.get_by_label("Link", exact=True).input_value()
    token = form.get_by_label("Delete token").input_value()
    manifest = requests.get(link.replace("/s/", "/api/sessions/"), timeout=60).json()
    other = share(server, short_run, **{word: manifest[word] for word in ("title", "notes", "open")})
    assert link.endswith(other.id)
    page.goto(link)
    dialog = ask_to_delete(stage)
    expect(dialog.get_by_label("Delete token")).to_have_value(token)
    dialog.get_by_role("button", name="Delete it for everybody").click()
    # Somebody else has shared the same run in the same words.
    expect(dialog.get_by_role("status")).to_contain_text("this page stays")
    assert status_of(server, other.id) == 200
    dialog.get_by_role("button", name="Close").click()
    dialog = ask_to_delete(stage)
    expect(dialog.get_by_label("Delete token")).to_have_value("")
    dialog.get_by_label("Delete token").fill(other.delete_token)
    dialog.get_by_role("button", name="Delete it for everybody").click()
    expect(page.get_by_role("heading", name="This session was deleted")).to_be_visible()


def test_what_ships_cannot_be_deleted_and_does_not_offer_it(new_page: Callable[..., Page], server: Server) -> None:
    page = new_page()
    page.goto(f"{server.url}gallery")
    page.get_by_role("link", name=recipes()[0]["title"], exact=True).click()
    expect(page.get_by_role("button", name="Save as file")).to_be_visible()
    expect(page.get_by_role("button", name="Delete…")).to_have_count(0)
