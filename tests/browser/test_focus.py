"""One thing at a time: an address that names parts, what opens the rest, and what a newcomer sees first."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import NewPage
from tests.support.runs import export, share
from tests.support.screens import DESKTOP, PHONE, flaws
from tests.support.server import Server
from tests.support.stage import Stage, box_of

PARTS = ("Model map", "Next token", "KV cache", "Time", "Timeline")
MOST_CONTROLS = 25
"""In sight when a newcomer comes to the Stage."""
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button]")]
  .filter((element) => {
    const { width, height, bottom, top, right, left } = element.getBoundingClientRect();
    return width > 0 && height > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
      && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  }).length"""
SEEN = "localStorage.setItem('kvscope.intro-seen', '1')"
WHOLE = re.compile("The whole page|More: layers")


def opened(stage: Stage, run: str, hash: str) -> Page:
    stage.page.goto(f"{stage.server.url}?run={run}{hash}")
    return stage.page


def test_an_address_shows_only_the_parts_that_it_names_and_the_rest_is_one_press_away(
    stage: Stage, short_run: str
) -> None:
    page = opened(stage, short_run, "#step=0&view=model&focus=tokens")
    expect(page.get_by_role("group", name="Tokens and ids of this step")).to_be_visible()
    for name in PARTS:
        expect(page.get_by_role("region", name=name, exact=True)).to_be_hidden()
    for box in ("2 Embed", "6 Softmax & choose"):
        expect(page.get_by_role("region", name=box)).to_be_hidden()
    page.get_by_role("button", name=WHOLE).click()
    for name in ("Model map", "2 Embed", "Timeline"):
        expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    page.wait_for_url(lambda address: "focus" not in address)
    page.reload()
    expect(stage.map).to_be_visible()


def test_a_layer_is_cut_to_the_named_tensors(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, "#step=0&layer=3&view=block&focus=attn.scores")
    drawing = stage.page.get_by_role("application", name="Arrow keys move between values")
    expect(drawing).to_be_attached()
    expect(stage.page.get_by_text("q·k ÷ √64")).to_be_visible()
    expect(stage.page.get_by_role("combobox", name="Row")).to_be_hidden()


def test_an_unknown_part_shows_the_whole_page_and_is_named(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, "#step=0&view=head&focus=attn.weights,nonsense")
    expect(stage.page.get_by_text("no part “nonsense” here, so all of it is shown")).to_be_visible()
    expect(stage.map).to_be_visible()
    expect(stage.matrix).to_be_visible()


def test_a_dialog_opens_from_a_part_that_is_shown_alone(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, "#step=0&view=model&focus=tokens")
    stage.region("Inspector").get_by_role("button").first.click()
    dialog = stage.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("heading").first).to_be_visible()
    stage.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(stage.map).to_be_hidden()


def test_another_view_opens_in_place_of_the_parts(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, "#step=0&layer=3&view=model&focus=resid_in")
    stage.page.get_by_role("button", name="Open layer 3").click()
    expect(stage.page.get_by_role("combobox", name="Row")).to_be_visible()
    expect(stage.map).to_be_hidden()


def test_beside_single_parts_the_settings_of_a_prompt_are_one_press_away(stage: Stage, short_run: str) -> None:
    page = opened(stage, short_run, "#step=0&view=model&focus=tokens")
    page.get_by_role("button", name="Try your own").click()
    temperature = page.get_by_role("form", name="New run").get_by_label("temperature")
    expect(temperature).to_be_hidden()
    page.get_by_text("Settings", exact=True).click()
    expect(temperature).to_be_visible()


