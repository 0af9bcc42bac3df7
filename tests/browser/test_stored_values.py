"""Sessions that keep exact values, opened on a server that runs another model: they show what the live page shows."""

from __future__ import annotations

import re
import sqlite3
from functools import partial
from typing import Any

import numpy as np
import pytest
import requests
from playwright.sync_api import Page, expect

from tests.support.block import rows_of, wait_for_values
from tests.support.complaints import Complaints
from tests.support.numbers import number, same_but_for_rounding
from tests.support.pages import NewPage
from tests.support.runs import LEVELS, carried, share
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text, open_link, share_dialog
from tests.support.traffic import requests_of
from tests.support.waiting import until

NOT_STORED = "not stored with this session, and its model cannot be asked for them here"
ROUNDED = 2.0**-10
DECIMAL = r"[\u2212-]?\d[\d,]*\.\d+"


@pytest.fixture(scope="module")
def sessions(_server: Server, _tiny: Server, short_run: str) -> dict[str, str]:
    """One of each level, of the same run, here and where another model runs."""
    made = {level: share(_server, short_run, values=level).id for level in LEVELS}
    for session in made.values():
        carried(session, _server, _tiny)
    return made


def place(step: int, view: str, query: int = 8) -> str:
    return f"#step={step}&layer=13&head=8&query={query}&key=1&view={view}"


class Both:
    """The same moment on the live page and in a session elsewhere."""

    def __init__(self, live: Stage, page: Page, there: Server, run: str) -> None:
        self.live, self.page, self.there, self.run = live, page, there, run
        self.asked = requests_of(page)

    def open(self, session: str, step: int, view: str, query: int) -> tuple[Stage, Stage]:
        self.live.show(self.run, place(step, view, query)).expect_step(step)
        saved = open_link(self.page, self.there, session, place(step, view, query))
        saved.expect_step(step)
        return self.live, saved


@pytest.fixture
def both(stage: Stage, new_page: NewPage, tiny: Server, short_run: str) -> Both:
    return Both(stage, new_page(), tiny, short_run)


def test_pairs_heads_and_guesses_are_those_of_the_live_page(both: Both, sessions: dict[str, str]) -> None:
    for level, query in (("qkv", 8), ("block", 13)):
        live, saved = both.open(sessions[level], 3, "pair", query)
        for name in ("Dot product", "Softmax and weighted sum"):
            for stage in (live, saved):
                expect(stage.region(name)).to_contain_text(re.compile(r"\d\.\d"))
        expect(saved.region("Softmax and weighted sum")).to_contain_text("q, k and v are stored with this session")
        expect_same_text(*(stage.region("Dot product") for stage in (live, saved)), same_but_for_rounding)
        tables = [stage.region("Softmax and weighted sum").get_by_role("table") for stage in (live, saved)]
        expect_same_text(*tables, same_but_for_rounding)
        stages = both.open(sessions[level], 2, "model", 12)
        for stage in stages:
            expect(stage.region("Inspector")).to_contain_text("best guess after layer")
        expect_same_text(
            *(each.region("Inspector").locator(".view") for each in stages), partial(same_but_for_rounding, whole=True)
        )
    stages = both.open(sessions["qkv"], 0, "head", 8)
    cards = [stage.region("This query and this key") for stage in stages]
    for card in cards:
        expect(card).to_contain_text("softmax over 9 keys")
    assert same_but_for_rounding(*(" ".join(re.findall(DECIMAL, card.inner_text())) for card in cards))
    assert not [url for url in both.asked if "/head?" in url or "/lens?" in url]


def test_a_block_shows_the_numbers_of_the_live_page(both: Both, sessions: dict[str, str]) -> None:
    stages = both.open(sessions["block"], 2, "block", 12)
    for stage in stages:
        wait_for_values(stage)
    expect(stages[1].region("Inspector")).to_contain_text("rounded to 16 bits")
    exact = ("attn.scores", "attn.q_rot", "cache.v")
    for tensor in (*exact, "resid_in", "mlp.hidden", "resid_out"):
        live, saved = [np.array([[number(cell) for cell in row] for row in rows_of(stage, tensor)]) for stage in stages]
        rounded = 0.0 if tensor in exact else ROUNDED * np.abs(live).max()
        # Three digits are shown: two passes of one moment may stand on both sides of an edge between roundings.
        last_digit = 10.0 ** (np.floor(np.log10(np.abs(live) + 1e-12)) - 2)
        assert (np.abs(live - saved) <= rounded + 1.01 * last_digit).all(), tensor
        assert (live == saved).mean() > (0.98 if tensor in exact else 0.5), tensor


