"""One layer opened for one row: what the page says of it is what the engine computes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import requests
from playwright.sync_api import Locator, Page, Route, expect

from kvscope.model.log import frames as codec
from tests.support.block import rows_of, wait_for_values
from tests.support.numbers import MINUS, ROUNDING, number
from tests.support.stage import Stage

LAYER, STEP = 13, 2
WALK = re.compile("^Arrow keys walk over the values")


def same(shown: str, value: float) -> bool:
    """Equal to the digits shown, but for the rounding of another pass."""
    digits = len(shown.partition(".")[2])
    return abs(number(shown) - value) <= 0.5 * 10**-digits + ROUNDING


def block(stage: Stage, run: str, step: int, layer: int, position: int) -> dict[str, Any]:
    """Exact float32 values by hook point, from the engine."""
    path = f"api/runs/{run}/block?step={step}&layer={layer}&position={position}"
    return codec.tensors(requests.get(stage.server.url + path, timeout=60).content)


def prompt_length(stage: Stage, run: str) -> int:
    return len(stage.server.log(run).open["tokens"])


def opened(stage: Stage, run: str, more: str = "") -> Stage:
    stage.open(run, f"#step={STEP}&layer={LAYER}&head=8&view=block{more}")
    stage.expect_step(STEP)
    return stage


def inspector(stage: Stage) -> Locator:
    return stage.region("Inspector")


def test_the_table_holds_the_engines_own_float32(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    wait_for_values(stage)
    position = prompt_length(stage, short_run) + STEP - 1
    exact_values = block(stage, short_run, STEP, LAYER, position)
    for tensor in ("attn.scores", "attn.weights", "attn.q_rot", "resid_mid", "mlp.hidden", "cache.k"):
        exact = exact_values[tensor]
        expected = exact.T if exact.ndim == 2 else exact.reshape(-1, exact.shape[2] if exact.ndim == 3 else 8)
        shown = rows_of(stage, tensor)
        assert len(shown) == len(expected), tensor
        for texts, values in zip(shown, expected, strict=True):
            assert len(texts) == len(values), tensor
            equal = [same(text, float(value)) for text, value in zip(texts, values, strict=True)]
            assert all(equal), (tensor, texts, values)


def test_a_walk_by_keyboard_tells_each_value_and_how_it_was_made(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    wait_for_values(stage)
    exact = block(stage, short_run, STEP, LAYER, prompt_length(stage, short_run) + STEP - 1)
    walk = inspector(stage).get_by_role("application", name=WALK)
    walk.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        stage.page.keyboard.press(key)
    told = walk.evaluate("e => document.getElementById(e.getAttribute('aria-describedby')).textContent")
    found = re.search(r"number (\d+) of 576; (\S+); as layer 12 left it", told)
    assert found, told
    assert int(found[1]) > 2
    assert same(found[2], float(exact["resid_in"][int(found[1])]))
    assert f"layer={LAYER}&" in stage.page.url, "the arrow keys are the cursor's while it walks"


def hover_weight(stage: Stage, head: int) -> re.Match[str]:
    """Point at a weight of a head, left of its strongest key's name; what the page says of it."""
    area = inspector(stage)
    name = area.get_by_role("button", name=re.compile(f"^Head {head} looks most at"))
    box = name.bounding_box()
    assert box is not None
    stage.page.mouse.move(box["x"] - 14, box["y"] + box["height"] / 2)
    stage.page.mouse.move(box["x"] - 16, box["y"] + box["height"] / 2)
    value = area.get_by_text(re.compile(r"^weight \d\.\d+"))
    expect(value).to_be_visible()
    key = area.get_by_text(re.compile(r"^key at position \d+")).inner_text()
    found = re.fullmatch(r"weight (\S+)\D+key at position (\d+).*", f"{value.inner_text()} {key}", re.DOTALL)
    assert found, (value.inner_text(), key)
    return found


def test_a_weight_under_the_pointer_is_the_engines_and_a_click_opens_its_arithmetic(
    stage: Stage, short_run: str
) -> None:
    opened(stage, short_run)
    wait_for_values(stage)
    exact = block(stage, short_run, STEP, LAYER, prompt_length(stage, short_run) + STEP - 1)
    found = hover_weight(stage, 7)
    key = int(found[2])
    assert same(found[1], float(exact["attn.weights"][7, key]))
    note = inspector(stage).get_by_text(re.compile(r"^softmax: exp")).inner_text()
    score, largest, total = re.findall(rf"[\d.{MINUS}]*\d\.\d+", note)
    scores = exact["attn.scores"][7]
    assert same(score, float(scores[key]))
    assert same(largest, float(scores.max()))
    assert same(total, float(np.exp(scores - scores.max()).sum()))
    stage.page.mouse.down()
    stage.page.mouse.up()
    stage.page.wait_for_url(re.compile(rf"head=7&query=\d+&key={key}&view=pair"))


