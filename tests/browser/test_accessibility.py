"""No rule of axe is broken and nothing is wider than its window: every page and view, and what opens over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.block import wait_for_values
from tests.support.pages import NewPage
from tests.support.runs import PLACE, WORDS, export, share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, VIEWS, ZOOMED, flaws
from tests.support.server import Server
from tests.support.stage import Stage, open_file, open_link
from tests.support.waiting import eventually
from tools.record.__main__ import workloads

SCREENS = pytest.mark.parametrize(
    ("screen", "schemes"), [(DESKTOP, SCHEMES), (PHONE, SCHEMES[:1])], ids=["desktop", "phone"]
)
"""Colours are the same on both."""
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".page *")]
  .filter((each) => !each.closest("sub, sup, .visually-hidden") && each.checkVisibility())
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((each) => parseFloat(getComputedStyle(each).fontSize)))"""
"""The smallest letter, in CSS pixels."""


def look(stage: Stage, run: str, view: str) -> None:
    stage.show(run, PLACE + view).expect_step(3).expect_view(view)
    stage.rest()


def views(stage: Stage, run: str) -> Iterator[str]:
    for view in VIEWS:
        look(stage, run, view)
        yield view


def over_the_stage(stage: Stage, run: str) -> Iterator[str]:
    """What opens in a view or over it."""
    page = stage.page
    look(stage, run, "block")
    wait_for_values(stage)
    cursor = re.compile("^Arrow keys move between values")
    stage.region("Inspector").get_by_role("application", name=cursor).press("PageDown")
    page.keyboard.press("Enter")
    expect(stage.region("Opened number")).to_contain_text("the model computed")
    yield "a number of a layer, opened"
    page.get_by_text("What each head adds, and their sum", exact=True).click()
    expect(stage.region("Inspector").get_by_text("the model’s own").first).to_be_visible()
    yield "what each head adds"
    page.get_by_text("The same layer on two devices", exact=True).click()
    expect(stage.region("Inspector").get_by_text("Traffic between the devices").first).to_be_visible()
    yield "a layer on two devices"
    look(stage, run, "pair")
    page.get_by_text("The same row, tile by tile", exact=True).click()
    expect(stage.region("Inspector").get_by_text("Running values").first).to_be_visible()
    yield "a row tile by tile"
    look(stage, run, "tokens")
    stage.button("Ask the model").click()
    expect(stage.region("Training beside inference")).to_contain_text("perplexity")
    yield "training"
    look(stage, run, "head")
    stage.button("Save Inspector").click()
    yield "what a panel is saved as"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    yield "the help"
    page.keyboard.press("Escape")
    stage.button("Tokens").click()
    yield "the answer token by token"
    stage.button("Share").click()
    form = page.get_by_role("dialog", name="Share this run")
    form.get_by_label("Note on step 3").fill("A note.")
    form.get_by_role("button", name="Add note").click()
    yield "sharing"
    form.get_by_role("button", name="Make link").click()
    expect(form.get_by_label("Link", exact=True)).to_be_visible()
    yield "a link"
    page.keyboard.press("Escape")
    stage.region("Inspector").get_by_role("button", name="What if").click()
    changes = page.get_by_role("dialog", name="What if")
    changes.get_by_label("How").select_option(label="steer with two prompts")
    yield "changes of a run"
    changes.get_by_role("button", name="Close").click()
    stage.button("Open a file").click()
    yield "opening a file"
    page.keyboard.press("Escape")
    stage.type_prompt("Dogs, cats " * 60)
    tokens = stage.region("The prompt as tokens").get_by_role("button")
    expect(tokens).not_to_have_count(0)
    yield "a prompt as tokens"
    tokens.first.click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(12)
    yield "a token's row"


def changed(stage: Stage, run: str) -> Iterator[str]:
    """A run with changes beside its original."""
    zero = {"op": "zero", "layer": 13}
    changes = [{**zero, "site": "head", "head": 8}, {**zero, "site": "k", "head": 0, "position": 2}]
    look(stage, stage.server.changed_run(run, *changes), "head")
    expect(stage.region("Beside the original")).to_be_visible()
    yield "a changed run"
    stage.button("What differs from the original").click()
    expect(stage.region("Inside the model")).to_be_attached()
    yield "what differs from the original"


def saved(stage: Stage, session: str, file: Path) -> Iterator[str]:
    page, server = stage.page, stage.server
    open_link(page, server, session)
    yield "a link"
    for button, dialog in (
        ("Save as file", "Save this run as a file"),
        ("Embed…", "Embed this run"),
        ("Delete…", "Delete this run"),
    ):
        stage.button(button).click()
        expect(page.get_by_role("dialog", name=dialog)).to_be_visible()
        stage.rest()
        yield button
        page.keyboard.press("Escape")
    for view in ("pair", "head"):
        open_file(page, file, server, PLACE + view).rest()
        yield f"a file, {view}"
    page.goto(f"{server.url}gallery")
    page.get_by_role("link", name=str(workloads()[0]["title"]), exact=True).click()
    expect(page.get_by_role("slider", name="Pass")).to_be_visible()
    yield "a workload"


def dialogs(page: Page, server: Server) -> Iterator[str]:
    """The search and the help, where a run is shown and beside it."""
    for address in (f"s/{share(server, server.finished_run('The sea is', max_new_tokens=2)).id}", "gallery"):
        page.goto(f"{server.url}{address}")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("dialog", name="Search").get_by_role("combobox").fill("attention")
        expect(page.get_by_role("dialog", name="Search").get_by_role("option", selected=True)).to_be_visible()
        yield f"the search, {address}"
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Help").click()
        expect(page.get_by_role("link", name="Show Softmax")).to_be_attached()
        yield f"the help, {address}"


