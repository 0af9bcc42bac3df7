"""The builder of an embed: what is chosen is what its preview shows and what there is to paste."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.support.runs import share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage, open_link, share_by_dialog

pytestmark = [pytest.mark.browser, pytest.mark.real]

TITLE = 'What "it" & <b>that</b> mean'
PLACE = {"step": 3, "layer": 13, "head": 8, "query": 8, "key": 1, "view": "head"}


@pytest.fixture
def session(server: Server, short_run: str) -> str:
    """A shared run that opens at PLACE."""
    return share(server, short_run, title=TITLE, open=PLACE).id


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Serves a page from another site than the server's; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as host:
        Thread(target=host.serve_forever, daemon=True).start()

        def serve(page: str) -> str:
            (tmp_path / "lesson.html").write_text(page, "utf-8")
            return f"http://localhost:{host.server_port}/lesson.html"

        yield serve
        host.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Files without a line for each; no icon."""

    def send_head(self) -> Any:
        if self.path != "/favicon.ico":
            return super().send_head()
        self.send_response(204)
        self.end_headers()
        return None

    def log_message(self, *_: Any) -> None:
        pass


def opened(page: Page, server: Server, session: str) -> Locator:
    """The builder, on the page of a shared run."""
    stage = open_link(page, server, session)
    stage.expect_step(3)
    stage.button("Embed…").click()
    return builder(page)


def builder(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Embed this run")


def preview(page: Page) -> FrameLocator:
    return builder(page).frame_locator("iframe")


def pasted(form: Locator) -> str:
    return form.get_by_label("Text to paste").input_value()


def asked(form: Locator) -> dict[str, list[str]]:
    """The parameters of the address in the HTML to paste."""
    found = re.search(r'src="([^"]*)"', pasted(form))
    assert found
    return parse_qs(urlsplit(html.unescape(found[1])).query)


def test_what_is_pasted_into_another_page_shows_what_the_preview_shows(
    new_page: Callable[..., Page], server: Server, session: str, elsewhere: Callable[[str], str]
) -> None:
    page = new_page()
    form = opened(page, server, session)
    expect(preview(page).locator("html[data-step='3']")).to_be_attached()
    assert asked(form) == {name: [str(value)] for name, value in PLACE.items()}
    form.get_by_role("combobox", name="View").select_option("tokens")
    form.get_by_label("Colours").select_option("dark")
    form.get_by_label("notes", exact=True).uncheck()
    form.get_by_label("title", exact=True).uncheck()
    form.get_by_label("Width").fill("800")
    form.get_by_label("Height").fill("99999")
    form.get_by_label("Height").blur()
    expect(form.get_by_label("Height")).to_have_value("1200")
    assert asked(form)["view"] == ["tokens"]
    assert asked(form)["hide"] == ["header,notes"]
    assert 'width="800" height="1200"' in pasted(form)
    expect(preview(page).locator("html[data-theme='dark']")).to_be_attached()
    expect(preview(page).get_by_role("heading", name=TITLE)).to_have_count(0)

    unsandboxed = re.sub(r' sandbox="[^"]*"', "", pasted(form))
    assert unsandboxed != pasted(form)
    for text in (pasted(form), unsandboxed):
        other = new_page()
        other.goto(elsewhere(f'<!doctype html><meta charset="utf-8"><title>A lesson</title>{text}'))
        frame = other.frame_locator("iframe")
        expect(frame.locator("html[data-theme='dark'][data-step='3']")).to_be_attached()
        assert other.locator("iframe").get_attribute("title") == TITLE


def test_it_can_be_left_to_the_link_where_to_open_and_play_by_itself(
    new_page: Callable[..., Page], server: Server, session: str
) -> None:
    form = opened(new_page(), server, session)
    form.get_by_label("Where the shared link opens").check()
    expect(form.get_by_role("combobox", name="View")).to_have_count(0)
    form.get_by_label("Plays by itself").check()
    form.get_by_label("Speed").select_option("2×")
    assert asked(form) == {"autoplay": ["1"], "speed": ["2"]}


def test_every_place_has_its_own_text_and_it_is_copied(
    new_page: Callable[..., Page], server: Server, session: str
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    form = opened(page, server, session)
    texts = {}
    for place in ("HTML page", "Jupyter notebook", "Jupyter Book", "Quarto", "Docusaurus", "Moodle"):
        form.get_by_label("Paste into").select_option(place)
        texts[place] = pasted(form)
    assert len(set(texts.values())) == len(texts)
    form.get_by_label("Paste into").select_option("Jupyter notebook")
    form.get_by_role("button", name="Copy text to paste").click()
    expect(form.get_by_role("button", name="Copied text to paste")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == texts["Jupyter notebook"]


def test_a_link_just_made_is_embedded_from_its_dialog(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=3&head=1&view=head")
    stage.expect_step(2)
    form = share_by_dialog(stage, TITLE)
    made = form.get_by_label("Link", exact=True).input_value().rpartition("/")[2]
    form.get_by_role("button", name="Embed…").click()
    assert f"/embed/{made}?step=2&amp;layer=3&amp;head=1" in pasted(builder(stage.page))
    assert html.escape(TITLE) in pasted(builder(stage.page))
    expect(preview(stage.page).locator("html[data-step='2']")).to_be_attached()
    stage.page.keyboard.press("Escape")
    expect(builder(stage.page)).to_have_count(0)
    expect(form).to_be_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_breaks_no_rule_and_fits(
    new_page: Callable[..., Page], server: Server, session: str, screen: dict[str, object], scheme: str
) -> None:
    page = new_page(**screen, color_scheme=scheme, reduced_motion="reduce")
    opened(page, server, session)
    expect(preview(page).locator("html[data-step='3']")).to_be_attached()
    Stage(page, server).rest()
    assert violations(page) == []
    assert builder(page).evaluate("dialog => dialog.scrollWidth - dialog.clientWidth") == 0
