"""The computation in PyTorch, below the picture: its lines, the shapes of the step, and how each leads to the other."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.pages import NewPage
from tests.support.runs import carried, share
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, box_of
from tests.support.waiting import eventually

BLOCK = {"step": 3, "layer": 13, "head": 8, "view": "block"}


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="The computation in PyTorch")


def open_panel(page: Page, server: Server, run: str) -> Locator:
    place = "&".join(f"{name}={value}" for name, value in BLOCK.items())
    page.goto(f"{server.url}?run={run}#{place}&code=1")
    expect(panel(page)).to_be_visible()
    return panel(page)


def test_lines_have_the_shapes_of_the_step_and_of_prefill_beside_it(
    stage: Stage, server: Server, short_run: str
) -> None:
    code = open_panel(stage.page, server, short_run)
    expect(code).to_contain_text("cache.write(layer, batch.slots, k, v)")
    expect(code).to_contain_text("[1, 576]")
    code.get_by_role("button", name="Compare with prefill").click()
    expect(code).to_contain_text("[11, 576]")


def test_a_line_lights_its_tensor_and_closing_changes_the_address(stage: Stage, server: Server, short_run: str) -> None:
    page = stage.page
    code = open_panel(page, server, short_run)
    code.get_by_role("button", name="find attn.scores").first.click()
    expect(page.locator("[data-lit='attn.scores']")).to_be_attached()
    code.get_by_role("button", name="Close").click()
    expect(code).not_to_be_visible()
    page.keyboard.press("c")
    expect(code).to_be_visible()


def test_without_the_model_the_shapes_are_those_of_the_log(
    new_page: NewPage, server: Server, tiny: Server, short_run: str
) -> None:
    """A server with another model shows a saved session of this one."""
    stored = carried(share(server, short_run).id, server, tiny)
    page = new_page()
    place = "&".join(f"{name}={value}" for name, value in BLOCK.items())
    page.goto(f"{tiny.url}s/{stored}#{place}&code=1")
    code = panel(page)
    expect(code).to_contain_text("computed from the sizes in the log")
    expect(code).to_contain_text("k [1, 3, 64] v [1, 3, 64] float32 768 + 768 B")
    code.get_by_role("button", name="Compare with prefill").click()
    expect(code).to_contain_text("[11, 3, 64]")


def in_sight(place: Locator, above: Locator) -> bool:
    """Whether all of a place is in the window and not covered by what begins below it."""
    box, edge = box_of(place), box_of(above)
    return box["y"] >= 0 and box["y"] + box["height"] <= edge["y"]


@pytest.fixture
def by_hand(new_page: NewPage, server: Server) -> NewPage:
    """Opens an example with the code at a cell."""

    def open_it(example: str, cell: str, **options: object) -> Page:
        page = new_page(**options)
        page.goto(f"{server.url}by-hand/{example}?cell={cell}&code=1")
        expect(panel(page)).to_contain_text("ran again for the shapes")
        return page

    return open_it


def test_by_hand_the_code_opens_at_the_operation_of_the_cell_with_the_sizes_of_the_example(
    by_hand: NewPage,
) -> None:
    page = by_hand("b", "weights2:2:0")
    lines = panel(page).locator(".is-definition")
    expect(lines).to_contain_text("self.weights(scores.softmax(dim=-1))")
    expect(lines).to_contain_text("[1, 2, 1, 1, 3]")
    panel(page).get_by_role("button", name="Compare with prefill").click()
    expect(lines).to_contain_text("[1, 2, 1, 2, 2]")
    page.locator('[data-cell="output:2:0"]').click()
    page.mouse.move(5, 5)
    expect(lines).to_contain_text("self.change(")
    expect(lines).to_contain_text("[1, 4]")


def test_by_hand_a_name_in_the_code_finds_its_matrix_and_a_matrix_its_line(by_hand: NewPage) -> None:
    page = by_hand("a", "q1:3:0")
    matrix = page.locator("figure.matrix[data-names~='attn.scores']").first
    assert matrix.evaluate("each => getComputedStyle(each).outlineStyle") == "none"
    panel(page).get_by_role("button", name="find attn.scores").first.click()
    expect(matrix).to_have_css("outline-style", "solid")
    page.locator('[data-cell="v1:3:0"]').click()
    expect(panel(page).locator(".is-definition").first).to_contain_text("self.v(")
    expect(matrix).not_to_have_css("outline-style", "solid")


def test_by_hand_a_key_and_the_address_open_and_close_the_code(by_hand: NewPage) -> None:
    page = by_hand("a", "q1:3:0")
    page.locator('[data-cell="q1:3:0"]').press("c")
    expect(panel(page)).not_to_be_visible()
    expect(page).to_have_url(re.compile("step=decode$"))
    page.get_by_role("button", name="Code", exact=True).click()
    expect(panel(page)).to_be_visible()
    expect(page).to_have_url(re.compile("&code=1$"))
    field = page.locator('input[data-cell="w_q1:0:0"]')
    field.press("c")
    expect(panel(page)).to_be_visible()


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_by_hand_the_panels_do_not_cover_the_matrix_of_the_cell(by_hand: NewPage, screen: dict[str, object]) -> None:
    page = by_hand("b", "scaled2:1:0", **screen)
    foot = page.locator(".by-hand-foot")
    for cell in ("scaled2:1:0", "logits:2:0"):
        page.locator(f'[data-cell="{cell}"]').evaluate("each => each.click()")
        matrix = page.locator("table", has=page.locator(f'[data-cell="{cell}"]'))
        expect(matrix.locator(".is-selected")).to_be_visible()
        eventually(lambda matrix=matrix: in_sight(matrix, foot), 10)


def test_in_a_narrow_lesson_the_picture_stays_in_sight_above_the_code(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 900, "height": 800})
    page.goto(f"{server.url}learn/test-one#2")
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Code", exact=True).click()
    expect(frame.get_by_role("region", name="The computation in PyTorch")).to_be_visible()
    picture, code = box_of(frame.locator(".view")), box_of(frame.locator(".code-dock"))
    assert code["y"] - picture["y"] > 200
    assert code["height"] > 200