@pytest.mark.parametrize(("screen", "is_beside"), [(DESKTOP, True), (PHONE, False)])
def test_an_arrow_leads_from_each_box_to_the_next(
    new_page: NewPage, server: Server, short_run: str, screen: dict[str, object], is_beside: bool
) -> None:
    page = new_page(**screen)
    page.goto(f"{server.url}?run={short_run}#step=0&view=model&focus=tokens,embed,embedded,resid_in")
    boxes = [box_of(page.get_by_role("region", name=name)) for name in ("1 Tokenize", "2 Embed", "3 30 layers")]
    arrows = [box_of(page.locator(f".wire-{place} > i")) for place in ("ids", "embedded")]
    side, size = ("x", "width") if is_beside else ("y", "height")
    for (before, after), arrow in zip(pairwise(boxes), arrows, strict=True):
        assert before[side] + before[size] <= arrow[side]
        assert arrow[side] + arrow[size] <= after[side]


@pytest.mark.parametrize("screen", [DESKTOP, PHONE])
def test_who_comes_again_sees_a_sentence_a_map_and_an_answer_and_what_is_opened_stays(
    new_page: NewPage, server: Server, screen: dict[str, object]
) -> None:
    page = new_page(**screen)
    page.add_init_script(SEEN)
    page.goto(server.url)
    picture = page.get_by_role("region", name="All tokens and layers")
    expect(picture.get_by_role("button", name="“it” reads “animal”")).to_be_visible()
    expect(page.get_by_text("The model read 11 tokens at once and chose “far” (60\u202f%).")).to_be_visible()
    assert page.evaluate(CONTROLS) <= MOST_CONTROLS
    fold = page.get_by_role("button", name=re.compile("What was kept: 507"))
    fold.click()
    expect(page.get_by_role("region", name="KV cache", exact=True)).to_be_visible()
    page.get_by_role("button", name="Next token", exact=True).click()
    expect(
        page.get_by_text(re.compile("The model read “far” with what was kept of 11 tokens and chose"))
    ).to_be_visible()
    expect(page.get_by_role("region", name="KV cache", exact=True)).to_be_visible()
    expect(picture).to_be_visible()


def test_an_embed_is_whole_unless_its_address_names_parts(new_page: NewPage, server: Server, short_run: str) -> None:
    session = share(server, short_run).id
    page = new_page()
    page.goto(f"{server.url}embed/{session}?view=head")
    expect(page.get_by_role("region", name="Model map")).to_be_visible()
    page.goto(f"{server.url}embed/{session}?view=head&focus=attn.weights")
    expect(page.get_by_role("application", name="Arrow keys choose query and key")).to_be_visible()
    expect(page.get_by_role("region", name="Model map")).to_be_hidden()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_hidden()


def test_a_saved_file_can_name_parts_too(new_page: NewPage, server: Server, short_run: str, tmp_path: Path) -> None:
    page = new_page()
    page.goto(f"{export(server, share(server, short_run).id, tmp_path).as_uri()}#view=head&focus=attn.weights")
    expect(page.get_by_role("application", name="Arrow keys choose query and key")).to_be_visible()
    expect(page.get_by_role("region", name="Model map")).to_be_hidden()


def test_matrices_of_a_worked_example_are_shown_alone(new_page: NewPage, server: Server) -> None:
    page = new_page()
    page.goto(f"{server.url}by-hand/a?cell=v1:2:0&focus=x,v1")
    expect(page.locator("figure")).to_have_count(3)
    page.get_by_role("button", name="The whole example").click()
    expect(page.get_by_role("group", name="Mode")).to_be_visible()


@pytest.mark.parametrize("screen", [DESKTOP, PHONE])
@pytest.mark.parametrize(
    "hash", ["focus=sentence,overview,kv-cache", "view=model&focus=tokens", "layer=3&view=block&focus=attn.scores"]
)
def test_named_parts_are_accessible(
    new_page: NewPage, server: Server, short_run: str, screen: dict[str, object], hash: str
) -> None:
    stage = Stage(new_page(**screen, reduced_motion="reduce"), server)
    opened(stage, short_run, f"#step=0&{hash}")
    expect(stage.page.get_by_role("contentinfo")).to_be_visible()
    stage.rest()
    assert flaws(stage.page) == []
