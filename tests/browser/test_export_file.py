"""A session as one HTML file: opened from the disk it plays by itself, asks nobody for anything, and runs no words."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.support.complaints import Complaints
from tests.support.runs import HOSTILE, PLACE, WORDS, export, note, share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, VIEWS, violations
from tests.support.server import Server
from tests.support.stage import PNG_START, Stage, expect_same_text, open_file, open_link
from tests.support.traffic import Asked

IN_THE_FRAMES = ("head", "tokens", "cache", "time")
"""Views whose table needs no exact values."""


@pytest.fixture(scope="session")
def session(_server: Server, short_run: str) -> str:
    """A shared run of 6 tokens."""
    return share(_server, short_run, **WORDS).id


@pytest.fixture(scope="session")
def file(_server: Server, session: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a file."""
    return export(_server, session, tmp_path_factory.mktemp("file"))


def test_it_opens_where_the_sharer_meant_and_asks_for_nothing(
    new_page: Callable[..., Page], server: Server, file: Path
) -> None:
    page = new_page(offline=True)
    asked = Asked().listen(page)
    stage = open_file(page, file, server)
    stage.expect_step(3)
    expect(page.get_by_role("heading", name="What “it” means")).to_be_visible()
    expect(stage.region("Notes")).to_contain_text("Look at the row of it.")
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_contain_text("“it” looks back at “animal”")
    for view in VIEWS:
        stage.look_at(PLACE + view)
        stage.expect_view(view)
        stage.rest()
    stage.slider.press("End")
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("Residual stream")
    assert asked.urls == [file.as_uri()]


def test_the_browser_would_refuse_a_request(
    new_page: Callable[..., Page], server: Server, file: Path, complaints: Complaints
) -> None:
    complaints.allow("Content Security Policy")
    page = new_page()
    open_file(page, file, server)
    outcome = page.evaluate(f"fetch({server.url!r}, {{mode: 'no-cors'}}).then(() => 'sent', () => 'refused')")
    assert outcome == "refused"


def test_it_shows_what_the_link_shows(new_page: Callable[..., Page], server: Server, session: str, file: Path) -> None:
    """All that is in the frames; what only the model can give is a matter of the stored values."""
    pages = link, mine = [
        open_link(new_page(), server, session, PLACE + VIEWS[0]),
        open_file(new_page(), file, server, PLACE + VIEWS[0]),
    ]
    for view in VIEWS:
        for stage in pages:
            stage.look_at(PLACE + view)
            stage.expect_step(3)
            stage.expect_view(view)
            expect(stage.region("Look here").get_by_role("button").first).to_be_visible()
        for name in ("Model map", "Next token", "KV cache", "Time"):
            # A wide view takes the place of some.
            expect_same_text(mine.region(name), link.region(name))
        expect_same_text(mine.answer, link.answer)
        expect_same_text(mine.place, link.place)
        for name in ("Model map", *(["Inspector"] if view in IN_THE_FRAMES else [])):
            tables = [Path(stage.save(name, "CSV").path()).read_text("utf-8") for stage in pages]
            assert tables[0] == tables[1] != "", f"{view}, {name}"
        assert mine.page.url == file.as_uri() + PLACE + view


def test_what_is_not_inside_is_said_and_nothing_can_be_started(
    new_page: Callable[..., Page], server: Server, file: Path
) -> None:
    stage = open_file(new_page(), file, server, PLACE + "pair")
    expect(stage.region("Inspector")).to_contain_text("not stored")
    for name in ("Run", "Try your own", "Share"):
        expect(stage.button(name)).to_have_count(0)
    expect(stage.page.get_by_role("link", name="Open KVScope")).to_have_count(0)
    expect(stage.page.get_by_role("group", name="Model", exact=True)).to_contain_text("made by SmolLM2-135M-Instruct")
    stage.page.keyboard.press("/")


def test_words_stay_words(
    new_page: Callable[..., Page], server: Server, short_run: str, tmp_path: Path, complaints: Complaints
) -> None:
    words = {"title": f"</title></script>{HOSTILE}", "notes": [note(0, f"<!-- <script> -->{HOSTILE}")]}
    page = new_page()
    stage = open_file(page, export(server, share(server, short_run, **words).id, tmp_path), server, "#step=0")
    expect(page.get_by_role("heading", name=words["title"])).to_be_visible()
    expect(stage.region("Notes")).to_contain_text(words["notes"][0]["text"])
    assert page.locator("img, #page script").count() == 0


def test_a_damaged_part_is_named_and_the_rest_shows(
    new_page: Callable[..., Page], server: Server, session: str, file: Path, tmp_path: Path
) -> None:
    text = file.read_text("utf-8")
    manifest = requests.get(f"{server.url}api/sessions/{session}", timeout=60).json()
    seq = next(part["seq"] for part in manifest["parts"] if part["kind"] == "step" and part["seq"] > 6)
    packed = re.search(rf'id="part-{seq}">([^<]+)<', text)
    assert packed
    bits = bytearray(base64.b64decode(packed[1]))
    bits[len(bits) // 2] ^= 1
    damaged = tmp_path / "damaged.html"
    damaged.write_text(text.replace(packed[1], base64.b64encode(bits).decode()), "utf-8")
    page = new_page()
    page.goto(damaged.as_uri())
    stage = Stage(page, server)
    expect(stage.alert).to_contain_text(f"parts[{seq}]")
    expect(stage.words.first).to_be_visible()


def test_without_javascript_it_says_what_the_run_was(new_page: Callable[..., Page], file: Path) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", name="What “it” means")).to_be_visible()
    said = page.inner_text("body")
    for text in ("The animal didn't cross the street", "far away to be", "SmolLM2-135M-Instruct", "Look at the row"):
        assert text in said


def test_a_panel_is_saved_as_a_picture(new_page: Callable[..., Page], server: Server, file: Path) -> None:
    stage = open_file(new_page(), file, server, PLACE + "head")
    download = stage.save("Next token", "PNG")
    assert Path(download.path()).read_bytes().startswith(PNG_START)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_view_of_it_breaks_a_rule_and_all_fit(
    new_page: Callable[..., Page], server: Server, file: Path, scheme: str, screen: dict[str, Any]
) -> None:
    page = new_page(**screen, color_scheme=scheme, reduced_motion="reduce")
    stage = open_file(page, file, server, PLACE + VIEWS[0])
    for view in VIEWS:
        stage.look_at(PLACE + view)
        stage.expect_view(view)
        stage.rest()
        assert violations(page) == [], view
        assert stage.overflow() <= 0, view
