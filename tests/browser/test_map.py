"""The map: pointed at, walked layer by layer, its lens, the heads it names; nothing of what a sweep has not reached."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, expect

from tests.support.numbers import fixed
from tests.support.pages import NewPage
from tests.support.pixels import seen
from tests.support.server import ROOT, Server
from tests.support.stage import Stage, box_of, found_in
from tests.support.waiting import eventually

GLOSSARY = json.loads((ROOT / "kvscope" / "static" / "shared" / "words" / "glossary.json").read_text("utf-8"))
AMBER = """({ width, data }, [from, to]) => {
  let amber = 0;
  for (let i = 0; i < data.length; i += 4) {
    const column = ((i / 4) % width) / width;
    if (column < from || column >= to) continue;
    const [r, g, b, a] = data.slice(i, i + 4);
    if (a > 200 && r > 190 && r - b > 90 && g < r - 25) amber += 1;
  }
  return amber;
}"""
CACHE = [0.68, 0.99]
WATCH_FOR_LENS = """() => {
  window.lenses = 0;
  new MutationObserver(() => { window.lenses += document.querySelectorAll(".map-lens").length; })
    .observe(document.body, { subtree: true, childList: true });
}"""
"""Counts a lens that is there in any frame, however short."""


def lens_of(stage: Stage) -> Locator:
    return stage.map.get_by_role("img", name=re.compile(r"^Layer \d+ opened"))


def press(stage: Stage, key: str, times: int = 1) -> None:
    for _ in range(times):
        stage.page.keyboard.press(key)


def amber_on_the_shelf(stage: Stage) -> int:
    """Amber pixels where the cached keys and values are."""
    stage.painted()
    return int(seen(stage.map.locator("canvas").first, AMBER, CACHE))


def test_a_step_is_walked_layer_by_layer_and_back(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, 2, "head", head=2)
    expect(lens_of(stage)).to_have_count(0)
    stage.button("Next layer").click()
    expect(stage.place).to_have_text("Step 3, layer 0")
    press(stage, ".", 3)
    expect(stage.place).to_have_text("Step 3, layer 3")
    expect(inspector).to_contain_text("Layer 3 ▸ Head 2")
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 3 opened: the row of “.+” reads K and V of 14"))
    expect(stage.map).to_contain_text("layers 4 to 29: not computed yet")
    press(stage, "ArrowUp")  # looks elsewhere
    expect(lens_of(stage)).to_have_count(0)
    expect(inspector).to_contain_text("This is still step 2: step 3 has not reached layer 4.")
    press(stage, "ArrowDown")
    expect(lens_of(stage)).to_have_count(1)
    few = amber_on_the_shelf(stage)
    assert few > 0
    press(stage, ".", 18)
    assert amber_on_the_shelf(stage) > few * 1.5
    press(stage, ",")
    expect(stage.place).to_have_text("Step 3, layer 20")
    stage.button("Previous step").click()
    expect(stage.place).to_have_text("Step 2")
    press(stage, "Home")
    stage.button("Previous layer").click()
    expect(stage.place).to_have_text("Step 0, layer 29")
    expect(stage.map).to_contain_text("lines of “too”")
    press(stage, ",", 35)
    expect(stage.place).to_have_text("Step 0, layer 0")
    expect(stage.region("Strong attention")).to_contain_text("once the prompt has gone through")


def test_while_a_step_sweeps_no_panel_shows_what_it_has_not_reached(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    stage.at(short_run, 2, "head")
    chosen = stage.words.nth(3)
    before, after = (log.steps[step]["kv"]["bytes_used"] for step in (2, 3))

    def kilobytes(layer: int) -> str:
        return fixed((before + (after - before) * (layer + 1) / 30) / 1000, 0)

    expect(chosen).to_contain_text(log.steps[3]["token"]["text"].strip())  # at rest what is recorded can be seen
    for layer in (0, 14, 28):
        press(stage, ".", 1 if layer == 0 else 14)
        expect(stage.place).to_have_text(f"Step 3, layer {layer}")
        expect(chosen).to_have_count(0)
        expect(stage.region("Next token")).to_contain_text(f"{29 - layer} layer{'s' * (layer < 28)} to go")
        expect(stage.region("Next token").get_by_role("listitem")).to_have_count(0)
        expect(stage.region("KV cache")).to_contain_text("when this step ends")
        expect(stage.region("KV cache").locator(".card-number")).to_have_text(f"{kilobytes(layer)}\u202fkB")
        expect(stage.region("Time").get_by_role("img")).to_have_accessible_name(re.compile("^Time of 3 steps"))
        expect(stage.region("Timeline").get_by_text("Step 3, decode")).not_to_contain_text("Next:")
    press(stage, ".")
    expect(chosen).to_have_count(1)
    stage.button("Play").click()
    stage.expect_phase("done")
    stage.expect_step(5)


def test_what_is_pointed_at_is_told_and_a_click_goes_there(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, 1, "head")
    log, box = stage.server.log(short_run), stage.rest().map.bounding_box()
    assert box
    place = {"x": box["width"] * 0.45, "y": box["height"] * 0.35}
    stage.map.hover(position=place)
    title = stage.map.get_by_text(re.compile(r"^Layer \d+, head \d+: .* looks at "))
    for step in (2, 5):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        looker = f"“{log.tokens[len(log.open['tokens']) + step - 1]['text'].strip()}”"
        expect(title).to_contain_text(f": {looker} looks at")
        expect(inspector.get_by_role("heading", level=2)).to_contain_text(f"{looker} looks")
    layer, head = (int(value) for value in re.findall(r"(?:Layer|head) (\d+)", title.inner_text()))
    at = found_in(stage.map.inner_text(), r"query at position (\d+), key at position (\d+)")
    weight = log.weight(layer, head, int(at[1]), int(at[2]))
    expect(stage.map.get_by_text(re.compile(r"^weight \d\."))).to_contain_text(f"weight {weight:.3f}")
    stage.map.click(position=place)
    stage.page.wait_for_url(f"**layer={layer}&head={head}*")
    stage.map.hover(position={"x": box["width"] * 0.85, "y": box["height"] * 0.5})
    kept = stage.map.get_by_text(re.compile(r"^[KV] of .*, position \d+, layer"))
    position = found_in(kept.inner_text(), r"position (\d+)")
    table = log.steps[5]["kv"]["block_table"]
    expect(stage.map).to_contain_text(f"block {table[int(position[1]) // 16]}, slot {int(position[1]) % 16};")

    stage.slider.fill("2")
    stage.expect_step(2)
    press(stage, ".", 14)
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 13 opened"))
    lens = box_of(lens_of(stage))
    taken = set()
    for share in (0.3, 0.7):
        point = (lens["x"] + 0.43 * lens["width"], lens["y"] + share * lens["height"])
        stage.page.mouse.move(*point)
        tip = stage.map.locator(".tooltip")
        expect(tip).to_contain_text(re.compile(r"Layer 13, head \d: “.+” looks at “.+”"))
        told = found_in(tip.inner_text(), r"head (\d).*key at position (\d+)", re.DOTALL)
        stage.page.mouse.click(*point)
        expect(stage.page).to_have_url(re.compile(f"layer=13&head={told[1]}&.*key={told[2]}"))
        taken.add(told[1])
    assert len(taken) == 2


def test_a_step_that_plays_opens_its_layer_and_not_for_whom_nothing_is_to_move(
    stage: Stage, server: Server, short_run: str, new_page: NewPage
) -> None:
    stage.at(short_run, 0, "head", head=2)
    box = box_of(stage.map)
    stage.play_at("½×")  # it is open for three seconds then
    stage.button("Next step").click()
    expect(lens_of(stage)).to_have_accessible_name(re.compile("^Layer 13 opened"))
    lens = box_of(lens_of(stage))
    # An old token's column, some rows above the one that is opened: what was drawn there then.
    stage.page.mouse.click(box["x"] + 44, lens["y"] + 0.4 * lens["height"])
    expect(stage.page).to_have_url(re.compile("layer=13&.*query=0"))
    expect(lens_of(stage)).to_have_count(0)
    stage.expect_step(1)

    still = Stage(new_page(reduced_motion="reduce"), server)
    still.at(short_run, 2, "head")
    still.page.evaluate(WATCH_FOR_LENS)
    still.button("Next step").click()
    still.expect_step(3)
    assert still.painted().page.evaluate("window.lenses") == 0


def test_on_a_phone_the_lens_opens_lower(phone: Stage) -> None:
    run = phone.server.finished_run("one two three four five six seven eight nine ten " * 5, max_new_tokens=2)
    phone.at(run, 0, "head")
    phone.button("Map").click()
    press(phone, ".", 14)
    expect(phone.map).to_contain_text("top 8")
    phone.rest()
    card, whole = box_of(lens_of(phone)), box_of(phone.map)
    assert card["height"] < 0.4 * whole["height"]
    assert 0 <= card["x"] <= 390 - card["width"]


def test_a_press_on_look_here_goes_to_that_head_cell_and_step(stage: Stage, short_run: str) -> None:
    stage.at(short_run, 5, "head")
    items = stage.region("Strong attention").get_by_role("button")
    item = items.filter(has_text=re.compile(r"\S\s*→")).first  # the other kinds begin with the arrow
    expect(item).to_be_visible()
    stage.rest()
    before = [each.bounding_box() for each in items.all()]
    item.click()
    stage.page.wait_for_url(re.compile("query=[0-9]+&key=[0-9]+&view=head"))
    expect(item).to_have_attribute("aria-current", "true")
    place = {name: int(value) for name, value in re.findall(r"(layer|head|query|key)=(\d+)", stage.page.url)}
    share = stage.server.log(short_run).weight(*place.values())
    expect(item).to_contain_text(f"{100 * share:.0f}\u202f%")
    assert [each.bounding_box() for each in items.all()] == before
    # At a step that has not computed that query yet, the step comes with it.
    run = stage.server.finished_run("Zorblat Quindle likes tea. I met", max_new_tokens=8)
    tokens = len(stage.server.opened(run)["tokens"])
    moved = 0
    for step in range(7, -1, -1):
        stage.at(run, step, "head")
        item.click()
        stage.page.wait_for_url(re.compile("query=[0-9]+&key=[0-9]+&view=head"))
        wanted = max(step, int(re.findall(r"query=(\d+)", stage.page.url)[0]) - tokens + 1)
        stage.expect_step(wanted)
        expect(stage.page).to_have_url(re.compile(rf"step={wanted}\b"))
        moved += wanted != step
    assert moved


def test_words_are_defined_by_hover_focus_and_tap_and_listed_in_the_help(
    new_page: NewPage, stage: Stage, short_run: str
) -> None:
    stage.at(short_run, 3, "head")
    term = stage.region("Model map").get_by_role("button", name="KV cache", exact=True)
    definition = stage.page.get_by_role("tooltip")
    term.hover()
    expect(definition).to_contain_text(GLOSSARY["kv-cache"]["text"])
    expect(term).to_have_accessible_description(re.compile(re.escape(GLOSSARY["kv-cache"]["text"])))
    stage.page.mouse.move(5, 5)
    expect(definition).to_have_count(0)
    term.focus()
    press(stage, "Tab")
    press(stage, "Shift+Tab")
    expect(definition).to_be_visible()
    before = stage.page.url
    press(stage, "Escape")
    expect(definition).to_have_count(0)
    assert stage.page.url == before, "Esc closed the definition and nothing else"
    stage.play_at("¼×")
    stage.button("Play").click()
    press(stage, "?")
    stage.expect_phase("paused")
    help_dialog = stage.page.get_by_role("dialog", name="Help")
    expect(help_dialog.get_by_text("Show this help", exact=True)).to_be_in_viewport(ratio=1)
    names = {entry["name"] for entry in GLOSSARY.values()}  # fetched when the help is first opened
    eventually(lambda: names <= set(help_dialog.get_by_role("term").all_inner_texts()))
    press(stage, "Escape")
    stage.ask()
    stage.rest()  # the prompt's tokens come into the form
    form = stage.page.get_by_role("form", name="New run")
    form.get_by_text("top-k").hover()
    expect(definition).to_contain_text(GLOSSARY["top-k"]["text"])
    expect(form.get_by_label("top-k")).to_have_accessible_name("top-k")

    page = new_page(viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    phone = Stage(page, stage.server).open_finished(short_run)
    phone.button("Tokens").tap()
    phone.rest()  # what is still laid out moves the word as scrolling does
    phone.region("Model map").get_by_role("button", name="KV cache", exact=True).tap()
    tip = page.get_by_role("tooltip")
    box = box_of(tip)
    assert 0 <= box["x"] <= 390 - box["width"]
    scrolled = "new Promise((resolve) => addEventListener('scroll', resolve, {capture: true, once: true}))"
    for scroll, stays in (("answer.scrollTop += 40", 1), ("scrollTo(0, scrollY > 50 ? 0 : 200)", 0)):
        phone.answer.evaluate(f"async (answer) => {{ const scrolled = {scrolled}; {scroll}; await scrolled; }}")
        expect(tip).to_have_count(stays)