def test_what_is_not_stored_is_said_and_not_asked_for(both: Both, sessions: dict[str, str]) -> None:
    live, saved = both.open(sessions["attention"], 3, "pair", 8)
    log = saved.region("Attention weights in the log")
    expect(log.get_by_role("row")).to_have_count(1 + 9)
    told = [row.get_by_role("cell").inner_text() for row in log.get_by_role("row").all()[1:]]
    exact = live.server.head(live.run_id, 0, 13, 8)["weights"][8, :9]
    for text in told:
        assert "<" in text or np.abs(exact - number(text)).min() < 0.0045
    for view in ("pair", "head", "block", "model"):
        saved.look_at(place(3, view))
        saved.expect_view(view)
        expect(saved.region("Inspector")).to_contain_text(NOT_STORED)
        saved.rest()
    _, saved = both.open(sessions["qkv"], 3, "block", 8)
    expect(saved.region("Inspector")).to_contain_text(NOT_STORED)
    saved.look_at(place(3, "tokens"))
    saved.page.get_by_label("Why not this token?").fill("elephant")
    expect(saved.region("Why not this token")).to_contain_text(NOT_STORED)
    assert not [url for url in both.asked if re.search("/(head|block|lens|candidates)[?]", url)]


def test_the_dialog_says_what_each_choice_takes_and_how_far_it_is(
    stage: Stage, tiny: Server, new_page: NewPage, short_run: str
) -> None:
    stage.open(short_run, place(3, "head")).expect_step(3)
    stage.button("Share").click()
    form = share_dialog(stage.page)
    choices = form.get_by_role("group", name="What the link includes").get_by_role("radio")
    expect(choices.first).to_be_checked()
    offered = requests.get(f"{stage.server.url}api/runs/{short_run}/share", timeout=60).json()["levels"]
    for level, choice in zip(LEVELS, choices.all(), strict=True):
        size = offered[level]["bytes"] / 1000
        unit = f"{size / 1000:.2f}" if 1000 <= size < 10_000 else f"{size / (1000 if size >= 1000 else 1):.0f}"
        expect(choice.locator("xpath=..")).to_contain_text(re.compile(rf"{re.escape(unit[:3])}.*[kM]B"))
    form.get_by_label("Title").fill("With values, from the dialog")
    form.get_by_role("radio", name="Also Q, K and V").check()
    with stage.server.engine_asleep():
        form.get_by_role("button", name="Make link").click()
        expect(form.get_by_role("progressbar", name="Values computed")).to_be_visible()
    link = form.get_by_label("Link", exact=True)
    expect(link).to_be_visible()
    manifest: dict[str, Any] = requests.get(link.input_value().replace("/s/", "/api/sessions/"), timeout=60).json()
    assert manifest["values"]["level"] == "qkv"
    total = manifest["values"]["bytes"] + manifest["bytes"]
    assert abs(total - offered["qkv"]["bytes"]) < 0.1 * offered["qkv"]["bytes"]

    elsewhere = Stage(new_page(), tiny).open()
    elsewhere.button("Share").click()
    form = share_dialog(elsewhere.page)
    expect(form).to_contain_text("this server has loaded")
    for name in ("Also Q, K and V", "Also every value"):
        expect(form.get_by_role("radio", name=name)).to_be_disabled()


BUSY_WHEN_SEEN = """
window.changes = [];
window.IntersectionObserver = class extends IntersectionObserver {
  constructor(tell) {
    super((changes) => window.changes.push(...changes));
    window.tell = () => tell(window.changes, this);
  }
};
"""
"""A page too busy to be told what comes into sight and goes, until `tell()`: of all of it at once."""


def test_sizes_are_asked_for_while_the_dialog_is_open_on_a_busy_page(
    new_page: NewPage, server: Server, short_run: str
) -> None:
    page = new_page()
    page.add_init_script(BUSY_WHEN_SEEN)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/share") else None)
    stage = Stage(page, server).open_finished(short_run)
    stage.button("Share").click()
    until(page, "() => window.changes.length === 1 && window.changes[0].isIntersecting")
    page.keyboard.press("Escape")
    until(page, "() => window.changes.length === 2 && !window.changes[1].isIntersecting")
    page.evaluate("window.tell()")
    stage.still()
    assert asked == []
    stage.button("Share").click()
    until(page, "() => window.changes.length === 3 && window.changes[2].isIntersecting")
    page.evaluate("window.tell()")
    expect(share_dialog(page).get_by_role("radio", name=re.compile(r"\d\s*[kM]?B\b"))).to_have_count(3)
    assert len(asked) == 1


def test_a_damaged_part_is_told_and_the_rest_shows(
    new_page: NewPage, tiny: Server, sessions: dict[str, str], complaints: Complaints
) -> None:
    complaints.allow("status of 500")
    complaints.allow("ERR_INCOMPLETE_CHUNKED_ENCODING")
    with sqlite3.connect(tiny.database) as database:
        database.execute("DELETE FROM session_values WHERE session = ? AND layer = 13 AND step = 4", (sessions["qkv"],))
    page = new_page(own=True)  # one that has fetched none of it
    stage = open_link(page, tiny, sessions["qkv"], place(3, "head"))
    stage.expect_step(3)
    expect(stage.region("This query and this key")).to_contain_text("softmax over 9 keys")
    stage.look_at(place(4, "head", 14))
    stage.expect_step(4)
    expect(stage.region("This query and this key")).to_contain_text("damaged")
