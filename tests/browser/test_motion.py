"""The motion of a step: walked layer by layer, played in measured time, Q there and gone again."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.pixels import seen
from tests.support.server import Server
from tests.support.stage import Stage

AMBER_IN_STRIP = """({ width, data }, [share, alike]) => {
  let amber = 0;
  const colour = (i) => (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
  for (let i = 0; i < data.length; i += 4) {
    const column = ((i / 4) % width) / width;
    if (column < share[0] || column >= share[1]) continue;
    const [r, g, b, a] = data.slice(i, i + 4);
    if (!(a > 200 && r > 190 && r - b > 90 && g < r - 25)) continue;
    if (Array.from({ length: alike }, (_, next) => i + 4 * next).every((at) => colour(at) === colour(i))) amber += 1;
  }
  return amber;
}"""
ATTENTION = [0.33, 0.6]
CACHE = [0.68, 0.99]
LAST = 5
"""The last step of `short_run`."""


def amber(stage: Stage, share: list[float], alike: int = 1) -> int:
    """Amber pixels on the drawn map between two shares of its width, each the first of so many alike."""
    stage.painted()
    return int(seen(stage.map.locator("canvas"), AMBER_IN_STRIP, [share, alike]))


def of_q(stage: Stage) -> int:
    """A head's Q is one cell as wide as its strip; weights are amber too, but a cell per key."""
    return amber(stage, ATTENTION, alike=15)


def test_buttons_and_keys_walk_a_step_layer_by_layer(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head")
    stage.expect_step(2)
    inspector = stage.region("Inspector")
    walked = stage.page.get_by_role("group", name="Layer by layer").get_by_role("status")
    expect(walked).to_be_empty()
    stage.button("Next layer").click()
    stage.expect_step(3)
    expect(walked).to_have_text("layer 0 of 29")
    expect(inspector).to_contain_text("Layer 0")
    for _ in range(3):
        stage.page.keyboard.press(".")
    expect(walked).to_have_text("layer 3 of 29")
    expect(inspector).to_contain_text("Layer 3 ▸ Head 2")
    stage.page.keyboard.press(",")
    expect(walked).to_have_text("layer 2 of 29")
    stage.button("Previous layer").click()
    expect(walked).to_have_text("layer 1 of 29")
    stage.expect_phase("paused")
    stage.button("Previous step").click()
    stage.expect_step(2)
    expect(walked).to_be_empty()


def test_a_walk_back_from_rest_ends_at_the_first_layer_of_prefill(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    walked = stage.page.get_by_role("group", name="Layer by layer").get_by_role("status")
    stage.button("Previous layer").click()
    expect(walked).to_have_text("layer 29 of 29")
    stage.page.keyboard.press(".")
    expect(walked).to_be_empty()
    for _ in range(35):
        stage.page.keyboard.press(",")
    expect(walked).to_have_text("layer 0 of 29")
    stage.expect_step(0)


def test_q_is_there_while_its_layer_runs_and_k_and_v_stay(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=head")
    stage.expect_step(2)
    assert of_q(stage) == 0
    for _ in range(10):
        stage.page.keyboard.press(".")
    with_q, few = of_q(stage), amber(stage, CACHE)
    assert with_q > 100
    for _ in range(10):
        stage.page.keyboard.press(".")
    assert abs(of_q(stage) - with_q) < with_q / 2, "one layer's Q, not twenty"
    assert amber(stage, CACHE) > few * 1.5
    stage.slider.fill("3")
    assert of_q(stage) == 0
    expect(stage.region("Model map")).to_contain_text("used once while its layer runs, not kept")


def test_what_a_walk_has_not_reached_is_not_told(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&view=model")
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


def test_with_reduced_motion_a_walk_cuts_and_nothing_rises(
    server: Server, short_run: str, new_page: Callable[..., Page]
) -> None:
    stage = Stage(new_page(reduced_motion="reduce"), server)
    stage.open(short_run, "#step=2&layer=13&head=2&view=head")
    stage.expect_step(2)
    stage.painted()
    stage.button("Next step").click()
    stage.expect_step(3)
    assert of_q(stage) == 0
    stage.page.keyboard.press(".")
    expect(stage.page.get_by_role("group", name="Layer by layer").get_by_role("status")).to_have_text("layer 0 of 29")
    assert of_q(stage) > 100


def test_while_a_step_sweeps_no_panel_shows_what_it_has_not_reached(stage: Stage, short_run: str) -> None:
    log = stage.server.log(short_run)
    step, prompt = 3, len(log.open["tokens"])
    before, now = log.steps[step - 1]["token"]["text"].strip(), log.steps[step]["token"]["text"].strip()
    assert now not in (before, "")
    stage.open(short_run, f"#step={step - 1}&layer=13&head=2&view=head")
    stage.expect_step(step - 1)
    chosen = stage.chips.nth(step)
    expect(chosen).to_contain_text(now)  # at rest what is recorded can be seen
    for layer in range(30):
        stage.page.keyboard.press(".")
        walked = stage.page.get_by_role("group", name="Layer by layer").get_by_role("status")
        expect(walked).to_have_text(f"layer {layer} of 29")
        shown = step if layer == 29 else step - 1
        expect(stage.region("Next token")).to_contain_text(f"step {shown}")
        expect(stage.region("KV cache")).to_contain_text(f"{prompt + shown} positions")
        expect(stage.region("Inspector")).to_contain_text(f"Layer {layer} ▸")
        if layer < 29:
            expect(chosen).not_to_contain_text(now)
            sentence = stage.region("Timeline").get_by_text(f"Step {step}, decode")
            expect(sentence).to_contain_text("will add")
            expect(sentence).not_to_contain_text("Next:")
    expect(chosen).to_contain_text(now)


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
