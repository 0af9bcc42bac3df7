"""From the prompt to one product q_i·k_i: by keyboard alone, and every number on the way the engine's float32."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.support.numbers import ROUNDING, number
from tests.support.stage import CRUMBS, Stage, box_of, found_in

LAYER, HEAD, QUERY, KEY = 13, 8, 8, 1
CELL = f"&query={QUERY}&key={KEY}"
MOST_TABS = 80


def cells(row: Locator) -> list[str]:
    return [cell.inner_text().strip() for cell in row.get_by_role("cell").all()]


def shows(text: str, value: float, digits: int) -> bool:
    """Whether a written number is the value to the digits written, or the bound below which it lies."""
    if text.startswith(("<", ">")):
        return abs(value) < 10.0**-digits
    return abs(number(text) - value) <= 0.5 * 10.0**-digits + ROUNDING


def product_of(text: str) -> tuple[int, float, float, float]:
    """i, q_i, k_i and their product out of `i = 62: 4.06 × 3.25 = 13.17; …`."""
    found = re.match(r"i = (\d+): (\S+) × (\S+) = (\S+);", text)
    assert found, text
    return int(found[1]), number(found[2]), number(found[3]), number(found[4])


def told(slider: Locator) -> str:
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^i = "))
    return slider.get_attribute("aria-valuetext") or ""


def tab_to(stage: Stage, target: Locator) -> None:
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        stage.page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{target} cannot be reached with {MOST_TABS} tabs")


def walk_to(stage: Stage, query: int, key: int) -> None:
    """By the arrow keys; the matrix says where it is."""
    cell = stage.matrix.get_by_text(re.compile(r"^Query (\d+), .*; key (\d+), "))
    for _ in range(40):
        at = found_in(stage.painted().matrix.inner_text(), r"Query (\d+), .*key (\d+), ")
        if (int(at[1]), int(at[2])) == (query, key):
            return
        down = int(at[1]) < query
        row = int(at[1]) != query and ("ArrowDown" if down else "ArrowUp")
        text = cell.inner_text()
        stage.page.keyboard.press(row or ("ArrowLeft" if int(at[2]) > key else "ArrowRight"))
        expect(cell).not_to_have_text(text)
    raise AssertionError("the arrow keys do not lead there")


def test_from_the_prompt_to_one_product_without_a_mouse(stage: Stage) -> None:
    stage.open()
    press = stage.page.keyboard.press
    before = stage.run_id
    press("p")
    press("ControlOrMeta+a")
    stage.page.keyboard.type("The cat sat on the mat")
    tab_to(stage, stage.page.get_by_label("new tokens"))
    stage.page.keyboard.type("4")
    tab_to(stage, stage.button("Run"))
    press("Enter")
    expect(stage.page.locator(f"html:not([data-run='{before}'])")).to_be_attached(timeout=60_000)
    expect(stage.words.first).to_be_visible(timeout=60_000)
    tab_to(stage, stage.map)
    press("ArrowUp")
    press("ArrowRight")
    press("Enter")
    expect(stage.matrix).to_be_focused()
    expect(stage.page.locator("html[data-state=done]")).to_be_attached(timeout=60_000)
    press("ArrowUp")
    walk_to(stage, 4, 2)
    press("Enter")
    stage.page.wait_for_url(re.compile("query=4&key=2&view=pair"))
    layer, head = (int(re.findall(rf"{name}=(\d+)", stage.page.url)[0]) for name in ("layer", "head"))
    values = stage.server.head(stage.run_id, 0, layer, head)
    terms = stage.region("Inspector").get_by_role("slider", name="Term of the dot product")
    expect(terms).to_be_focused()
    told(terms)
    press("Home")
    press("ArrowRight")
    expect(terms).to_have_attribute("aria-valuetext", re.compile("^i = 1: "))
    index, q, k, product = product_of(told(terms))
    assert abs(q - values["q"][4, index]) <= 0.0051
    assert abs(k - values["k"][2, index]) <= 0.0051
    assert abs(product - float(values["q"][4, index]) * float(values["k"][2, index])) <= 0.0051
    press("Escape")
    expect(stage.matrix).to_be_focused()
    press("+")
    expect(terms).to_be_focused()
    press("-")
    expect(stage.matrix).to_be_focused()


def test_a_pairs_numbers_are_the_engines_from_its_products_to_the_heads_output(stage: Stage, short_run: str) -> None:
    region = stage.at(short_run, 3, "pair", more=CELL)
    exact = {name: value.astype(np.float64) for name, value in stage.server.head(short_run, 0, LAYER, HEAD).items()}
    q, k, v = exact["q"][QUERY], exact["k"][KEY], exact["v"]
    scores, weights = (exact[name][QUERY, : QUERY + 1] for name in ("scores", "weights"))
    terms, products = region.get_by_role("slider", name="Term of the dot product"), q * k
    told(terms)
    terms.press("Home")
    for i in range(len(products)):
        expect(terms).to_have_attribute("aria-valuetext", re.compile(f"^i = {i}: "))
        said = told(terms)
        for shown, value in zip(product_of(said), (i, q[i], k[i], products[i]), strict=True):
            assert abs(shown - value) <= 0.0051, said
        assert abs(number(said.split("running sum ")[1]) - products[: i + 1].sum()) <= 0.0051
        terms.press("ArrowRight")
    line = " ".join(region.get_by_text("→ score").inner_text().split())
    scaled = found_in(line, r"= (\S+), ÷ √64 = ÷ 8 → score (\S+)")
    assert abs(number(scaled[1]) - products.sum()) <= 0.0051
    assert abs(number(scaled[2]) - scores[KEY]) <= 0.0051
    stage.button("Largest first").click()
    terms.press("Home")
    for i in np.argsort(-np.abs(products))[:4]:
        expect(terms).to_have_attribute("aria-valuetext", re.compile(f"^i = {i}: "))
        terms.press("ArrowRight")

    rows = region.get_by_role("region", name="Softmax and weighted sum").get_by_role("row")
    powers = np.exp(scores - scores.max())
    dimension = region.get_by_role("slider", name="Dimension of the output")
    for key in ("Home", "End"):
        dimension.press(key)
        i = int(told(dimension).split(":")[0].removeprefix("i = "))
        expect(rows.first).to_contain_text(f"v[{i}]")
        for position, row in enumerate(rows.all()[1 : QUERY + 2]):
            score, power, weight, value, part = cells(row)
            assert shows(score, scores[position], 2)
            assert shows(power, powers[position], 3)
            assert shows(weight, weights[position], 3)
            assert shows(value, v[position, i], 3)
            assert shows(part, weights[position] * v[position, i], 4)
            expect(row.get_by_role("button")).to_have_attribute("aria-pressed", str(position == KEY).lower())
        _, power, weight, *_, output = cells(rows.last)
        assert shows(power, powers.sum(), 3)
        assert weight == "1.000"
        assert shows(output, exact["output"][QUERY, i], 4)
    rows.nth(1).get_by_role("button").click()
    stage.page.wait_for_url(re.compile("query=8&key=0&view=pair"))
    told_so = f"gives {weights[0] * 100:.1f}\u202f% of its attention to “The”"
    expect(region.get_by_role("heading", level=2)).to_contain_text(told_so)


def test_a_row_tile_by_tile_ends_at_the_engines_weights_and_output(stage: Stage, short_run: str) -> None:
    region = stage.at(short_run, 3, "pair")
    summary = stage.page.get_by_text("The same row, tile by tile", exact=True)
    summary.focus()
    stage.page.keyboard.press("Enter")
    fold = region.get_by_role("group").filter(has=summary)
    expect(fold.get_by_text("Running values").first).to_be_visible()
    head = stage.server.head(short_run, 3, LAYER, HEAD)
    keys = len(stage.server.opened(short_run)["tokens"]) + 3
    size, tiles = 4, -(-keys // 4)
    fold.get_by_role("group", name="Keys in a tile").get_by_role("button", name=str(size), exact=True).click()
    expect(fold.get_by_role("list", name="Tiles of keys").get_by_role("listitem")).to_have_count(tiles)
    assert fold.get_by_role("button", name="Previous").is_disabled()
    for tile in range(1, tiles):
        fold.get_by_role("button", name="Next").press("Enter")
        expect(fold.get_by_role("status")).to_have_text(f"tile {tile + 1} of {tiles}")
    largest = float(head["weights"][0].max())
    output = float(head["output"][0][np.abs(head["output"][0]).argmax()])
    for name, exact in (("weight of key", largest), ("output[", output)):
        tiled, whole, differ = cells(fold.get_by_role("row").filter(has_text=name))
        assert [number(tiled), number(whole)] == pytest.approx([exact, exact], abs=ROUNDING)
        assert re.fullmatch(r"0|\d × 10⁻[⁶⁷⁸⁹]", differ), differ
    fold.get_by_role("button", name="Play").click()
    expect(fold.get_by_text("All tiles read")).to_be_visible()
    for picture in fold.get_by_role("img").all():
        box, drawn = box_of(picture), box_of(picture.locator("canvas"))
        assert box["y"] <= drawn["y"] < box["y"] + box["height"], "a picture is drawn where it stands"


def point_low_and_left(cells: Locator) -> None:
    """At a cell that no mask hides: an early key of a late query."""
    box = box_of(cells)
    cells.hover(position={"x": box["width"] * 0.25, "y": box["height"] * 0.6})


def test_a_cell_is_told_chosen_computed_locked_and_let_go(stage: Stage, short_run: str) -> None:
    region = stage.at(short_run, 4, "head", head=2)
    log = stage.server.log(short_run)
    before = stage.rest().matrix.bounding_box()
    point_low_and_left(stage.matrix)
    found = found_in(stage.matrix.get_by_text(re.compile(r"^query \d+, key")).inner_text(), r"query (\d+), key (\d+)")
    query, key = int(found[1]), int(found[2])
    expect(stage.matrix).to_contain_text(f"weight {log.weight(LAYER, 2, query, key):.3f} ± 0.004")
    stage.page.mouse.down()
    stage.page.mouse.up()
    stage.page.wait_for_url(re.compile(f"query={query}&key={key}"))
    line = region.get_by_text("softmax over")
    expect(line).to_contain_text(f"softmax over {query + 1} keys")
    assert stage.rest().matrix.bounding_box() == before, "a cell that is clicked stays under the pointer"
    shown = found_in(" ".join(line.inner_text().split()), r"= (\S+) ÷ √64 = (\S+) → softmax over (\d+) keys → (\S+)")
    step = max(0, query - len(log.open["tokens"]) + 1)
    values, row = stage.server.head(short_run, step, LAYER, 2), query if step == 0 else 0
    dot = float(values["q"][row].astype(np.float64) @ values["k"][key].astype(np.float64))
    assert abs(number(shown[1]) - dot) <= 0.0051
    assert abs(number(shown[2]) - float(values["scores"][row, key])) <= 0.0051
    assert abs(number(shown[4]) - float(values["weights"][row, key])) <= 0.00051

    stage.slider.fill("2")
    stage.expect_step(2)
    expect(region).to_contain_text("Locked:")
    stage.button("Unlock").click()
    heading = region.get_by_role("heading", level=2)
    for step in (2, 4):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        newest = log.tokens[len(log.open["tokens"]) + step - 1]["text"].strip()
        expect(heading).to_contain_text(f"“{newest}” looks")
    expect(region).not_to_contain_text("Locked:")


def test_heads_are_pictures_that_lead_there_and_a_locked_link_names_the_strongest(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    places = [(layer, head) for layer in range(30) for head in range(9)]
    strongest = max(places, key=lambda place: log.weight(*place, QUERY, KEY))
    region = stage.at(short_run, 3, "head", layer=12, more=CELL)
    layer, head = strongest
    expect(region).to_contain_text(f"largest weight here: layer {layer}, head {head}")
    region.get_by_role("button", name=f"layer {layer}, head {head}", exact=True).click()
    expect(region).to_contain_text("largest weight here: this head")
    shared = region.get_by_role("region", name="Heads that share K and V")
    stage.painted()
    pictures = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in shared.locator("canvas").all()]
    assert len(set(pictures)) == len(pictures) == 9
    shared.get_by_role("button", name="Head 6, reads KV head 2").click()
    stage.page.wait_for_url(re.compile("head=6&"))
    stage.button("4 more keys ▸").click()
    expect(region.get_by_role("slider", name="Term of the dot product")).to_be_focused()
    tabs = stage.page.get_by_role("navigation", name="Zoom").get_by_role("button")
    # After them comes the button of the code.
    for view, tab in zip(CRUMBS, tabs.all()[: len(CRUMBS)], strict=True):
        tab.click()
        stage.expect_view(view)
    tabs.nth(2).click()
    stage.rest()
    token = region.get_by_role("table", name=re.compile("^Where")).locator("bdi").first
    token.scroll_into_view_if_needed()
    box = box_of(token)
    stage.page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    stage.page.mouse.down()
    stage.page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=5)
    stage.page.mouse.up()
    assert stage.page.evaluate("getSelection().toString()") == token.inner_text(), "text is selected, not pressed"


def test_no_name_of_a_key_lies_on_the_bars(stage: Stage, short_run: str) -> None:
    for width, height in ((1440, 900), (720, 700), (390, 844)):
        stage.page.set_viewport_size({"width": width, "height": height})
        region = stage.at(short_run, 3, "head", more=CELL)
        stage.rest()
        looks = box_of(region.get_by_role("table", name=re.compile("^Where")))
        names = [box_of(text) for text in stage.matrix.locator("text").all()]
        assert len(names) > 10
        for name in names:
            beside = name["x"] + name["width"] <= looks["x"] + 1 or name["x"] >= looks["x"] + looks["width"] - 1
            over = name["y"] + name["height"] <= looks["y"] + 1 or name["y"] >= looks["y"] + looks["height"] - 1
            assert beside or over, f"{width}: a key's name lies on the bars"


NOTE_MOTIONS = """() => {
  window.motions = [];
  const { animate } = Element.prototype;
  Element.prototype.animate = function (frames, options) {
    window.motions.push({ of: this.className, frames, ms: options.duration });
    return animate.call(this, frames, options);
  };
}"""


@pytest.mark.parametrize("still", [False, True], ids=["moving", "reduced motion"])
def test_a_view_grows_from_what_was_pressed_and_shrinks_back_to_it(stage: Stage, short_run: str, still: bool) -> None:
    stage.page.emulate_media(reduced_motion="reduce" if still else "no-preference")
    region = stage.at(short_run, 3, "block")
    stage.rest()
    stage.page.evaluate(NOTE_MOTIONS)
    head = region.get_by_text("h6", exact=True).first
    place = box_of(head)
    head.click()
    stage.expect_view("head")
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("Escape")
    stage.expect_view("block")
    expect(stage.page.locator(".zoom-frame")).to_have_count(0)
    motions = stage.page.evaluate("window.motions")
    stage.page.emulate_media(reduced_motion=None)
    if still:
        assert motions == []
        return
    grown, shrunk = [motion for motion in motions if motion["of"] == "zoom-frame"]
    assert all(motion["ms"] <= 300 for motion in motions)
    assert (grown["frames"][1]["transform"], shrunk["frames"][0]["transform"]) == ("none", "none")
    panel = box_of(region.locator(".view"))
    moved = found_in(shrunk["frames"][1]["transform"], r"translate\((\S+)px, (\S+)px\)")
    assert panel["x"] + number(moved[1]) == pytest.approx(place["x"], abs=20)
    assert panel["y"] + number(moved[2]) == pytest.approx(place["y"], abs=20)
