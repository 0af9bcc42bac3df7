"""The first thirty seconds: for whom they are and how one moves in them. What they say is in snapshots/intro.txt."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.pages import NewPage
from tests.support.runs import export, share
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage

LAST = 8
FIRST = "All tokens and layers"
"""The part of the Stage that a newcomer sees."""


class Intro:
    """The intro as its names tell it."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.page = stage, stage.page
        self.main = stage.page.get_by_role("main", name="The first thirty seconds")
        self.slider = stage.page.get_by_role("slider", name="Moment")
        self.heading = self.main.get_by_role("heading", level=2)

    def whole(self) -> Intro:
        """Until all of its run is there, and with it every moment."""
        expect(self.page.get_by_role("button", name="Watch")).to_be_visible()
        expect(self.slider).to_have_attribute("max", str(LAST))
        return self

    def press(self, key: str, moment: int) -> None:
        self.page.keyboard.press(key)
        expect(self.slider).to_have_value(str(moment))


@pytest.fixture
def newcomer(stage: Stage) -> Intro:
    """Somebody who has never been here, at the front page."""
    stage.page.goto(stage.server.url)
    return Intro(stage).whole()


def test_it_is_watched_walked_by_keys_left_and_not_shown_again(newcomer: Intro, short_run: str) -> None:
    stage, page = newcomer.stage, newcomer.page
    newcomer.press("ArrowRight", 1)
    newcomer.press("End", LAST)
    newcomer.press("ArrowLeft", LAST - 1)
    newcomer.press("Home", 0)
    page.get_by_role("button", name="Watch").click()
    stage.expect_phase("running")
    expect(newcomer.slider).to_have_value("1")
    newcomer.slider.press("End")
    newcomer.slider.press("ArrowLeft")
    stage.expect_phase("paused")
    stage.button("Play").click()
    stage.expect_phase("done")
    for question in ("Why this token?", "Why a cache?"):
        expect(newcomer.main.get_by_role("button", name=question)).to_be_visible()
    newcomer.main.get_by_role("button", name="What does it look at?").click()
    stage.expect_view("head")
    page.wait_for_url(re.compile("layer=13&head=8&query=8&key=1&view=head"))
    stage.look_at("#view=intro")
    expect(newcomer.slider).to_have_value(str(LAST))
    page.keyboard.press("Escape")
    expect(stage.region(FIRST)).to_be_visible()
    page.goto("about:blank")
    page.goto(stage.server.url)
    expect(stage.region(FIRST)).to_be_visible()
    expect(newcomer.main).to_have_count(0)


@pytest.mark.parametrize("hash", ["", "#step=2"])
def test_a_link_to_a_run_passes_it_by_and_so_does_who_skips(
    stage: Stage, short_run: str, new_page: NewPage, hash: str
) -> None:
    stage.open(short_run, hash)
    expect(stage.page.get_by_role("main", name="The first thirty seconds")).to_have_count(0)
    other = Stage(new_page(**PHONE), stage.server)
    other.page.goto(stage.server.url)
    intro = Intro(other).whole()
    if not hash:
        other.button("Skip the tour").click()
        other.expect_phase("paused")
        expect(other.region(FIRST)).to_be_visible()
        return
    intro.press("End", LAST)
    other.page.get_by_role("button", name="Why a cache?").tap()
    other.expect_view("cache")
    expect(other.region("Inspector").get_by_role("heading", level=2).first).to_be_in_viewport()


def test_what_a_newcomer_opens_stays_open_on_the_next_visit(newcomer: Intro) -> None:
    stage, page = newcomer.stage, newcomer.page

    def again(hash: str = "") -> None:
        page.goto("about:blank")
        page.goto(f"{stage.server.url}{hash}")

    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("How long: ")).click()
    expect(stage.region("Time")).to_be_visible()
    again()
    expect(stage.region("Time")).to_be_visible()
    expect(stage.region(FIRST)).to_be_visible()
    again("#step=0&focus=map")
    expect(stage.region("Model map")).to_be_visible()
    expect(stage.region("Time")).to_be_hidden()
    again()
    page.get_by_role("button", name=re.compile("How long: ")).click()
    expect(stage.region("Time")).to_be_hidden()
    again()
    expect(stage.region(FIRST)).to_be_visible()
    expect(stage.region("Time")).to_be_hidden()
    page.get_by_role("button", name=re.compile("More: ")).click()
    again()
    expect(stage.region("Model map")).to_be_visible()
    expect(stage.region("Time")).to_be_visible()
    expect(stage.region(FIRST)).to_have_count(0)


def test_a_prompt_of_ones_own_is_told_in_the_same_moments(newcomer: Intro) -> None:
    stage = newcomer.stage
    before = stage.run_id
    stage.button("Try your own").click()
    field = newcomer.page.get_by_role("textbox", name="Prompt")
    expect(field).to_be_focused()
    field.fill("")
    stage.button("Run").click()
    expect(stage.alert).to_be_visible()
    newcomer.page.get_by_text("Settings", exact=True).click()
    newcomer.page.get_by_label("choose").select_option("sample")
    newcomer.page.get_by_label("new tokens").fill("64")
    field.fill("My favourite colour is")
    field.press("Enter")
    expect(stage.page.locator(f"html:not([data-run='{before}'])")).to_be_attached(timeout=60_000)
    expect(newcomer.heading).to_contain_text("all 4 tokens at once", timeout=30_000)
    stage.button("Pause").click()
    stage.expect_phase("paused")
    opened = stage.server.opened(stage.run_id)
    assert opened["prompt"] == "My favourite colour is"
    assert opened["sampling"]["strategy"] == "sample"


def test_what_is_typed_takes_the_place_of_the_old_prompt_but_not_of_ones_own(newcomer: Intro) -> None:
    page = newcomer.page
    newcomer.stage.button("Try your own").click()
    field = page.get_by_role("textbox", name="Prompt")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_label("top-k").click()
    field.click()
    expect(field).to_have_js_property("selectionStart", 0)
    page.keyboard.type("One ")
    page.get_by_label("top-k").click()
    field.click()
    page.keyboard.press("End")
    page.keyboard.type("two")
    expect(field).to_have_value("One two")


def test_an_embed_and_a_file_play_it_too(
    new_page: NewPage, server: Server, short_run: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    session = share(server, short_run).id
    page = new_page(viewport={"width": 700, "height": 500})
    page.goto(f"{server.url}embed/{session}?view=intro")
    embedded = Intro(Stage(page, server))
    page.get_by_role("button", name="Watch").click()
    expect(embedded.heading).to_contain_text("tokens at once")
    expect(page.get_by_role("button", name="Try your own")).to_have_count(0)
    file = export(server, session, tmp_path_factory.mktemp("file"))
    offline = new_page(offline=True)
    offline.goto(f"{file.as_uri()}#view=intro")
    saved = Intro(Stage(offline, server)).whole()
    offline.keyboard.press("End")
    expect(saved.heading).to_contain_text("Without the cache")
    expect(offline.get_by_role("button", name="Try your own")).to_have_count(0)
