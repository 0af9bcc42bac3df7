"""From the prompt to one product q_i·k_i: by keyboard alone, and every number on the way the engine's float32."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from playwright.sync_api import Locator, expect

from tests.support.numbers import ROUNDING, number
from tests.support.stage import Stage

LAYER, HEAD, QUERY, KEY = 13, 8, 8, 1
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


class Pair:
    """The innermost zoom: its parts by name, and the float32 it must show."""

    def __init__(self, stage: Stage, run: str, query: int = QUERY, key: int = KEY) -> None:
        self.region = stage.region("Inspector")
        values = stage.server.head(run, 0, LAYER, HEAD)
        self.query, self.key = query, key
        self.q, self.k = values["q"][query].astype(np.float64), values["k"][key].astype(np.float64)
        self.v = values["v"].astype(np.float64)
        self.scores = values["scores"][query, : query + 1].astype(np.float64)
        self.weights = values["weights"][query, : query + 1].astype(np.float64)
        self.output = values["output"][query].astype(np.float64)

    @property
    def terms(self) -> Locator:
        return self.region.get_by_role("slider", name="Term of the dot product")

    @property
    def dimension(self) -> Locator:
        return self.region.get_by_role("slider", name="Number of the output")

    @property
    def rows(self) -> Locator:
        return self.region.get_by_role("row")

    def told(self, slider: Locator) -> str:
        expect(slider).to_have_attribute("aria-valuetext", re.compile("^i = "))
        return slider.get_attribute("aria-valuetext") or ""


def opened(stage: Stage, run: str, view: str, **also: Any) -> Pair:
    place = {"query": QUERY, "key": KEY} | also
    stage.open(run, f"#step=3&layer={LAYER}&head={HEAD}&query={place['query']}&key={place['key']}&view={view}")
    stage.expect_step(3)
    return Pair(stage, run, **place)


def tab_to(stage: Stage, target: Locator) -> None:
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        stage.page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{target} cannot be reached with {MOST_TABS} tabs")


STILL = """element => new Promise((done) => {
  let text = "", frames = 0;
  const look = () => {
    frames = element.innerText === text ? frames + 1 : 0;
    text = element.innerText;
    frames < 10 ? requestAnimationFrame(look) : done();
  };
  look();
})"""


def walk_up_to_query(stage: Stage, query: int) -> None:
    """With the arrow key, from the row that is chosen, one row at a time."""
    stage.matrix.evaluate(STILL)  # an earlier key may not have been painted yet
    told = re.search(r"Query (\d+),", stage.matrix.inner_text())
    assert told
    for row in range(int(told[1]) - 1, query - 1, -1):
        stage.page.keyboard.press("ArrowUp")
        expect(stage.matrix).to_contain_text(f"Query {row},")


def test_from_the_prompt_to_one_product_without_a_mouse(stage: Stage) -> None:
    stage.open()
    press = stage.page.keyboard.press
    before = stage.run_id
    press("/")
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
    press("ArrowUp")
    expect(stage.page.locator("html[data-state=done]")).to_be_attached(timeout=60_000)
    walk_up_to_query(stage, 4)
    press("ArrowLeft")
    press("Enter")
    stage.page.wait_for_url(re.compile("query=4&.*view=pair"))
    layer, head, key = (int(re.findall(rf"{name}=(\d+)", stage.page.url)[0]) for name in ("layer", "head", "key"))
    values = stage.server.head(stage.run_id, 0, layer, head)
    terms = stage.region("Inspector").get_by_role("slider", name="Term of the dot product")
    expect(terms).to_be_focused()
    expect(terms).to_have_attribute("aria-valuetext", re.compile("^i = "))
    press("Home")
    press("ArrowRight")
    expect(terms).to_have_attribute("aria-valuetext", re.compile("^i = 1: "))
    index, q, k, product = product_of(terms.get_attribute("aria-valuetext") or "")
    assert abs(q - values["q"][4, index]) <= 0.0051
    assert abs(k - values["k"][key, index]) <= 0.0051
    assert abs(product - float(values["q"][4, index]) * float(values["k"][key, index])) <= 0.0051

    press("Escape")
    expect(stage.matrix).to_be_focused()
    stage.page.wait_for_url(re.compile("view=head"))
    press("+")
    expect(terms).to_be_focused()
    press("-")
    expect(stage.matrix).to_be_focused()


def test_every_product_and_their_sum_are_the_engines(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair")
    pair.told(pair.terms)
    pair.terms.press("Home")
    products = pair.q * pair.k
    for i in range(len(products)):
        expect(pair.terms).to_have_attribute("aria-valuetext", re.compile(f"^i = {i}: "))
        told = pair.told(pair.terms)
        index, q, k, product = product_of(told)
        assert index == i
        for shown, value in ((q, pair.q[i]), (k, pair.k[i]), (product, products[i])):
            assert abs(shown - value) <= 0.0051, told
        assert abs(number(told.split("sum so far ")[1]) - products[: i + 1].sum()) <= 0.0051
        pair.terms.press("ArrowRight")
    line = " ".join(pair.region.get_by_text("→ score").inner_text().split())
    scaled = re.search(r"= (\S+), ÷ √64 = ÷ 8 → score (\S+)", line)
    assert scaled, line
    assert abs(number(scaled[1]) - products.sum()) <= 0.0051
    assert abs(number(scaled[2]) - pair.scores[KEY]) <= 0.0051


def test_the_largest_terms_can_come_first(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair")
    pair.told(pair.terms)
    stage.button("Largest first").click()
    pair.terms.press("Home")
    order = np.argsort(-np.abs(pair.q * pair.k))
    for i in order[:4]:
        expect(pair.terms).to_have_attribute("aria-valuetext", re.compile(f"^i = {i}: "))
        pair.terms.press("ArrowRight")


def test_the_row_is_the_softmax_of_its_scores_and_sums_to_one(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair")
    expect(pair.rows).to_have_count(1 + QUERY + 1 + 1 + 1)  # head, keys, those masked, sum
    powers = np.exp(pair.scores - np.max(pair.scores))
    for key, row in enumerate(pair.rows.all()[1 : QUERY + 2]):
        score, power, weight, *_ = cells(row)
        assert shows(score, pair.scores[key], 2)
        assert shows(power, powers[key], 3)
        assert shows(weight, pair.weights[key], 3)
        expect(row.get_by_role("button")).to_have_attribute("aria-pressed", str(key == KEY).lower())
    expect(pair.rows.nth(QUERY + 2)).to_contain_text("2 later tokens: masked")
    _, power_sum, weight_sum, *_ = cells(pair.rows.last)
    assert shows(power_sum, powers.sum(), 3)
    assert weight_sum == "1.000"


def test_weights_times_v_add_up_to_the_heads_output(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair")
    pair.told(pair.dimension)
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        pair.dimension.press(key)
        i = int(pair.told(pair.dimension).split(":")[0].removeprefix("i = "))
        parts = pair.weights * pair.v[: QUERY + 1, i]
        expect(pair.rows.first).to_contain_text(f"v[{i}]")
        for position, row in enumerate(pair.rows.all()[1 : QUERY + 2]):
            *_, value, part = cells(row)
            assert shows(value, pair.v[position, i], 3)
            assert shows(part, parts[position], 4)
        assert shows(cells(pair.rows.last)[-1], parts.sum(), 4)
        line = pair.region.get_by_text("The model's own output").inner_text()
        shown = re.search(r"output\[(\d+)\]:\s*(\S+)", line)
        assert shown
        assert int(shown[1]) == i
        assert shows(shown[2], pair.output[i], 4)
    differs = pair.region.get_by_text("differs by at most").inner_text()
    rounding = r"(0|\d × 10⁻[⁶-⁹¹]\S*)"
    assert re.search(rf"at most {rounding} in a weight and {rounding} in the output", differs), differs


def test_a_key_of_the_row_can_be_chosen(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair")
    pair.rows.nth(1).get_by_role("button").click()
    stage.page.wait_for_url(re.compile("query=8&key=0&view=pair"))
    share = pair.weights[0] * 100
    heading = pair.region.get_by_role("heading", level=2)
    expect(heading).to_contain_text(f"takes {share:.1f}\u202f% from “The”, the first token")


def test_the_first_token_reads_only_itself(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "pair", query=0, key=0)
    expect(pair.region.get_by_role("heading", level=2)).to_contain_text("“The” takes everything from itself")
    expect(pair.rows.last).to_contain_text("1.000")
    assert cells(pair.rows.nth(1))[2] == "1.000"


def test_the_heads_of_a_layer_are_pictures_that_lead_there_by_the_k_and_v_they_share(
    stage: Stage, short_run: str
) -> None:
    pair = opened(stage, short_run, "head")
    shared = pair.region.get_by_role("region", name="Heads that share K and V")
    expect(shared).to_contain_text("Heads 6, 7 and 8 read the same K and V")
    expect(shared.get_by_role("button", pressed=True)).to_have_accessible_name("Head 8, reads KV head 2")
    shared.get_by_role("button", name="Head 6, reads KV head 2").click()
    stage.page.wait_for_url(re.compile("head=6&"))
    expect(shared).to_contain_text("Heads 6, 7 and 8 read the same K and V")
    stage.painted()
    pictures = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in shared.locator("canvas").all()]
    assert len(set(pictures)) == len(pictures) == 9


def test_all_keys_of_a_query_are_a_click_away(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "head")
    stage.button("4 more keys ▸").click()
    expect(pair.terms).to_be_focused()
    expect(pair.rows).to_have_count(1 + QUERY + 1 + 1 + 1)


def test_every_zoom_is_a_tab_in_one_row(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "head")
    tabs = stage.page.get_by_role("navigation", name="Zoom").get_by_role("button")
    expect(tabs).to_have_text(["Model", "Layer 13", "Head 8", "Query·key", "Next token", "Cache", "Time"])
    for view, tab in zip(("model", "block", "head", "pair", "tokens", "cache", "time"), tabs.all(), strict=True):
        tab.click()
        stage.expect_view(view)
        expect(tab).to_have_attribute("aria-current", "page")
    expect(pair.region.get_by_role("heading", level=2).first).to_contain_text("took")


SMALL_TEXT = """(panel) => {
  const walk = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  const small = [];
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || parent.closest("sub, sup, .visually-hidden")) continue;
    if (parseFloat(getComputedStyle(parent).fontSize) < 12) small.push(walk.currentNode.textContent.trim());
  }
  return small;
}"""


def test_no_zoom_has_text_smaller_than_12_pixels(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "head")
    for view in ("model", "block", "head", "pair", "tokens", "cache", "time"):
        stage.look_at(f"#step=3&layer={LAYER}&head={HEAD}&query={QUERY}&key={KEY}&view={view}")
        stage.expect_view(view)
        stage.rest()
        assert pair.region.evaluate(SMALL_TEXT) == [], view


def test_what_is_locked_says_so_until_it_is_let_go(stage: Stage, short_run: str) -> None:
    pair = opened(stage, short_run, "head")
    heading = pair.region.get_by_role("heading", level=2)
    expect(pair.region).to_contain_text("locked on “it” → “animal”")
    expect(pair.region).to_contain_text("of step 0: only its K and V are read now")
    stage.slider.fill("2")
    stage.expect_step(2)
    expect(heading).to_have_text("“it” looks back at “animal”")
    stage.button("let go").click()
    tokens = stage.server.log(short_run).tokens
    for step in (2, 4):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        newest = tokens[len(stage.server.log(short_run).open["tokens"]) + step - 1]["text"].strip()
        expect(heading).to_contain_text(f"“{newest}” looks")
    expect(pair.region).not_to_contain_text("locked on")


def test_a_click_on_the_path_leaves_no_tip_where_the_map_comes_to_lie(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, "block")
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Head 8", exact=True).click()
    stage.expect_view("head")
    stage.rest()
    box = stage.map.bounding_box()
    assert box is not None
    tip = stage.map.get_by_text(re.compile(r"looks at|length of"))
    expect(tip).to_have_count(0)
    stage.page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.4)
    expect(tip.first).to_be_visible()


def test_the_matrix_and_its_labels_are_readable_at_every_width(stage: Stage, short_run: str) -> None:
    for width, height in ((1440, 900), (1024, 768), (720, 700), (390, 844)):
        stage.page.set_viewport_size({"width": width, "height": height})
        opened(stage, short_run, "head")
        stage.rest()
        sizes = stage.matrix.locator("text").evaluate_all(
            "texts => texts.map((text) => parseFloat(getComputedStyle(text).fontSize))"
        )
        assert len(sizes) > 10
        assert min(sizes) >= 12, width
        looks = stage.region("Inspector").get_by_role("table", name=re.compile("^Where")).bounding_box()
        names = [text.bounding_box() for text in stage.matrix.locator("text").all()]
        assert looks is not None
        for name in names:
            assert name is not None
            beside = name["x"] + name["width"] <= looks["x"] + 1 or name["x"] >= looks["x"] + looks["width"] - 1
            over = name["y"] + name["height"] <= looks["y"] + 1 or name["y"] >= looks["y"] + looks["height"] - 1
            assert beside or over, f"{width}: a key's name lies on the bars"


def test_the_text_of_a_token_is_selected_and_not_pressed(stage: Stage, short_run: str) -> None:
    stage.open(short_run, f"#step=3&layer={LAYER}&head={HEAD}&view=head")
    stage.expect_step(3)
    token = stage.region("Inspector").get_by_role("table", name=re.compile("^Where")).locator("bdi").first
    token.scroll_into_view_if_needed()
    stage.rest()
    box = token.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    stage.page.mouse.move(box["x"] + 1, middle)
    stage.page.mouse.down()
    stage.page.mouse.move(box["x"] + box["width"] - 1, middle, steps=5)
    stage.page.mouse.up()
    assert stage.page.evaluate("getSelection().toString()") == token.inner_text()
    expect(stage.region("Inspector")).not_to_contain_text("locked on")
