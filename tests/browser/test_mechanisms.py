"""Two mechanisms opened: a row read tile by tile, a layer on several devices; each ends at the engine's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from kvscope.model.log import frames as codec
from tests.support.numbers import ROUNDING, number
from tests.support.screens import PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage

LAYER, HEAD, STEP = 13, 8, 3
TILES, DEVICES = "The same row, tile by tile", "The same layer on two devices"


def opened(stage: Stage, run: str, view: str) -> Locator:
    """The fold of a view, opened by keyboard, with what it shows."""
    stage.open(run, f"#step={STEP}&layer={LAYER}&head={HEAD}&view={view}").expect_step(STEP)
    inspector = stage.region("Inspector")
    name = TILES if view == "pair" else DEVICES
    summary = stage.page.get_by_text(name, exact=True)
    summary.focus()
    stage.page.keyboard.press("Enter")
    fold = inspector.get_by_role("group").filter(has=summary)
    end = "What is kept" if view == "pair" else "What crosses"
    expect(fold.get_by_text(end).first).to_be_visible(timeout=60_000)
    return fold


def position(stage: Stage, run: str) -> int:
    return len(stage.server.log(run).open["tokens"]) + STEP - 1


def answer(stage: Stage, run: str, path: str) -> dict[str, np.ndarray]:
    return codec.tensors(requests.get(f"{stage.server.url}api/runs/{run}/{path}", timeout=60).content)


def test_a_row_tile_by_tile_ends_at_the_engines_weights_and_output(stage: Stage, short_run: str) -> None:
    fold = opened(stage, short_run, "pair")
    head = answer(stage, short_run, f"head?step={STEP}&layer={LAYER}&head={HEAD}")
    keys = position(stage, short_run) + 1
    for size in (4, 8):
        fold.get_by_role("group", name="Keys in a tile").get_by_role("button", name=str(size), exact=True).click()
        tiles = -(-keys // size)
        expect(fold.get_by_role("status")).to_have_text(f"tile 1 of {tiles}")
        expect(fold.get_by_role("list", name="Tiles of keys").get_by_role("listitem")).to_have_count(tiles)
        assert fold.get_by_role("button", name="Previous").is_disabled()
        for tile in range(1, tiles):
            fold.get_by_role("button", name="Next").press("Enter")
            expect(fold.get_by_role("status")).to_have_text(f"tile {tile + 1} of {tiles}")
        rows = fold.get_by_role("row")
        weight = rows.filter(has_text="weight of key").get_by_role("cell").all_inner_texts()
        output = rows.filter(has_text="output, number").get_by_role("cell").all_inner_texts()
        largest = float(head["weights"][0].max())
        assert [number(each) for each in weight[:2]] == pytest.approx([largest, largest], abs=ROUNDING)
        told = float(head["output"][0][np.abs(head["output"][0]).argmax()])
        assert [number(each) for each in output[:2]] == pytest.approx([told, told], abs=ROUNDING)
        for said in (weight[2], output[2]):
            assert re.fullmatch(r"0|\d × 10⁻[⁶⁷⁸⁹]", said), said


def test_play_walks_to_the_last_tile_and_with_reduced_motion_there_is_none(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = Stage(new_page(reduced_motion="no-preference"), server)
    fold = opened(stage, short_run, "pair")
    fold.get_by_role("group", name="Keys in a tile").get_by_role("button", name="8", exact=True).click()
    fold.get_by_role("button", name="Play").click()
    expect(fold.get_by_text("All read")).to_be_visible()
    expect(fold.get_by_role("button", name="Play")).to_be_visible()
    still = opened(Stage(new_page(reduced_motion="reduce"), server), short_run, "pair")
    expect(still.get_by_role("button", name="Next")).to_be_visible()
    expect(still.get_by_role("button", name="Play")).to_have_count(0)


def test_the_devices_parts_add_up_to_the_engines_changes(stage: Stage, short_run: str) -> None:
    fold = opened(stage, short_run, "block")
    place = f"step={STEP}&layer={LAYER}&position={position(stage, short_run)}"
    block = answer(stage, short_run, f"block?{place}")
    held = fold.get_by_role("list", name="What each device holds").get_by_role("listitem")
    expect(held).to_have_count(2)
    expect(held.first).to_contain_text("KV heads 0–1, read by heads 0–5; 768 of the 1,536")
    for devices in (2, 3):
        fold.get_by_role("button", name=f"{devices} devices").click()
        expect(held).to_have_count(devices)
        shards = answer(stage, short_run, f"shards?{place}&devices={devices}")
        for half, name in (("attn", "Attention’s change"), ("mlp", "The MLP’s change")):
            part = fold.get_by_role("region", name=name)
            slider = part.get_by_role("slider")
            at = int(slider.get_attribute("aria-valuenow") or "")
            assert at == int(np.abs(block[f"{half}.change"]).argmax())
            slider.press("ArrowRight" if at + 1 < 576 else "ArrowLeft")
            at += 1 if at + 1 < 576 else -1
            shown = [number(each) for each in slider.locator(".number").all_inner_texts()]
            exact = [*shards[f"{half}.partials"][:, at], shards[f"{half}.sum"][at], block[f"{half}.change"][at]]
            np.testing.assert_allclose(shown, exact, rtol=0.006, atol=1e-5)
            assert abs(sum(exact[:devices]) - exact[-1]) < 1e-4
            expect(part).to_contain_text(re.compile(r"differ by \d × 10⁻[⁵⁶⁷⁸⁹] at most"))
    expect(fold).to_contain_text("576 numbers × 4 B × 4/3 = 3,072")


def test_a_cell_that_is_pointed_at_is_followed_through_all_devices(stage: Stage, short_run: str) -> None:
    fold = opened(stage, short_run, "block")
    part = fold.get_by_role("region", name="The MLP’s change")
    part.locator("canvas").first.hover(position={"x": 2, "y": 2})
    expect(part).to_contain_text("Number 0:")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("view", ["pair", "block"])
def test_opened_they_break_no_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, scheme: str, view: str
) -> None:
    stage = Stage(new_page(color_scheme=scheme, reduced_motion="reduce"), server)
    fold = opened(stage, short_run, view)
    assert violations(stage.page) == []
    if view == "pair":
        fold.get_by_role("button", name="16", exact=True).click()
        expect(fold.get_by_text("All read")).to_be_visible()
        assert violations(stage.page) == []


@pytest.mark.parametrize("view", ["pair", "block"])
def test_on_a_phone_they_are_no_wider_than_the_screen(
    new_page: Callable[..., Page], server: Server, short_run: str, view: str
) -> None:
    stage = Stage(new_page(**PHONE), server)
    fold = opened(stage, short_run, view)
    assert stage.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert fold.evaluate("fold => fold.scrollWidth <= fold.clientWidth")