def filled(page: Page, server: Server, run: str) -> Iterator[str]:
    """Pages that are whole once a text is there that the server has computed."""
    other = server.finished_run("The animal was tired", max_new_tokens=2)
    for address, text in (
        (f"?run={run}{PLACE}block&code=1", "[1, 576]"),
        ("by-hand/b?cell=weights2:2:0&code=1", "ran again for the shapes"),
        (f"compare?a={run}&b={other}", "K and V in the cache"),
        ("learn", "Start from a question"),
        ("learn/reference", "59 more"),
        ("learn/formulas", "arithmetic intensity of prefill"),
        ("learn/figures?figure=32-gb", "What the printed figure counts"),
        ("learn/loop", "Run it without a cache"),
        ("learn/state", "KV cache took"),
        ("learn/words", "cosine"),
    ):
        page.goto(f"{server.url}{address}")
        expect(page.get_by_text(text).first).to_be_visible()
        yield address
    page.goto(f"{server.url}learn/test-one#5")
    expect(page.frame_locator("iframe").locator("html[data-step='3']")).to_be_attached()
    page.get_by_role("button", name="Hint").click()
    yield "a lesson"


def own_pages(page: Page, server: Server) -> Iterator[str]:
    for address in (
        "by-hand/b",
        "by-hand/a?predict=0",
        "memory",
        "memory?model=llama-3-70b&prefix=5",
        "serving",
        "gallery",
    ):
        page.goto(f"{server.url}{address}")
        page.wait_for_load_state("networkidle")
        for name in ("Roofline", "Cache against length", "Attention against length") if "memory" in address else ():
            figure = page.get_by_role("figure", name=name)
            figure.scroll_into_view_if_needed()
            expect(figure.locator(".main-svg").first).to_be_visible()
        for summary in page.locator("summary").all():
            summary.click()
        yield address


def moments(page: Page, server: Server) -> Iterator[str]:
    page.goto(server.url)
    slider = page.get_by_role("slider", name="Moment")
    expect(slider).to_have_attribute("max", "8")
    for moment in range(9):
        expect(slider).to_have_value(str(moment))
        expect(page.get_by_role("group", name="Playback")).to_be_in_viewport(ratio=1)
        yield f"moment {moment}"
        page.keyboard.press("ArrowRight")


@pytest.fixture
def viewer(new_page: NewPage, server: Server, screen: dict[str, Any]) -> Stage:
    return Stage(new_page(**screen, reduced_motion="reduce"), server)


@SCREENS
def test_the_views(viewer: Stage, short_run: str, schemes: tuple[str, ...]) -> None:
    for name in views(viewer, short_run):
        assert flaws(viewer.page, schemes) == [], name
        assert viewer.page.evaluate(SMALLEST) >= 12, name


@SCREENS
def test_what_opens_over_them(viewer: Stage, short_run: str, schemes: tuple[str, ...]) -> None:
    for name in over_the_stage(viewer, short_run):
        assert flaws(viewer.page, schemes) == [], name


@SCREENS
def test_a_changed_run(viewer: Stage, short_run: str, schemes: tuple[str, ...]) -> None:
    for name in changed(viewer, short_run):
        assert flaws(viewer.page, schemes) == [], name


@SCREENS
def test_what_is_saved(viewer: Stage, short_run: str, schemes: tuple[str, ...], tmp_path: Path) -> None:
    session = share(viewer.server, short_run, **WORDS).id
    for name in saved(viewer, session, export(viewer.server, session, tmp_path)):
        assert flaws(viewer.page, schemes) == [], name


@SCREENS
def test_pages_of_their_own(viewer: Stage, short_run: str, schemes: tuple[str, ...]) -> None:
    page, server = viewer.page, viewer.server
    for name in chain(own_pages(page, server), filled(page, server, short_run), dialogs(page, server)):
        assert flaws(page, schemes) == [], name


@pytest.mark.parametrize(
    ("screen", "schemes"),
    [(DESKTOP, SCHEMES), (PHONE, ()), ({"viewport": {"width": 320, "height": 640}}, SCHEMES[:1])],
    ids=["desktop", "phone", "small"],
)
def test_the_first_thirty_seconds(viewer: Stage, schemes: tuple[str, ...]) -> None:
    for name in moments(viewer.page, viewer.server):
        assert flaws(viewer.page, schemes) == [], name
        assert viewer.page.evaluate(SMALLEST) >= 12, name


@pytest.mark.parametrize("size", [(700, 500), (360, 520)], ids=["wide", "narrow"])
def test_an_embed(new_page: NewPage, server: Server, short_run: str, size: tuple[int, int]) -> None:
    page = new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page.goto(f"{server.url}embed/{share(server, short_run, **WORDS).id}")
    expect(page.locator("html[data-step='3']")).to_be_attached()
    Stage(page, server).rest()
    assert flaws(page) == []


@pytest.mark.parametrize("screen", [ZOOMED])
def test_a_window_of_half_the_size_scrolls_only_downwards(viewer: Stage, short_run: str) -> None:
    for view in views(viewer, short_run):
        assert viewer.overflow() <= 0, view


def test_text_of_twice_the_size_fits_a_phone(new_page: NewPage, server: Server, short_run: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    stage = Stage(page, server)
    look(stage, short_run, "head")
    page.evaluate("document.documentElement.style.setProperty('zoom', '2')")
    eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
    for tab in page.get_by_role("navigation", name="Panels").get_by_role("button").all():
        tab.tap()
        expect(tab).to_have_attribute("aria-current", "true")
    stage.ask()
    stage.button("Run").scroll_into_view_if_needed()
    expect(stage.button("Run")).to_be_in_viewport(ratio=1)
