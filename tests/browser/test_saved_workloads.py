"""A workload that was recorded, saved, put into another page or into a file: it plays there as where it was made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from kvscope.model.log import frames as codec
from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.recorded import ROOT
from tests.support.runs import HOSTILE, Shared, export, note, share
from tests.support.screens import DESKTOP
from tests.support.server import Server
from tests.support.stage import field
from tests.support.traffic import Asked
from tools.record.__main__ import workloads

(RECIPE,) = workloads()
RECORDED = ROOT / "kvscope" / "app" / "recordings" / f"{RECIPE['name']}.safetensors"
WORDS = {"title": "Three at once", "notes": [note(2, HOSTILE)], "open": {"step": 2}}


@pytest.fixture(scope="module")
def run(_server: Server) -> str:
    """Three requests that were served together."""
    _server.wait_until_ready()
    asked = [{"prompt": f"What is {what}?", "max_new_tokens": 6} for what in ("a haiku", "an atlas", "a novel")]
    rounds = [{"at_once": 2, "blocks": 40}]
    return _server.derived_run("workloads", system="Be brief.", requests=asked, rounds=rounds)


@pytest.fixture(scope="module")
def saved(_server: Server, run: str) -> Shared:
    return share(_server, run, **WORDS)


@pytest.fixture(scope="module")
def file(_server: Server, saved: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(_server, saved.id, tmp_path_factory.mktemp("workload"))


def share_dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Share this workload")


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.get_by_role("slider", name="Pass")).to_be_visible()
    return page


def expect_saved(page: Page) -> None:
    """The saved workload, at the pass that its sharer chose, with nothing to start anything."""
    expect(page.get_by_role("heading", name="Three at once", level=1)).to_be_visible()
    expect(page.get_by_role("slider", name="Pass")).to_have_value("2")
    expect(page.get_by_role("list", name="Notes").get_by_role("listitem")).to_contain_text(HOSTILE)
    expect(page.get_by_role("list", name="Requests").get_by_role("button")).to_have_count(3)
    expect(page.get_by_role("form")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^(Run|Try)"))).to_have_count(0)


def test_the_page_opens_on_a_recorded_one_that_plays(new_page: NewPage, server: Server) -> None:
    page = opened(new_page(**DESKTOP), f"{server.url}serving")
    told = page.get_by_role("group", name="Recorded")
    expect(told).to_contain_text(f"serves {len(RECIPE['requests'])} requests")
    passes = [frame for frame in codec.split(RECORDED.read_bytes()) if frame.kind == "pass"]
    expect(page.get_by_role("slider", name="Pass")).to_have_attribute("max", str(len(passes) - 1))
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Share", exact=True)).to_have_count(0)
    told.get_by_role("button", name="Run your own").click()
    page.wait_for_url(re.compile(r"\?run="))
    expect(told).to_have_count(0)


def test_share_makes_a_link_that_opens_this_pass_with_its_note(new_page: NewPage, server: Server, run: str) -> None:
    page = opened(new_page(**DESKTOP), f"{server.url}serving?run={run}#pass=1")
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = share_dialog(page)
    expect(dialog.get_by_label("Title")).to_have_value("What is a haiku? and 2 more at once")
    expect(dialog).to_contain_text("Pass 2 of")
    expect(page.locator(".transport-text")).to_contain_text("pass 2 of")
    expect(dialog).to_contain_text("every prompt too")
    expect(dialog.get_by_role("group", name="What the link includes")).to_have_count(0)
    dialog.get_by_label("Title").fill("Mine")
    dialog.get_by_label("Note on pass 2").fill("Here they are two.")
    dialog.get_by_role("button", name="Make link").click()
    expect(dialog.get_by_text("The link is ready.")).to_be_visible()
    expect(dialog.get_by_role("list", name="Files").get_by_role("link")).to_have_count(2)
    link = dialog.get_by_role("textbox", name="Link").input_value()
    assert f"/embed/{link.rpartition('/')[2]}#pass=1" in dialog.get_by_label("Text to paste into a page").input_value()
    other = opened(new_page(**DESKTOP), link)
    expect(other.get_by_role("heading", name="Mine", level=1)).to_be_visible()
    expect(other.get_by_role("slider", name="Pass")).to_have_value("1")
    expect(other.get_by_role("list", name="Notes")).to_contain_text("Here they are two.")
    other.wait_for_url(re.compile(r"/s/[a-z2-7]+#pass=1$"))
    other.get_by_role("slider", name="Pass").press("ArrowRight")
    other.get_by_role("button", name="Pass 2", exact=True).click()
    expect(other.get_by_role("slider", name="Pass")).to_have_value("1")


def test_while_it_goes_on_it_cannot_be_shared_and_then_only_when_asked(
    new_page: NewPage, server: Server, run: str
) -> None:
    page = opened(new_page(**DESKTOP), f"{server.url}serving?run={run}")
    share_button = page.get_by_role("button", name="Share", exact=True)
    share_button.click()
    expect(share_dialog(page)).to_be_visible()
    page.keyboard.press("Escape")
    expect(field(page, "Requests")).to_have_value("3")  # the fields are those of the run
    field(page, "Milliseconds between requests").fill("1500")  # so that it goes on
    page.get_by_role("button", name="Run again", exact=True).click()
    expect(share_button).to_be_disabled()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("This workload was stopped")).to_be_visible()
    expect(share_button).to_be_enabled()
    expect(share_dialog(page)).to_be_hidden()


def test_its_link_shows_it_without_anything_to_start_and_is_deleted(
    new_page: NewPage, server: Server, saved: Shared, run: str, complaints: Complaints
) -> None:
    page = opened(new_page(**DESKTOP), f"{server.url}s/{saved.id}")
    expect_saved(page)
    expect(page).to_have_title("Three at once · KVScope")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(rf"/s/{saved.id}#pass=3$"))
    expect(page.get_by_role("link", name="Run your own")).to_have_attribute("href", "/serving")
    complaints.allow("410")
    shared = share(server, run, title="To be deleted")
    opened(page, f"{server.url}s/{shared.id}")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete this run")
    dialog.get_by_label("Delete token").fill(shared.delete_token)
    dialog.get_by_role("button", name="Delete it for everybody").click()
    expect(page.get_by_role("heading", name="This session was deleted")).to_be_visible()


def test_in_a_frame_that_has_no_origin_it_plays(new_page: NewPage, server: Server, saved: Shared) -> None:
    page = new_page(**DESKTOP)
    body = f'<iframe src="{server.url}embed/{saved.id}" width="1200" height="700" sandbox="allow-scripts"></iframe>'
    page.route(f"{server.url}course", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(f"{server.url}course")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("slider", name="Pass")).to_have_value("2", timeout=30_000)
    expect(frame.get_by_role("form")).to_have_count(0)
    link = frame.get_by_role("link", name="Open in KVScope")
    expect(link).to_have_attribute("href", f"/s/{saved.id}#pass=2")


def test_its_file_plays_from_the_disk_and_asks_nobody(new_page: NewPage, file: Path) -> None:
    page = new_page(**DESKTOP)
    asked = Asked().listen(page)
    opened(page, file.as_uri())
    expect_saved(page)
    page.get_by_role("button", name="Next pass").click()
    page.wait_for_url(re.compile(r"\.html#pass=3$"))
    page.get_by_text("forward pass").first.hover()
    expect(page.get_by_role("link")).to_have_count(0)
    assert asked.urls == [file.as_uri()]


def test_a_file_that_is_opened_here_gets_a_link_of_its_own(
    new_page: NewPage, server: Server, file: Path, complaints: Complaints
) -> None:
    page = opened(new_page(**DESKTOP), f"{server.url}serving")
    page.get_by_role("button", name="Open a file").click()
    dialog = page.get_by_role("dialog", name="Open a saved run")
    cut = {"name": "cut.html", "mimeType": "text/html", "buffer": file.read_bytes()[:100_000]}
    dialog.get_by_label("File").set_input_files(cut)
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was stored, and nothing on this page has changed.")
    complaints.allow("422")
    dialog.get_by_label("File").set_input_files(file)
    dialog.get_by_role("link", name="Open it").click()
    expect_saved(page)
