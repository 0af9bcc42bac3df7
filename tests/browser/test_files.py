"""A run as a file: saved from its link, opened from the disk where it asks nobody for anything, and taken back in."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.runs import HOSTILE, LEVELS, PLACE, WORDS, export, note, share
from tests.support.screens import VIEWS
from tests.support.server import Server
from tests.support.stage import PNG_START, Stage, expect_same_text, found_in, open_file, open_link
from tests.support.traffic import Asked

IN_THE_FRAMES = ("head", "tokens", "cache", "time")
"""Views whose table needs no exact values."""
DROP = """([name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
}"""


@pytest.fixture(scope="session")
def session(_server: Server, short_run: str) -> str:
    """A shared run of 6 tokens, whose words are of a stranger."""
    words = WORDS | {"title": f"</title></script>{HOSTILE}", "notes": [note(3, f"<!-- <script> -->{HOSTILE}", 13, 8)]}
    return share(_server, short_run, **words).id


@pytest.fixture(scope="session")
def file(_server: Server, session: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a file."""
    return export(_server, session, tmp_path_factory.mktemp("file"))


@pytest.fixture(scope="session")
def whole(_server: Server, short_run: str) -> str:
    """A shared run with every value inside its blocks."""
    return share(_server, short_run, **WORDS, values="block").id


def opener(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Open a saved run")


def test_it_shows_what_the_link_shows_and_asks_for_nothing(
    new_page: NewPage, server: Server, session: str, file: Path, complaints: Complaints
) -> None:
    """All that is in the frames; what only the model can give is a matter of the stored values."""
    page = new_page(offline=True)
    asked = Asked().listen(page)
    mine = open_file(page, file, server)
    mine.expect_step(3)
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    expect(mine.region("Notes")).to_contain_text(HOSTILE)
    assert page.locator("img, #page script").count() == 0
    link = open_link(new_page(), server, session, PLACE + VIEWS[0])
    for view in VIEWS:
        for stage in (mine, link):
            stage.look_at(PLACE + view)
            stage.expect_view(view)
            stage.rest()
        for name in ("Model map", "Next token", "KV cache", "Time"):
            # A wide view takes the place of some.
            expect_same_text(mine.region(name), link.region(name))
        expect_same_text(mine.answer, link.answer)
        if view in IN_THE_FRAMES:
            tables = [Path(stage.save("Inspector", "CSV").path()).read_text("utf-8") for stage in (mine, link)]
            assert tables[0] == tables[1] != "", view
        else:
            expect(mine.region("Inspector")).to_contain_text("not stored")
        assert page.url == file.as_uri() + PLACE + view
    mine.look_at(PLACE + "head")  # beside which there is a next token
    mine.expect_view("head")
    assert Path(mine.save("Next token", "PNG").path()).read_bytes().startswith(PNG_START)
    for name in ("Run", "Try your own", "Share"):
        expect(mine.button(name)).to_have_count(0)
    expect(page.get_by_role("link", name="Open KVScope")).to_have_count(0)
    page.keyboard.press("p")
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("Residual stream")
    assert asked.urls == [file.as_uri()]
    complaints.allow("Content Security Policy")
    outcome = page.evaluate(f"fetch({server.url!r}, {{mode: 'no-cors'}}).then(() => 'sent', () => 'refused')")
    assert outcome == "refused"


def test_a_damaged_part_is_named_and_without_javascript_the_run_is_told(
    new_page: NewPage, server: Server, session: str, file: Path, tmp_path: Path
) -> None:
    text = file.read_text("utf-8")
    manifest = requests.get(f"{server.url}api/sessions/{session}", timeout=60).json()
    seq = next(part["seq"] for part in manifest["parts"] if part["kind"] == "step" and part["seq"] > 6)
    packed = found_in(text, rf'id="part-{seq}">([^<]+)<')
    bits = bytearray(base64.b64decode(packed[1]))
    bits[len(bits) // 2] ^= 1
    damaged = tmp_path / "damaged.html"
    damaged.write_text(text.replace(packed[1], base64.b64encode(bits).decode()), "utf-8")
    page = new_page()
    page.goto(damaged.as_uri())
    stage = Stage(page, server)
    expect(stage.alert).to_contain_text(f"parts[{seq}]")
    expect(stage.words.first).to_be_visible()
    page = new_page(java_script_enabled=False)
    for address in (file.as_uri(), f"{server.url}s/{session}", f"{server.url}embed/{session}"):
        page.goto(address)
        said = page.inner_text("body")
        for words in ("The animal didn't cross the street", "far away to be", HOSTILE):
            assert words in said


def alike_but_for_code(in_file: str, linked: str) -> bool:
    return in_file == linked.replace("\nCode", "")


def test_each_file_of_a_link_has_the_size_that_was_told_and_the_numbers_that_its_size_allows(
    new_page: NewPage, server: Server, whole: str, session: str, tmp_path: Path
) -> None:
    page = new_page()
    link = open_link(page, server, whole, PLACE + "pair")
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
    page.keyboard.press("Escape")
    for level in LEVELS:
        file = tmp_path / f"{level}.html"
        file.write_bytes(requests.get(f"{server.url}api/sessions/{whole}.html?level={level}", timeout=60).content)
        stage = open_file(new_page(), file, server, PLACE + "pair")
        inspector = stage.region("Inspector")
        if level == "attention":
            expect(inspector).to_contain_text("not stored")
        else:
            expect(inspector.get_by_role("table").first).to_be_visible()
            # A file has no source of the model.
            expect_same_text(inspector, link.region("Inspector"), alike_but_for_code)
        stage.look_at(PLACE + "block")
        expect(inspector).to_contain_text("stored with this session")
        missing = inspector.get_by_text("not stored")
        expect(missing).to_have_count(0) if level == "block" else expect(missing.first).to_be_visible()
    open_link(page, server, session)
    page.get_by_role("button", name="Save as file").click()
    expect(links).to_have_count(2)
    expect(files.get_by_text("not stored", exact=True)).to_have_count(2)


def test_a_file_is_opened_has_a_link_again_and_loses_nothing(
    new_page: NewPage, server: Server, short_run: str, tmp_path: Path
) -> None:
    for kind in ("html", "safetensors"):
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
        expect(stage.prompt).to_have_value("still being written")
        opener(page).get_by_role("link", name="Open it").click()
        stage.expect_step(2)
        expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
        headers = {"Authorization": f"Bearer {token}"}
        assert requests.delete(f"{server.url}api/sessions/{session}", headers=headers, timeout=60).status_code == 204


def test_a_wrong_file_is_refused_in_words_and_one_on_its_way_can_be_cancelled(
    stage: Stage, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of 422|api/sessions")
    page = stage.open(short_run, "#step=1").page
    expect(stage.button("Open a file")).to_be_visible()
    problem = opener(page).get_by_role("alert")
    for name, content, said in (
        ("<b>notes</b>.txt", "just a text", "neither an exported page nor a safetensors file"),
        ("empty.html", "", "“empty.html” is empty."),
    ):
        page.evaluate(DROP, [name, content])
        expect(problem).to_contain_text(said)
        opener(page).get_by_role("button", name="Close").click()
        expect(opener(page)).to_be_hidden()
    page.route("**/api/sessions", lambda _: None)  # never answered
    page.evaluate(DROP, ["empty.html", ""])
    expect(problem).to_be_visible()
    # The dialog says that it was closed only after the next file has come.
    close_and_drop = f"(close, file) => {{ close.click(); ({DROP})(file); }}"
    opener(page).get_by_role("button", name="Close").evaluate(close_and_drop, ["run.html", "x" * 1000])
    expect(opener(page).get_by_role("progressbar", name="Sent")).to_be_visible()
    opener(page).get_by_role("button", name="Cancel").click()
    expect(opener(page).get_by_label("File", exact=True)).to_be_visible()
    expect(problem).to_have_count(0)
    assert stage.run_id == short_run
