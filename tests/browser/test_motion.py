"""The motion of a step: walked layer by layer, played in measured time, K and V there to stay."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.pixels import seen
from tests.support.stage import Stage

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
LAST = 5
"""The last step of `short_run`."""


def amber_on_the_shelf(stage: Stage) -> int:
    """Amber pixels of the map where its cached keys and values are."""
    stage.painted()
    return int(seen(stage.map.locator("canvas").first, AMBER, CACHE))


def test_buttons_and_keys_walk_a_step_layer_by_layer(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head")
    stage.expect_step(2)
    inspector = stage.region("Inspector")
    expect(stage.place).to_have_text("Step 2")
    stage.button("Next layer").click()
    stage.expect_step(3)
    expect(stage.place).to_have_text("Step 3, layer 0")
    expect(inspector).to_contain_text("Layer 0")
    for _ in range(3):
        stage.page.keyboard.press(".")
    expect(stage.place).to_have_text("Step 3, layer 3")
    expect(inspector).to_contain_text("Layer 3 ▸ Head 2")
    stage.page.keyboard.press(",")
    expect(stage.place).to_have_text("Step 3, layer 2")
    stage.button("Previous layer").click()
    expect(stage.place).to_have_text("Step 3, layer 1")
    stage.expect_phase("paused")
    stage.button("Previous step").click()
    stage.expect_step(2)
    expect(stage.place).to_have_text("Step 2")


def test_a_walk_back_from_rest_ends_at_the_first_layer_of_prefill(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    stage.button("Previous layer").click()
    expect(stage.place).to_have_text("Step 0, layer 29")
    stage.page.keyboard.press(".")
    expect(stage.place).to_have_text("Step 0")
    for _ in range(35):
        stage.page.keyboard.press(",")
    expect(stage.place).to_have_text("Step 0, layer 0")
    stage.expect_step(0)


def test_k_and_v_of_the_new_token_come_layer_by_layer_and_stay(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head")
    stage.expect_step(2)
    for _ in range(10):
        stage.page.keyboard.press(".")
    few = amber_on_the_shelf(stage)
    assert few > 0
    for _ in range(18):
        stage.page.keyboard.press(".")
    assert amber_on_the_shelf(stage) > few * 1.5


def test_what_a_walk_has_not_reached_is_not_told(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=model").expect_step(2)
    inspector = stage.region("Inspector")
    for _ in range(4):
        stage.page.keyboard.press(".")
    expect(inspector).to_contain_text("not computed yet, from here up")
    expect(inspector).to_contain_text("The layers come first.")
    expect(inspector).to_contain_text("After layer 3 the newest row would say")
    stage.page.keyboard.press("ArrowRight")
    expect(inspector).not_to_contain_text("not computed yet")


def test_playing_goes_on_from_the_layer_where_a_walk_stood(stage: Stage, short_run: str) -> None:
    stage.open(short_run, f"#step={LAST - 1}&layer=13&head=2&view=head")
    stage.expect_step(LAST - 1)
    for _ in range(12):
        stage.page.keyboard.press(".")
    stage.button("Play").click()
    stage.expect_phase("done")
    stage.expect_step(LAST)


def test_times_of_layers_are_in_the_log_that_the_page_plays(stage: Stage, short_run: str) -> None:
    for step in stage.server.log(short_run).steps:
        layers = step["ms"]["layers"]
        assert len(layers) == 30
        assert 0 < sum(layers) <= step["ms"]["forward"]


def test_while_a_step_sweeps_no_panel_shows_what_it_has_not_reached(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    step, prompt = 3, len(log.open["tokens"])
    before, now = log.steps[step - 1]["token"]["text"].strip(), log.steps[step]["token"]["text"].strip()
    assert now not in (before, "")
    stage.open(short_run, f"#step={step - 1}&layer=13&head=2&view=head")
    stage.expect_step(step - 1)
    chosen = stage.words.nth(step)
    expect(chosen).to_contain_text(now)  # at rest what is recorded can be seen
    for layer in range(30):
        stage.page.keyboard.press(".")
        expect(stage.place).to_have_text(f"Step {step}, layer {layer}")
        expect(stage.region("Inspector")).to_contain_text(f"Layer {layer} ▸")
        if layer < 29:
            expect(chosen).to_have_count(0)
            expect(stage.region("Next token")).to_contain_text(f"{29 - layer} layer{'s' * (layer < 28)} to go")
            expect(stage.region("Next token").get_by_role("listitem")).to_have_count(0)
            expect(stage.region("KV cache")).to_contain_text("when this step ends")
            so_far = re.compile(f"^Time of {step} steps")
            expect(stage.region("Time").get_by_role("img")).to_have_accessible_name(so_far)
            sentence = stage.region("Timeline").get_by_text(f"Step {step}, decode")
            expect(sentence).to_contain_text("will add")
            expect(sentence).not_to_contain_text("Next:")
    expect(chosen).to_contain_text(now)
    expect(stage.region("Next token")).to_contain_text(f"step {step}")
    expect(stage.region("KV cache")).to_contain_text(f"{prompt + step} positions")


def test_a_head_above_the_sweep_still_shows_the_step_before(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    tokens = [token["text"].strip() for token in log.tokens]
    newest = len(log.open["tokens"]) + 2
    stage.open(short_run, "#step=2&layer=13&head=2&view=head").expect_step(2)
    for _ in range(3):
        stage.page.keyboard.press(".")
    for _ in range(9):
        stage.page.keyboard.press("ArrowUp")
    inspector = stage.region("Inspector")
    heading = inspector.get_by_role("heading", level=2).first
    expect(heading).to_contain_text(f"“{tokens[newest - 1]}” looks")
    expect(inspector).to_contain_text("This is still step 2: step 3 has not reached layer 11.")
    for _ in range(9):
        stage.page.keyboard.press("ArrowDown")
    expect(heading).to_contain_text(f"“{tokens[newest]}” looks")
    expect(inspector).not_to_contain_text("This is still step")