def test_the_change_of_each_half_is_measured_against_its_row(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    wait_for_values(stage)
    exact = block(stage, short_run, STEP, LAYER, prompt_length(stage, short_run) + STEP - 1)
    length = {name: float(np.linalg.norm(value)) for name, value in exact.items() if value.ndim == 1}
    shown = inspector(stage).get_by_text("Attention changes the row by").inner_text()
    attention, mlp = (int(share) for share in re.findall(r"by (\d+)\s%", shown))
    assert abs(attention - 100 * length["attn.change"] / length["resid_in"]) <= 0.5
    assert abs(mlp - 100 * length["mlp.change"] / length["resid_mid"]) <= 0.5


def test_decode_reads_the_shelf_and_adds_one_column(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    there = prompt_length(stage, short_run) + STEP - 1
    area = inspector(stage)
    expect(area).to_contain_text(f"One query, {there + 1} keys")
    expect(area).to_contain_text(f"{there} columns of K and V reused, 1 computed")
    expect(area).to_contain_text(f"K: {there} read + 1 new")


def test_any_row_of_prefill_can_be_picked(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    area = inspector(stage)
    area.get_by_label("Row", exact=True).select_option("8")
    rows = prompt_length(stage, short_run)
    expect(area).to_contain_text(f"Prefill: {rows} rows go through layer {LAYER} at once")
    expect(area).to_contain_text(f"number 9 of {rows}. It may read itself and the 8 before it; the 2 after it are")
    expect(area).to_contain_text(f"[{rows} × 576]")
    wait_for_values(stage)
    exact = block(stage, short_run, 0, LAYER, 8)["attn.weights"]
    shown = rows_of(stage, "attn.weights")
    assert len(shown) == 9
    assert same(shown[1][8], float(exact[8, 1]))


def test_layers_are_walked_with_buttons_and_each_has_its_own_values(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    area = inspector(stage)
    area.get_by_role("button", name="Open the layer above").click()
    stage.page.wait_for_url(f"**layer={LAYER + 1}&**")
    expect(area.get_by_role("heading", name=re.compile(f"^Layer {LAYER + 1} "))).to_be_visible()
    wait_for_values(stage)
    exact = block(stage, short_run, STEP, LAYER + 1, prompt_length(stage, short_run) + STEP - 1)
    assert same(rows_of(stage, "resid_in")[0][0], float(exact["resid_in"][0]))
    stage.open(short_run, "#step=1&layer=0&view=block")
    expect(area.get_by_role("button", name="Open the layer below")).to_be_disabled()


def test_a_head_and_its_strongest_key_open_by_keyboard(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    area = inspector(stage)
    area.get_by_role("button", name="Open head 3").press("Enter")
    stage.page.wait_for_url(re.compile("head=3&.*view=head|head=3.*view=head"))
    stage.page.keyboard.press("-")
    strongest = area.get_by_role("button", name=re.compile("^Head 7 looks most at"))
    name = strongest.get_attribute("aria-label") or ""
    strongest.press("Enter")
    stage.page.wait_for_url(re.compile(r"head=7&query=\d+&key=\d+&view=pair"))
    query, key = (int(value) for value in re.findall(r"(?:query|key)=(\d+)", stage.page.url))
    shown = re.search(r"weight ([\d.]+)", name)
    assert shown
    weights = stage.server.log(short_run)
    assert abs(float(shown[1]) - weights.weight(LAYER, 7, query, key)) <= 0.01
    row = [weights.weight(LAYER, 7, query, other) for other in range(query + 1)]
    assert row[key] >= max(row) - 0.008


def test_while_the_model_loads_the_logs_weights_are_shown_and_said_to_be_that(
    new_page: Callable[..., Page], stage: Stage, short_run: str
) -> None:
    loading = {"state": "loading", "phase": "reading weights", "done": 1, "total": 2, "message": "Reading weights"}

    def answer(route: Route) -> None:
        route.fulfill(status=503, content_type="application/json", body=json.dumps(loading))

    page = new_page()
    page.route("**/readyz", answer)
    early = Stage(page, stage.server)
    opened(early, short_run)
    expect(inspector(early)).to_contain_text("The exact values come from the model, which is not ready")
    position = prompt_length(stage, short_run) + STEP - 1
    log = stage.server.log(short_run)
    expected = [log.weight(LAYER, 4, position, key) for key in range(position + 1)]
    shown = [row[4] for row in rows_of(early, "attn.weights")]
    assert all(same(text, value) for text, value in zip(shown, expected, strict=True)), (shown, expected)
    expect(inspector(early).get_by_text("Attention changes the row by")).to_have_count(0)


def test_on_a_phone_the_flow_goes_down_and_nothing_is_wider_than_the_page(
    new_page: Callable[..., Page], stage: Stage, short_run: str
) -> None:
    phone = Stage(new_page(viewport={"width": 390, "height": 844}, has_touch=True), stage.server)
    opened(phone, short_run)
    phone.button("Inspector").click()
    wait_for_values(phone)
    assert phone.overflow() == 0
    heads = [inspector(phone).get_by_role("button", name=f"Open head {head}", exact=True) for head in range(9)]
    boxes = [head.bounding_box() for head in heads]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) == 9
    assert all(later - earlier >= 24 for earlier, later in itertools.pairwise(tops))


def test_on_a_narrower_page_the_second_half_lies_under_the_first(stage: Stage, short_run: str) -> None:
    for width in (1024, 1440):
        stage.page.set_viewport_size({"width": width, "height": 900})
        opened(stage, short_run)
        names = inspector(stage).get_by_text(re.compile("^(Attention|MLP) half: "))
        expect(names).to_have_count(2)
        stage.rest()  # what is drawn has the width of the window that it was opened in
        drawn = stage.page.get_by_role("application", name=WALK).bounding_box()
        assert drawn is not None
        assert drawn["height"] < 1000, f"{width}: a column of {drawn['height']} px"
        tops = [name.bounding_box() for name in names.all()]
        assert (abs(tops[0]["y"] - tops[1]["y"]) < 2) == (width == 1440)  # type: ignore[index]


def test_the_drawing_never_has_values_of_another_layer_under_its_name(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    wait_for_values(stage)
    with stage.server.engine_asleep():
        stage.button("Open the layer above").click()
        expect(inspector(stage).get_by_role("heading", level=2)).to_contain_text(f"Layer {LAYER + 1} of 30")
        expect(inspector(stage)).to_contain_text("Dashed: the model is computing these values.")
    wait_for_values(stage)
    expect(inspector(stage)).to_contain_text("Point at any cell")
