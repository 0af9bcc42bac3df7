"""A number of a layer, opened: its terms are the engine's numbers times the model's weights, and add up."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from kvscope.model.log import frames as codec
from tests.support.block import wait_for_values
from tests.support.complaints import Complaints
from tests.support.numbers import number
from tests.support.screens import PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.waiting import eventually

LAYER, STEP = 13, 2


@pytest.fixture
def layer(stage: Stage, short_run: str) -> Stage:
    """A layer with its exact values."""
    return opened(stage, short_run)


def opened(stage: Stage, run: str) -> Stage:
    stage.open(run, f"#step={STEP}&layer={LAYER}&head=8&view=block").expect_step(STEP)
    wait_for_values(stage)
    return stage


def panel(stage: Stage) -> Locator:
    return stage.region("Inspector").get_by_role("region", name="The number opened")


def walk_to(stage: Stage, vectors: int) -> None:
    """Open the first number of the vector that comes so many after the row that comes in."""
    stage.region("Inspector").get_by_role("application", name=re.compile("^Arrow keys walk")).focus()
    for _ in range(vectors):
        stage.page.keyboard.press("PageDown")
    stage.page.keyboard.press("Enter")
    expect(panel(stage)).to_be_visible()


def learned(stage: Stage, run: str, of: str, index: int) -> np.ndarray:
    path = f"api/runs/{run}/weights?layer={LAYER}&of={of}&index={index}"
    return codec.tensors(requests.get(stage.server.url + path, timeout=60).content)["row"]


def values(stage: Stage, run: str) -> dict[str, np.ndarray]:
    position = len(stage.server.log(run).open["tokens"]) + STEP - 1
    path = f"api/runs/{run}/block?step={STEP}&layer={LAYER}&position={position}"
    return codec.tensors(requests.get(stage.server.url + path, timeout=60).content)


def test_by_keyboard_from_a_number_to_the_weights_that_made_it_and_on(layer: Stage, short_run: str) -> None:
    exact = values(layer, short_run)
    walk_to(layer, 1)
    shown = panel(layer)
    expect(shown).to_contain_text("after the norm, number 0 of 576")
    expect(shown).to_contain_text("RMSNorm: over the token’s own row alone")
    weight = float(learned(layer, short_run, "attn.norm", 0)[0])
    expect(shown).to_contain_text("learned weight")
    told = [number(each) for each in shown.locator("td .number").all_inner_texts()]
    assert any(abs(each - weight) <= 0.01 * abs(weight) for each in told)
    expect(shown).to_contain_text("the model computed")
    x = shown.get_by_role("button", name=re.compile("^x, .*: open$"))
    told_x = re.search(r"^x, (\S+): open$", x.get_attribute("aria-label") or "")
    assert told_x
    assert abs(number(told_x[1]) - exact["resid_in"][0]) < 0.01 * abs(exact["resid_in"][0])
    x.press("Enter")
    expect(shown).to_contain_text("as layer 12 left it")
    shown.get_by_role("button", name="Layer 12, which made it").click()
    layer.page.wait_for_url(re.compile("layer=12&"))
    layer.page.keyboard.press("Escape")


def test_heads_are_seen_to_add_up_through_w_o(layer: Stage, short_run: str) -> None:
    exact = values(layer, short_run)
    drawing = layer.region("Inspector").get_by_role("application", name=re.compile("^Arrow keys walk"))
    drawing.focus()
    for _ in range(80):
        layer.page.keyboard.press("PageDown")
        told = drawing.evaluate("e => document.getElementById(e.getAttribute('aria-describedby')).textContent")
        if told.startswith("Attention's change"):
            break
    layer.page.keyboard.press("Enter")
    shown = panel(layer)
    expect(shown).to_contain_text("576 terms add up to")
    row = learned(layer, short_run, "attn.out", 0)
    by_head = (exact["attn.mixed"].reshape(-1) * row).reshape(exact["attn.mixed"].shape).sum(1)
    heads = shown.get_by_role("list", name="What each head adds").get_by_role("listitem").all_inner_texts()
    told_heads = [number(text.split()[-1].replace("+", "").removeprefix(f"h{head}")) for head, text in enumerate(heads)]
    np.testing.assert_allclose(told_heads, by_head, rtol=0.01, atol=1e-4)
    assert abs(sum(told_heads) - exact["attn.change"][0]) < 0.01
    expect(shown).to_contain_text("stored as [576 × 576] · float32 · 1,327,104")
    shown.get_by_role("button", name="See all of W_O").click()
    picture = shown.get_by_role("img", name=re.compile("^W_O: 576 rows of 576 weights"))
    expect(picture).to_be_visible()
    shades = "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, 576, 576).data).size"
    eventually(lambda: picture.evaluate(shades) > 50)  # it is painted after it has come
    expect(shown).to_contain_text("attn.change [576] · float32 · 2,304")


def test_while_the_weights_are_not_to_be_had_it_says_so(layer: Stage, complaints: Complaints) -> None:
    complaints.allow("weights")
    layer.page.route("**/weights?*", lambda route: route.abort())
    walk_to(layer, 1)
    expect(panel(layer)).to_contain_text(re.compile("Its weights come|did not give its weights"))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_opened_it_breaks_no_rule(new_page: Callable[..., Page], server: Server, short_run: str, scheme: str) -> None:
    stage = opened(Stage(new_page(color_scheme=scheme, reduced_motion="reduce"), server), short_run)
    walk_to(stage, 1)
    expect(panel(stage)).to_contain_text("the model computed")
    assert violations(stage.page) == []


def test_on_a_phone_a_tap_opens_a_number_and_nothing_scrolls_sideways(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = opened(Stage(new_page(**PHONE), server), short_run)
    walk_to(stage, 2)
    expect(panel(stage)).to_contain_text("the model computed")
    assert stage.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    panel(stage).get_by_role("button", name="Close").click()
    expect(panel(stage)).to_be_hidden()
