"""A run that is there: walked by buttons, slider and keys, sent as a link, seen by others."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.complaints import Complaints
from tests.support.numbers import same_but_for_rounding
from tests.support.pixels import seen
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text
from tests.support.waiting import eventually

LAST = 5
"""The last step of `short_run`."""


def test_buttons_walk_the_steps_and_stop_at_both_ends(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    for start, name, step in (
        (0, "Next step", 1),
        (1, "Previous step", 0),
        (0, "Previous step", 0),
        (LAST, "Next step", LAST),
    ):
        stage.slider.fill(str(start))
        stage.expect_step(start)
        stage.button(name).click()
        stage.expect_step(step)


def test_keys_walk_the_steps_layers_and_heads(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    for key, step in (("ArrowRight", 1), ("End", LAST), ("ArrowLeft", LAST - 1), ("Home", 0)):
        stage.page.keyboard.press(key)
        stage.expect_step(step)
    inspector = stage.region("Inspector")
    stage.open(short_run, "#step=2&layer=4&head=3")
    for key, place in (("ArrowUp", "Layer 5 ▸ Head 3"), ("]", "Layer 5 ▸ Head 4"), ("ArrowDown", "Layer 4 ▸ Head 4")):
        stage.page.keyboard.press(key)
        expect(inspector).to_contain_text(place)
    stage.expect_step(2)


def test_a_step_that_is_shown_is_told_even_if_the_next_follows_at_once(stage: Stage) -> None:
    """The sentence may be ahead of the panels, never behind them; it is read out once the slider rests."""
    stage.open()
    stage.skip_to_the_end()
    stage.slider.fill("0")
    stage.expect_step(0)
    seen = stage.page.evaluate(
        """() => new Promise((done) => {
          const slider = document.querySelector('input[type=range][aria-label=Step]');
          const seen = [];
          const move = () => {
            const [, told] = /^Step ([0-9]+),/.exec(document.querySelector('[aria-label=Timeline] p').textContent);
            seen.push([Number(document.documentElement.dataset.step), Number(told)]);
            if (Number(slider.value) === Number(slider.max)) return done(seen);
            slider.value = String(Number(slider.value) + 1);
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            requestAnimationFrame(move);
          };
          move();
        })"""
    )
    assert any(shown > 0 for shown, _ in seen), "no panel has followed the slider"
    assert all(told >= shown for shown, told in seen)
    last = len(seen) - 1
    expect(stage.region("Timeline").get_by_role("paragraph")).to_contain_text(f"Step {last}, decode")


def test_nothing_of_a_step_that_was_left_stays_on_the_map(stage: Stage) -> None:
    """A long prompt's map is painted over several frames; the next step may be there before the last of them."""
    run = stage.server.finished_run("A step is left before its picture is whole. " * 23, max_new_tokens=3)
    stage.open(run, "#step=1&layer=13&head=8")
    stage.expect_step(1)
    stage.painted()
    whole = stage.picture("Model map")
    for gap in (4, 5, 6, 7):
        stage.page.keyboard.press("Home")
        stage.frames(gap)
        stage.page.keyboard.press("ArrowRight")
        stage.expect_step(1)
        eventually(lambda: stage.picture("Model map") == whole, 10)


