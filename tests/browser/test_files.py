"""Saving a run as a file and opening one, on the page: sizes that are told before, refusals in words, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.runs import HOSTILE, LEVELS, PLACE, WORDS, export, share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text, open_file, open_link
from tests.support.traffic import Asked

DROP = """([name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
}"""


@pytest.fixture(scope="session")
def whole(_server: Server, short_run: str) -> str:
    """A shared run with every value inside its blocks."""
    return share(_server, short_run, **WORDS, values="block").id


def opener(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Open a saved run")


def test_each_file_of_a_link_has_the_size_that_was_told(
    new_page: Callable[..., Page], server: Server, whole: str
) -> None:
    page = new_page()
    open_link(page, server, whole)
    page.get_by_role("button", name="Save as file").click()
    files = page.get_by_role("dialog", name="Save this run as a file").get_by_role("list", name="Files")
    links = files.get_by_role("link")
    expect(links).to_have_count(4)
    for index, item in enumerate(files.get_by_role("listitem").all()):
        told = item.locator("span").last
        expect(told).to_have_text(re.compile(r"^[\d.,]+.(kB|MB)$"))
        with page.expect_download() as download:
            links.nth(index).click()
        size = Path(download.value.path()).stat().st_size
        number, unit = re.split(r"\s", told.inner_text())
        assert float(number) * {"kB": 1e3, "MB": 1e6}[unit] == pytest.approx(size, rel=0.005)


def test_what_is_not_stored_cannot_be_saved(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    page = new_page()
    open_link(page, server, share(server, short_run).id)
    page.get_by_role("button", name="Save as file").click()
    files = page.get_by_role("dialog", name="Save this run as a file").get_by_role("list", name="Files")
    expect(files.get_by_role("link")).to_have_count(2)
    expect(files.get_by_text("not stored", exact=True)).to_have_count(2)


@pytest.mark.parametrize("level", LEVELS)
def test_a_file_shows_the_numbers_that_its_size_allows(
    new_page: Callable[..., Page], server: Server, whole: str, tmp_path: Path, level: str
) -> None:
    """Head and query·key with Q, K and V, the block with its values, and each the same as the link shows."""
    file = tmp_path / f"{level}.html"
    file.write_bytes(requests.get(f"{server.url}api/sessions/{whole}.html?level={level}", timeout=60).content)
    page = new_page()
    asked = Asked().listen(page)
    stage, link = open_file(page, file, server, PLACE + "pair"), open_link(new_page(), server, whole, PLACE + "pair")
    inspector = stage.region("Inspector")
    if level == "attention":
        expect(inspector).to_contain_text("not stored")
    else:
        expect(inspector).not_to_contain_text("not stored")
        for shown in (inspector, link.region("Inspector")):
            expect(shown.get_by_role("table").first).to_be_visible()
        expect_same_text(inspector, link.region("Inspector"))
    page.evaluate("hash => { location.hash = hash }", PLACE + "block")
    expect(inspector).to_contain_text("stored with this session")
    block = inspector.get_by_text("not stored")
    expect(block).to_have_count(0) if level == "block" else expect(block.first).to_be_visible()
    assert asked.urls == [file.as_uri() + PLACE + "pair"] or asked.urls == [file.as_uri()]


@pytest.mark.parametrize("kind", ["html", "safetensors"])
def test_a_file_is_opened_and_has_a_link_again(
    new_page: Callable[..., Page], server: Server, short_run: str, tmp_path: Path, kind: str
) -> None:
    session = share(server, short_run, title=HOSTILE, open={"step": 2}).id
    file = tmp_path / f"run.{kind}"
    file.write_bytes(requests.get(f"{server.url}api/sessions/{session}.{kind}", timeout=60).content)
    page = new_page()
    stage = Stage(page, server).open(short_run, "#step=1")
    stage.type_prompt("still being written")
    stage.button("Open a file").click()
    opener(page).get_by_label("File", exact=True).set_input_files(file)
    expect(opener(page).get_by_label("Link", exact=True)).to_have_value(f"{server.url}s/{session}")
    token = opener(page).get_by_label("Delete token", exact=True).input_value()
    # Nothing of what was there is lost before the viewer goes.
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("still being written")
    opener(page).get_by_role("link", name="Open it").click()
    stage.expect_step(2)
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    answer = requests.delete(
        f"{server.url}api/sessions/{session}", headers={"Authorization": f"Bearer {token}"}, timeout=60
    )
    assert answer.status_code == 204


def test_a_file_is_opened_by_dropping_it_and_a_wrong_one_is_refused_in_words(
    new_page: Callable[..., Page], server: Server, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of 422")
    page = new_page()
    stage = Stage(page, server).open(short_run, "#step=1")
    page.evaluate(DROP, ["<b>notes</b>.txt", "just a text"])
    problem = opener(page).get_by_role("alert")
    expect(problem).to_contain_text("neither a page nor a safetensors file")
    expect(problem).to_contain_text("Nothing was stored")
    opener(page).get_by_role("button", name="Close").click()
    page.evaluate(DROP, ["empty.html", ""])
    expect(opener(page).get_by_role("alert")).to_contain_text("“empty.html” is empty.")
    opener(page).get_by_role("button", name="Close").click()
    stage.expect_step(1)
    assert stage.run_id == short_run


def test_progress_is_what_was_sent_and_can_be_cancelled(
    new_page: Callable[..., Page], server: Server, short_run: str, tmp_path: Path, complaints: Complaints
) -> None:
    complaints.allow("api/sessions")
    page = new_page()
    stage = Stage(page, server).open(short_run, "#step=1")
    page.route("**/api/sessions", lambda _: None)  # never answered
    file = tmp_path / "run.html"
    file.write_bytes(b"x" * 1000)
    stage.button("Open a file").click()
    opener(page).get_by_label("File", exact=True).set_input_files(file)
    expect(opener(page).get_by_role("progressbar", name="Sent")).to_be_visible()
    opener(page).get_by_role("button", name="Cancel").click()
    expect(opener(page).get_by_label("File", exact=True)).to_be_visible()
    expect(opener(page).get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_dialogs_break_no_rule(
    new_page: Callable[..., Page],
    server: Server,
    short_run: str,
    whole: str,
    scheme: str,
    screen: dict[str, object],
    tmp_path: Path,
) -> None:
    page = new_page(**screen, color_scheme=scheme, reduced_motion="reduce")
    stage = Stage(page, server).open(short_run, "#step=1")
    stage.button("Open a file").click()
    assert violations(page) == []
    opener(page).get_by_label("File", exact=True).set_input_files(export(server, whole, tmp_path))
    expect(opener(page).get_by_role("link", name="Open it")).to_be_focused()
    assert violations(page) == []
    open_link(page, server, whole)
    page.get_by_role("button", name="Save as file").click()
    expect(page.get_by_role("list", name="Files").get_by_role("link")).to_have_count(4)
    assert violations(page) == []
    assert stage.overflow() <= 0
