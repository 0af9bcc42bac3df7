"""The worked examples as read, changed, predicted, framed and printed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import Server

MISPRINTED = {
    "scaled1:0:0": ("1.234", "1.235"),
    "scaled1:0:1": ("1.253", "1.254"),
    "mixed1:1:0": ("1.280", "1.279"),
    "joined:1:0": ("1.280", "1.279"),
    "weights2:1:0": ("0.516", "0.503"),
    "weights2:1:1": ("0.484", "0.497"),
    "mixed2:1:0": ("1.217", "1.215"),
    "mixed2:1:1": ("0.993", "0.994"),
    "joined:1:2": ("1.217", "1.215"),
    "joined:1:3": ("0.993", "0.994"),
}
"""By cell of example B: what the numbers beside it give, and what was published. The other published numbers are the
engine's (tests/model/by_hand)."""


@pytest.fixture
def by_hand(new_page: NewPage, server: Server) -> NewPage:
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


def test_every_misprint_is_named_and_no_other_number_is(by_hand: NewPage) -> None:
    page = by_hand("by-hand/b")
    there = shown(page)
    assert {name: there[name] for name in MISPRINTED} == {name: given for name, (given, _) in MISPRINTED.items()}
    for name, (_, published) in MISPRINTED.items():
        cell(page, name).click()
        expect(page.get_by_text(f"Published as {published}.")).to_be_visible()
    for name in ("scaled1:1:0", "weights1:1:0", "output:1:0"):
        cell(page, name).click()
        expect(page.get_by_text("Published as")).to_have_count(0)


def test_a_number_opens_its_calculation_and_arrow_keys_select_its_neighbours(by_hand: NewPage) -> None:
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
    by_hand: NewPage, complaints: Complaints
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
    by_hand: NewPage, complaints: Complaints, server: Server
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


def test_a_hidden_number_is_shown_only_after_a_right_answer(by_hand: NewPage) -> None:
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


def test_the_worksheet_has_the_inputs_and_boxes_or_answers(by_hand: NewPage) -> None:
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


def test_the_page_waits_while_the_engine_starts(new_page: NewPage, server: Server, complaints: Complaints) -> None:
    complaints.allow("503")
    page = new_page()
    problem = {"title": "Service Unavailable", "status": 503, "detail": "The model is loading."}
    told = {"status": 503, "json": problem, "content_type": "application/problem+json"}
    page.route("**/api/by-hand/a", lambda route: route.fulfill(**told))
    page.goto(f"{server.url}by-hand/a")
    expect(page.get_by_text("The model is loading.")).to_be_visible()
    page.unroute("**/api/by-hand/a")
    expect(page.get_by_role("region", name="Calculation")).to_be_visible()