def test_under_a_pointer_that_rests_map_and_inspector_tell_of_the_same_token(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=1&layer=13&head=8")
    stage.expect_step(1)
    box = stage.map.bounding_box()
    assert box
    stage.map.hover(position={"x": box["width"] * 0.45, "y": box["height"] * 0.35})
    title = stage.map.get_by_text(re.compile(r"^Layer \d+, head \d+: .* looks at "))
    expect(title).to_be_visible()
    tokens = stage.server.log(short_run).tokens
    for step in (2, LAST):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        looker = f"“{tokens[step - LAST - 2]['text'].strip()}”"
        expect(title).to_contain_text(f": {looker} looks at")
        expect(stage.region("Inspector").get_by_role("heading", level=2)).to_contain_text(f"{looker} looks")


def test_a_link_between_tokens_is_told_only_where_the_step_has_both(stage: Stage, short_run: str) -> None:
    newest = len(stage.server.log(short_run).open["tokens"]) + LAST - 1
    stage.open(short_run, f"#step={LAST}&layer=13&head=8&query={newest}&key=1")
    inspector = stage.region("Inspector")
    expect(inspector).to_contain_text("strongest head")
    stage.page.keyboard.press("Home")
    stage.expect_step(0)
    expect(inspector).to_contain_text(f"comes in step {LAST}")
    expect(inspector).not_to_contain_text("strongest head")


def test_the_slider_shows_the_step_it_stands_at(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    pictures = set()
    log = stage.server.log(short_run)
    for step in (3, 1, LAST):
        stage.slider.fill(str(step))
        expect(stage.region("Next token").get_by_role("heading")).to_contain_text(f"step {step}")
        expect(stage.region("Timeline")).to_contain_text(f"Step {step}, decode")
        chosen = stage.region("Next token").get_by_role("listitem").filter(has_text="chosen in this run")
        expect(chosen).to_contain_text(log.steps[step]["token"]["text"].strip())
        stage.painted()
        pictures.add(stage.picture("Model map"))
    assert len(pictures) == 3


def test_a_click_on_a_word_goes_to_the_step_that_chose_it(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    stage.words.nth(2).click()
    stage.expect_step(2)
    word = stage.server.log(short_run).steps[2]["token"]["text"].strip()
    expect(stage.region("Next token")).to_contain_text(f"“{word}”")


WATCH = """() => {
  const root = document.documentElement, map = document.querySelector("[aria-label='Model map'] canvas");
  window.shown = {};
  const look = () => {
    const { step, state } = root.dataset;
    window.shown[step] = map.toDataURL();
    if (state !== "done") requestAnimationFrame(look);
  };
  look();
}"""
"""Keeps the last picture of each step that is shown, until the run is over."""


def test_playing_changes_the_picture_and_ends_with_the_run(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    stage.slider.fill("3")
    stage.expect_step(3)
    stage.page.evaluate(WATCH)
    stage.button("Play").click()
    stage.expect_phase("done")
    stage.expect_step(LAST)
    shown = stage.page.evaluate("window.shown")
    assert list(shown) == ["3", "4", "5"]
    assert len(set(shown.values())) == 3


def test_a_link_comes_back_to_the_same_step_layer_head_query_and_key(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=4&layer=13&head=2&query=9&key=4&view=head")
    stage.expect_step(4)
    inspector = stage.region("Inspector")
    before = inspector.get_by_text("Model ▸").inner_text()
    assert " ".join(before.split()).startswith("Model ▸ Layer 13 ▸ Head 2")
    stage.slider.fill("3")
    stage.page.keyboard.press("]")
    expect(inspector).to_contain_text("Layer 13 ▸ Head 3")
    stage.page.wait_for_url("**/?run=*#step=3&layer=13&head=3&query=9&key=4&view=head")
    stage.page.reload()
    stage.expect_step(3)
    expect(inspector).to_contain_text("Layer 13 ▸ Head 3")
    log = stage.server.log(short_run)
    cell = inspector.get_by_text("Query 9, ")
    expect(cell).to_contain_text(f"weight {log.weight(13, 3, 9, 4):.3f}")
    expect(cell).to_contain_text("key 4, ")


def test_a_second_viewer_of_the_link_sees_the_same(
    stage: Stage, short_run: str, server: Server, new_page: Callable[..., Page]
) -> None:
    stage.open(short_run, "#step=2&layer=13&head=2&query=9&key=4&view=head")
    stage.expect_step(2)
    stage.page.wait_for_url("**#step=2&layer=13*")
    other = Stage(new_page(), server)
    other.page.goto(stage.page.url)
    other.expect_step(2)
    for name in ("Inspector", "Next token", "KV cache", "Time"):
        expect(stage.region(name)).not_to_contain_text("Asking the model")
        # Each page has asked for the exact values in the Inspector itself.
        alike = same_but_for_rounding if name == "Inspector" else operator.eq
        expect_same_text(other.region(name), stage.region(name), alike)


def test_a_viewer_who_comes_late_to_a_growing_run_sees_it_from_its_start_to_its_end(
    stage: Stage, server: Server, new_page: Callable[..., Page]
) -> None:
    stage.open()
    run = stage.run("One two three", 6)
    other = Stage(new_page(), server)
    other.open(run)
    other.skip_to_the_end()
    other.expect_phase("done")
    expect(other.words).to_have_count(len(server.log(run).steps))


@pytest.mark.parametrize("run", ["nothing", "<b>x</b>"])
def test_a_link_to_no_run_says_so_and_leaves_the_page_usable(stage: Stage, complaints: Complaints, run: str) -> None:
    complaints.allow("status of 404")
    stage.page.goto(f"{stage.server.url}?run={run}")
    expect(stage.alert).to_be_visible()
    stage.run("Hello", 2)
    stage.expect_phase("done")


SLOWER = 4
SLOW_WHEN_ASKED = f"""const frame = requestAnimationFrame, later = setTimeout, now = performance.now.bind(performance);
window.slow = false;
window.setTimeout = (act, ms = 0, ...given) => later(act, ms * (slow ? {SLOWER} : 1), ...given);
window.requestAnimationFrame = (show) => (slow ? -setTimeout(() => frame(show), 50) : frame(show));
performance.now = () => now() * (slow ? 20 : 1)"""
"""Frames are far apart then, and each seems so long that one part of the page is shown in it: all take 1.2 s. What the
page waits for is as much longer, so that a busy machine is not too slow for either.
"""
SCRUB = """(moves) => new Promise((done) => {
  window.slow = true;
  const slider = document.querySelector('input[type=range][aria-label=Step]');
  const stood = [];
  let since = Date.now();
  const move = () => {
    stood.push([Number(slider.value), Date.now() - since]);
    since = Date.now();
    slider.value = String(stood.length < moves ? stood.length : slider.max);
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    if (stood.length === moves) done(stood);
    else requestAnimationFrame(move);
  };
  move();
})"""
"""Gives [step, ms that the slider stood there] for each step passed over."""
SETTLE_MS = 180
"""As in use-exact.js: a place where the slider has stood for longer may be asked for."""


def test_scrubbing_slowly_shown_asks_for_nothing_that_is_passed_over(stage: Stage) -> None:
    """The zoom lags behind the slider there, and the model would compute what nobody will see."""
    page = stage.page
    page.add_init_script(SLOW_WHEN_ASKED)
    run = stage.server.finished_run("One, two, three,", max_new_tokens=32)
    with page.expect_response("**/head?step=0&*"):
        stage.open(run, "#step=0&layer=13&head=8&view=head")
    expect(stage.ending).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/head?" in request.url else None)
    with page.expect_request("**/head?step=31&*"):
        stood = dict(page.evaluate(SCRUB, 30))
    allowed = {31, *(step for step, ms in stood.items() if ms >= SLOWER * SETTLE_MS)}
    assert len(allowed) < 10, "the machine was too slow to scrub"
    assert {int(parse_qs(urlsplit(url).query)["step"][0]) for url in asked} <= allowed


def test_a_long_prompt_is_painted_to_its_last_layer(stage: Stage) -> None:
    stage.open()
    run = stage.run("alpha beta gamma delta river stone " * 40, 1)
    stage.skip_to_the_end()
    assert stage.server.status(run)["prompt_tokens"] > 200
    empty_lines = """({ width, height, data }) => {
      let empty = 0;
      for (let y = Math.round(height * 0.12); y < height * 0.8; y++) {
        let painted = 0;
        for (let x = 0; x < width; x++) if (data[4 * (y * width + x) + 3]) painted++;
        if (painted < width / 3) empty++;
      }
      return empty / height;
    }"""
    # It is painted in slices, one per animation frame.
    eventually(lambda: seen(stage.map.locator("canvas"), empty_lines) < 0.15)


def test_what_plays_stands_still_behind_the_help(stage: Stage, short_run: str) -> None:
    stage.open(short_run)
    stage.page.get_by_label("Speed").select_option("0.25")
    stage.expect_phase("running")
    stage.page.keyboard.press("?")
    expect(stage.page.get_by_role("dialog", name="Help")).to_be_visible()
    stage.expect_phase("paused")
