"""One layer opened for one row: what the page says of it is what the engine computes, down to the learned weights."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import requests
from playwright.sync_api import Locator, expect

from kvscope.model.log import frames as codec
from tests.support.block import rows_of, wait_for_values
from tests.support.complaints import Complaints
from tests.support.numbers import ROUNDING, number
from tests.support.pages import NewPage
from tests.support.screens import PHONE
from tests.support.stage import Stage, box_of, found_in

LAYER, STEP = 13, 2


def same(shown: str, value: float) -> bool:
    """Equal to the digits shown, but for the rounding of another pass."""
    digits = len(shown.partition(".")[2])
    return abs(number(shown) - value) <= 0.5 * 10**-digits + ROUNDING


def answer(stage: Stage, run: str, path: str) -> dict[str, Any]:
    return codec.tensors(requests.get(f"{stage.server.url}api/runs/{run}/{path}", timeout=60).content)


def position(stage: Stage, run: str) -> int:
    return len(stage.server.opened(run)["tokens"]) + STEP - 1


def block(stage: Stage, run: str, step: int, layer: int, position: int) -> dict[str, Any]:
    """Exact float32 values by hook point, from the engine."""
    return answer(stage, run, f"block?step={step}&layer={layer}&position={position}")


def opened(stage: Stage, run: str) -> Locator:
    """The layer with its exact values."""
    inspector = stage.at(run, STEP, "block")
    wait_for_values(stage)
    return inspector


def drawing(stage: Stage) -> Locator:
    return stage.region("Inspector").get_by_role("application", name=re.compile("^Arrow keys move between values"))


def said(walk: Locator) -> str:
    return str(walk.evaluate("e => document.getElementById(e.getAttribute('aria-describedby')).textContent"))


def test_tables_are_the_engines_float32_for_any_row_and_layer(stage: Stage, short_run: str) -> None:
    area = opened(stage, short_run)
    exact_values = block(stage, short_run, STEP, LAYER, position(stage, short_run))
    for tensor in ("attn.scores", "attn.weights", "attn.q_rot", "resid_mid", "mlp.hidden", "cache.k"):
        exact = exact_values[tensor]
        expected = exact.T if exact.ndim == 2 else exact.reshape(-1, exact.shape[2] if exact.ndim == 3 else 8)
        shown = rows_of(stage, tensor)
        assert len(shown) == len(expected), tensor
        for texts, values in zip(shown, expected, strict=True):
            equal = [same(text, float(value)) for text, value in zip(texts, values, strict=True)]
            assert all(equal), (tensor, texts, values)
    length = {name: float(np.linalg.norm(value)) for name, value in exact_values.items() if value.ndim == 1}
    changes = area.get_by_text("Attention changes the row by").inner_text()
    attention, mlp = (int(share) for share in re.findall(r"by (\d+)\s%", changes))
    assert abs(attention - 100 * length["attn.change"] / length["resid_in"]) <= 0.5
    assert abs(mlp - 100 * length["mlp.change"] / length["resid_mid"]) <= 0.5

    with stage.server.engine_asleep():
        stage.button("Open the layer above").click()
        expect(area.get_by_role("heading", level=2)).to_contain_text(f"Layer {LAYER + 1} of 30")
        expect(area).to_contain_text("Dashed: the model is computing these values.")
    wait_for_values(stage)
    above = block(stage, short_run, STEP, LAYER + 1, position(stage, short_run))
    assert same(rows_of(stage, "resid_in")[0][0], float(above["resid_in"][0]))
    area.get_by_label("Row", exact=True).select_option("8")
    expect(area).to_contain_text("Prefill: 11 rows, one per token, go through layer 14 at once")
    wait_for_values(stage)
    exact = block(stage, short_run, 0, LAYER + 1, 8)["attn.weights"]
    shown = rows_of(stage, "attn.weights")
    assert len(shown) == 9
    assert same(shown[1][8], float(exact[8, 1]))


def test_keys_and_pointer_tell_a_value_and_lead_to_its_arithmetic(stage: Stage, short_run: str) -> None:
    area = opened(stage, short_run)
    exact = block(stage, short_run, STEP, LAYER, position(stage, short_run))
    walk = drawing(stage)
    walk.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        stage.page.keyboard.press(key)
    found = found_in(said(walk), r"number (\d+) of 576; (\S+); the output of layer 12")
    assert int(found[1]) > 2
    assert same(found[2], float(exact["resid_in"][int(found[1])]))
    assert f"layer={LAYER}&" in stage.page.url, "the arrow keys are the cursor's while it walks"

    box = box_of(area.get_by_role("button", name=re.compile("^Head 7 looks most at")))
    for left in (14, 16):
        stage.page.mouse.move(box["x"] - left, box["y"] + box["height"] / 2)
    key = found_in(area.get_by_text(re.compile(r"^key at position \d+")).inner_text(), r"position (\d+)")
    weight = found_in(area.get_by_text(re.compile(r"^weight \d\.\d+")).inner_text(), r"weight (\S+)")
    scores = exact["attn.scores"][7]
    assert same(weight[1], float(exact["attn.weights"][7, int(key[1])]))
    softmax = area.get_by_text(re.compile("^softmax: exp")).inner_text()
    score, largest, total = re.findall(r"[\d.\u2212]*\d\.\d+", softmax)
    assert same(score, float(scores[int(key[1])]))
    assert same(largest, float(scores.max()))
    assert same(total, float(np.exp(scores - scores.max()).sum()))
    stage.page.mouse.down()
    stage.page.mouse.up()
    stage.page.wait_for_url(re.compile(rf"head=7&query=\d+&key={key[1]}&view=pair"))
    stage.page.keyboard.press("-")
    stage.page.keyboard.press("-")
    area.get_by_role("button", name="Open head 3").press("Enter")
    stage.page.wait_for_url(re.compile("head=3&.*view=head"))


def test_a_number_opens_to_the_weights_that_made_it(stage: Stage, short_run: str, complaints: Complaints) -> None:
    area = opened(stage, short_run)
    exact = block(stage, short_run, STEP, LAYER, position(stage, short_run))
    shown, walk = area.get_by_role("region", name="Opened number"), drawing(stage)
    for _ in range(80):
        walk.press("PageDown")
        if said(walk).startswith("Attention’s change"):
            break
    walk.press("Enter")
    expect(shown).to_contain_text("576 terms add up to")
    row = answer(stage, short_run, f"weights?layer={LAYER}&of=attn.out&index=0")["row"]
    by_head = (exact["attn.mixed"].reshape(-1) * row).reshape(exact["attn.mixed"].shape).sum(1)
    heads = shown.get_by_role("list", name="What each head adds").get_by_role("listitem").all_inner_texts()
    told = [number(text.split()[-1].replace("+", "").removeprefix(f"h{head}")) for head, text in enumerate(heads)]
    np.testing.assert_allclose(told, by_head, rtol=0.01, atol=1e-4)
    assert abs(sum(told) - exact["attn.change"][0]) < 0.01
    shown.get_by_role("button", name="See all of W_O").click()
    expect(shown.get_by_role("img", name=re.compile("^W_O: 576 rows of 576 weights"))).to_be_visible()
    shown.get_by_role("button", name="Close").click()
    expect(shown).to_be_hidden()

    opened(stage, short_run)
    stage.page.reload()
    wait_for_values(stage)
    walk.press("PageDown")
    walk.press("Enter")
    weight = float(answer(stage, short_run, f"weights?layer={LAYER}&of=attn.norm&index=0")["row"][0])
    expect(shown).to_contain_text("the model computed")
    numbers = [number(each) for each in shown.locator("tbody .number").all_inner_texts()]
    assert any(abs(each - weight) <= 0.01 * abs(weight) for each in numbers)
    shown.get_by_role("button", name=re.compile("^x, .*: open$")).press("Enter")
    shown.get_by_role("button", name="Open layer 12, which computed it").click()
    stage.page.wait_for_url(re.compile("layer=12&"))
    complaints.allow("weights")
    stage.page.route("**/weights?*", lambda route: route.abort())
    stage.page.reload()
    wait_for_values(stage)
    walk.press("PageDown")
    walk.press("Enter")
    expect(shown).to_contain_text(re.compile("The weights come|did not give the weights"))


def test_the_devices_parts_add_up_to_the_engines_changes(stage: Stage, short_run: str) -> None:
    area = opened(stage, short_run)
    summary = stage.page.get_by_text("The same layer on two devices", exact=True)
    summary.click()
    fold = area.get_by_role("group").filter(has=summary)
    place = f"step={STEP}&layer={LAYER}&position={position(stage, short_run)}"
    exact_values = answer(stage, short_run, f"block?{place}")
    for devices in (2, 3):
        fold.get_by_role("button", name=f"{devices} devices").click()
        held = fold.get_by_role("list", name="What each device holds").get_by_role("listitem")
        expect(held).to_have_count(devices)
        shards = answer(stage, short_run, f"shards?{place}&devices={devices}")
        for half, name in (("attn", "Attention’s change"), ("mlp", "The MLP’s change")):
            part = fold.get_by_role("region", name=name)
            slider = part.get_by_role("slider")
            at = int(slider.get_attribute("aria-valuenow") or "")
            assert at == int(np.abs(exact_values[f"{half}.change"]).argmax())
            shown = [number(each) for each in slider.locator(".number").all_inner_texts()]
            change = exact_values[f"{half}.change"][at]
            exact = [*shards[f"{half}.partials"][:, at], shards[f"{half}.sum"][at], change]
            np.testing.assert_allclose(shown, exact, rtol=0.006, atol=1e-5)
            assert abs(sum(exact[:devices]) - change) < 1e-4
    part.locator("canvas").first.hover(position={"x": 2, "y": 2})
    expect(part).to_contain_text("Number 0:")


def test_what_the_heads_add_is_their_outputs_times_w_o_and_sums_up_to_the_change(stage: Stage, short_run: str) -> None:
    area = opened(stage, short_run)
    summary = stage.page.get_by_text("What each head adds, and their sum", exact=True)
    summary.click()
    fold = area.get_by_role("group").filter(has=summary)
    fold.get_by_role("button", name="h2", exact=True).click()
    expect(fold.get_by_role("heading", name="What head 2 adds")).to_contain_text("columns 128–191 of W_O, [576 × 64]")
    place = f"step={STEP}&layer={LAYER}&position={position(stage, short_run)}"
    values = answer(stage, short_run, f"block?{place}")
    slider = fold.get_by_role("slider")
    at = int(slider.get_attribute("aria-valuenow") or "")
    w_o = answer(stage, short_run, f"weights?layer={LAYER}&of=attn.out&index={at}")["row"].reshape(9, 64)
    each = (w_o * values["attn.mixed"]).sum(axis=1)
    shown = [number(text) for text in slider.locator(".number").all_inner_texts()]
    np.testing.assert_allclose(shown, [*each, each.sum(), values["attn.change"][at]], rtol=0.006, atol=1e-5)
    expect(fold.get_by_role("region", name="Attention’s change, head by head")).to_contain_text(
        re.compile(r"the largest difference between the sum and the model’s own is [\d.]+ × 10⁻[⁶⁷]\.")
    )
    fold.get_by_role("button", name="See its columns of W_O").click()
    expect(fold.get_by_role("img", name="W_O: 576 rows of 64 weights")).to_be_visible()


def test_while_the_model_loads_the_logs_weights_are_shown(new_page: NewPage, stage: Stage, short_run: str) -> None:
    loading = {"state": "loading", "phase": "reading weights", "done": 1, "total": 2, "message": "Reading weights"}
    page = new_page(**PHONE)
    page.route("**/readyz", lambda route: route.fulfill(status=503, json=loading))
    early = Stage(page, stage.server)
    area = early.at(short_run, STEP, "block")
    expect(area).to_contain_text("The exact values come from the model, which is not ready")
    here, log = position(stage, short_run), stage.server.log(short_run)
    expected = [log.weight(LAYER, 4, here, key) for key in range(here + 1)]
    shown = [row[4] for row in rows_of(early, "attn.weights")]
    assert all(same(text, value) for text, value in zip(shown, expected, strict=True)), (shown, expected)
    heads = [area.get_by_role("button", name=f"Open head {head}", exact=True).bounding_box() for head in range(9)]
    tops = [box["y"] for box in heads if box]
    assert len(tops) == 9
    assert all(later - earlier >= 24 for earlier, later in itertools.pairwise(tops)), "on a phone the flow goes down"
