"""The worked examples as read, changed, predicted, framed and printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.server import Server

PRINTED: dict[str, dict[str, list[list[str]]]] = {
    "a": {
        "q1": [["1", "0"], ["0", "1"], ["1", "1"], ["0.5", "0.5"]],
        "k1": [["0", "1"], ["1", "0"], ["1", "1"], ["0.5", "0.5"]],
        "v1": [["1", "1"], ["1", "-1"], ["2", "0"], ["1", "0"]],
        "scores1": [[], [], ["1", "1", "2"], ["0.5", "0.5", "1", "0.5"]],
        "scaled1": [[], [], ["0.707", "0.707", "1.414"], ["0.354", "0.354", "0.707", "0.354"]],
        "weights1": [[], [], ["0.248", "0.248", "0.503"], ["0.226", "0.226", "0.322", "0.226"]],
        "mixed1": [[], [], ["1.503", "0"], ["1.322", "0"]],
    },
    "b": {
        "embedding": [["0.8", "0.3", "-0.2", "0.5"], ["0.4", "0.6", "0.7", "-0.3"], ["0.5", "-0.4", "0.6", "0.8"]],
        "position": [["0", "1", "0", "1"], ["0.8", "0.5", "0.1", "1"], ["0.9", "-0.4", "0.2", "1"]],
        "x": [["0.8", "1.3", "-0.2", "1.5"], ["1.2", "1.1", "0.8", "0.7"], ["1.4", "-0.8", "0.8", "1.8"]],
        "w_q1": [["0.2", "0.3"], ["0.1", "0.4"], ["0.3", "0.2"], ["0.4", "0.1"]],
        "q1": [["0.83", "0.87"], ["0.87", "1.03"]],
        "k1": [["0.73", "1.31"], ["0.93", "1.15"]],
        "v1": [["1.37", "0.79"], ["1.19", "0.95"]],
        "scaled1": [["1.235", "1.254"], ["1.403", "1.410"]],
        "weights1": [["1", "0"], ["0.498", "0.502"]],
        "mixed1": [["1.370", "0.790"], ["1.279", "0.870"]],
        "q2": [["0.81", "0.93"], ["1.02", "0.89"]],
        "k2": [["0.95", "1.28"], ["1.08", "1.03"]],
        "v2": [["1.28", "0.92"], ["1.15", "1.07"]],
        "weights2": [["1", "0"], ["0.503", "0.497"]],
        "mixed2": [["1.280", "0.920"], ["1.215", "0.994"]],
        "joined": [["1.370", "0.790", "1.280", "0.920"], ["1.279", "0.870", "1.215", "0.994"]],
        "output": [["0.939", "1.082", "0.873", "1.011"], ["0.921", "1.054", "0.856", "0.989"]],
        "logits": [[], ["0.933", "1.002", "0.919", "1.272", "0.933"]],
        "chances": [[], ["0.183", "0.196", "0.181", "0.257", "0.183"]],
    },
}
"""By example and block, as published; an empty row where nothing was."""
MISPRINTED = {
    "scaled1:0:0": "1.234",
    "scaled1:0:1": "1.253",
    "mixed1:1:0": "1.280",
    "joined:1:0": "1.280",
    "weights2:1:0": "0.516",
    "weights2:1:1": "0.484",
    "mixed2:1:0": "1.217",
    "mixed2:1:1": "0.993",
    "joined:1:2": "1.217",
    "joined:1:3": "0.993",
}
"""What the numbers beside it give, in example B."""


@pytest.fixture
def by_hand(new_page: Callable[..., Page], server: Server) -> Callable[..., Page]:
    """Opens an example once the engine has worked it out."""

    def open_it(address: str = "by-hand/a", **options: Any) -> Page:
        page = new_page(**options)
        page.goto(f"{server.url}{address}")
        expect(page.get_by_role("region", name="Calculation")).to_be_visible()
        return page

    return open_it


def cell(page: Page, name: str) -> Locator:
    return page.locator(f'[data-cell="{name}"]').first


def shown(page: Page) -> dict[str, str]:
    """What stands in each cell."""
    read = """all => Object.fromEntries(
      all.map((each) => [each.dataset.cell, each.localName === "input" ? each.value : each.textContent]))"""
    found: dict[str, str] = page.locator("[data-cell]").evaluate_all(read)
    return {name: text.replace("−", "-") for name, text in found.items()}


def same(shown_text: str, printed: str) -> bool:
    """At the precision of what was printed."""
    decimals = len(printed.partition(".")[2])
    return f"{float(shown_text):.{max(decimals, 0)}f}" == f"{float(printed):.{decimals}f}"


@pytest.mark.parametrize("example", PRINTED)
def test_every_published_number_is_shown_or_named_as_a_misprint(by_hand: Callable[..., Page], example: str) -> None:
    page = by_hand(f"by-hand/{example}")
    there = shown(page)
    wrong = {
        f"{block}:{row}:{column}": printed
        for block, rows in PRINTED[example].items()
        for row, numbers in enumerate(rows)
        for column, printed in enumerate(numbers)
        if not same(there[f"{block}:{row}:{column}"], printed)
    }
    assert {name: there[name] for name in wrong} == (MISPRINTED if example == "b" else {})
    for name, printed in wrong.items():
        cell(page, name).click()
        expect(page.get_by_text(f"Published as {printed}.")).to_be_visible()


def test_a_number_opens_its_calculation_and_arrow_keys_select_its_neighbours(by_hand: Callable[..., Page]) -> None:
    page = by_hand("by-hand/a?cell=weights1:2:1")
    calculation = page.get_by_role("region", name="Calculation")
    heading = calculation.get_by_role("heading", level=2)
    expect(heading).to_contain_text("Attention weight from “sat” to “cat”: 0.248")
    cell(page, "weights1:2:1").focus()
    page.keyboard.press("ArrowRight")
    expect(heading).to_contain_text("Attention weight from “sat” to “sat”: 0.503")
    page.keyboard.press("ArrowDown")
    expect(heading).to_contain_text("Attention weight from “new” to “sat”: 0.322")
    cell(page, "weights1:2:1").click()
    expect(calculation).to_contain_text("2.028")
    expect(calculation).to_contain_text("8.169")
    calculation.get_by_role("button", name="Score from “sat” to “cat”: 1.000").last.click()
    expect(heading).to_contain_text("Score from “sat” to “cat”: 1.000")
    expect(page).to_have_url(re.compile("cell=scores1:2:1"))
    field = page.get_by_role("textbox", name="X of “new”, number 1")
    field.focus()
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("0.6")


def test_a_typed_number_is_computed_marked_written_to_the_address_and_undone(
    by_hand: Callable[..., Page], complaints: Complaints
) -> None:
    page = by_hand()
    before = shown(page)
    field = page.get_by_role("textbox", name="W_V, row 2, column 1")
    field.fill("2.5")
    expect(page).to_have_url(re.compile(re.escape("w_v1=1,1;2.5,-1")))
    expect(cell(page, "mixed1:3:0")).not_to_have_text(before["mixed1:3:0"])
    after = shown(page)
    changed = {name.partition(":")[0] for name in after if after[name] != before[name]}
    assert changed == {"w_v1", "v1", "again1", "mixed1"}
    marked = page.locator(".is-changed").evaluate_all("all => all.map((each) => each.dataset.cell)")
    assert {name.partition(":")[0] for name in marked} == changed
    page.reload()
    expect(cell(page, "mixed1:3:0")).to_have_text(after["mixed1:3:0"])
    page.get_by_role("textbox", name="W_V, row 1, column 1").fill("-3")
    expect(cell(page, "v1:0:0")).to_have_text("−3.000")
    page.get_by_role("button", name="Undo").click()
    expect(cell(page, "v1:0:0")).to_have_text("1.000")
    page.get_by_role("button", name="Reset").click()
    expect(cell(page, "mixed1:3:0")).to_have_text(before["mixed1:3:0"].replace("-", "−"))
    assert shown(page) == before
    expect(page).not_to_have_url(re.compile("w_v1="))

    complaints.allow("422")
    for typed, given in (("abc", "“abc”"), ("", "“”"), ("1001", "1001")):
        field.fill(typed)
        field.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(f"W_V, row 2, column 1: w_v1 contains {given}; it must be")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_value(typed)
    assert {**shown(page), "w_v1:1:0": ""} == {**before, "w_v1:1:0": ""}
    field.press("Escape")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.goto(page.url.partition("?")[0] + "?w_v1=1,1;1,x")
    expect(page.get_by_role("alert")).to_contain_text("w_v1 contains “x”; it must be")
    expect(cell(page, "mixed1:3:0")).to_have_text("1.322")


def test_tokens_and_temperature_are_inputs_too_and_the_pages_lead_to_each_other(
    by_hand: Callable[..., Page], complaints: Complaints, server: Server
) -> None:
    page = by_hand("by-hand/b")
    page.get_by_role("combobox", name="Token 2").select_option("AI")
    expect(cell(page, "x:1:0")).to_have_text("1.300")
    page.get_by_role("button", name="Reset").click()
    expect(cell(page, "x:1:0")).to_have_text("1.200")
    page.get_by_role("textbox", name="Temperature").fill("0.5")
    page.keyboard.press("Enter")
    expect(cell(page, "cooled:1:3")).to_have_text("2.544")
    page.get_by_role("textbox", name="Temperature").fill("0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("temperature is 0;")
    expect(cell(page, "cooled:1:3")).to_have_text("2.544")
    complaints.allow("422")
    page = by_hand()
    page.get_by_role("link", name=re.compile("The same picture in a real model: layer 13, head 8")).click()
    expect(page.get_by_role("group", name="Shared run")).to_be_visible()


def test_a_hidden_number_is_shown_only_after_a_right_answer(by_hand: Callable[..., Page]) -> None:
    page = by_hand("by-hand/a?step=decode&predict=0")
    card = page.get_by_role("region", name="Predict it")
    expect(cell(page, "weights1:3:2")).to_have_text("?")
    card.get_by_role("button", name="Hint").first.click()
    expect(page.get_by_role("region", name="Calculation")).to_contain_text("= ?")
    assert "0.322" not in page.content()
    assert "1.322" not in page.content()
    guess = card.get_by_role("textbox", name="Attention weight from “new” to “sat”")
    for typed, said in (("0.4", "Not correct yet"), ("0,3225", "1 hidden number")):
        guess.fill(typed)
        guess.press("Enter")
        expect(card).to_contain_text(said)
    expect(cell(page, "weights1:3:2")).to_have_text("0.322")
    expect(cell(page, "mixed1:3:0")).to_have_text("?")
    card.get_by_role("button", name="Two other numbers").click()
    expect(cell(page, "mixed1:3:0")).to_have_text("1.322")
    expect(page.locator(".is-hidden")).to_have_count(2)


def test_the_worksheet_has_the_inputs_and_boxes_or_answers(by_hand: Callable[..., Page]) -> None:
    page = by_hand()
    page.evaluate("window.print = () => { window.printed = document.documentElement.dataset.worksheet; }")
    for sheet, filled in (("Print worksheet", False), ("Print with answers", True)):
        page.emulate_media(media="screen")
        if not page.get_by_role("button", name=sheet).is_visible():
            page.get_by_role("button", name="Share, print").click()
        page.get_by_role("button", name=sheet).click()
        kind = page.evaluate("window.printed")
        page.emulate_media(media="print")
        page.evaluate("(kind) => { document.documentElement.dataset.worksheet = kind; }", kind)
        expect(page.get_by_role("region", name="Calculation")).to_be_hidden()
        colour = "each => getComputedStyle(each).color === 'rgba(0, 0, 0, 0)'"
        assert [cell(page, name).evaluate(colour) for name in ("w_v1:1:1", "mixed1:3:0")] == [False, not filled]
        page.evaluate("delete document.documentElement.dataset.worksheet")


def test_the_page_waits_while_the_engine_starts(
    new_page: Callable[..., Page], server: Server, complaints: Complaints
) -> None:
    complaints.allow("503")
    page = new_page()
    problem = {"title": "Service Unavailable", "status": 503, "detail": "The model is loading."}
    page.route(
        "**/api/by-hand/a",
        lambda route: route.fulfill(status=503, json=problem, content_type="application/problem+json"),
    )
    page.goto(f"{server.url}by-hand/a")
    expect(page.get_by_text("The model is loading.")).to_be_visible()
    page.unroute("**/api/by-hand/a")
    expect(page.get_by_role("region", name="Calculation")).to_be_visible()
