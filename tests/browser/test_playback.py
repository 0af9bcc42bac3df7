"""A run that is there: walked by buttons, slider and keys, sent as a link, seen by others."""

from __future__ import annotations

import operator
import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.support.complaints import Complaints
from tests.support.numbers import same_but_for_rounding
from tests.support.pages import NewPage
from tests.support.pixels import seen
from tests.support.runs import share
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text
from tests.support.waiting import eventually

LAST = 5
"""The last step of `short_run`."""
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


def test_buttons_keys_slider_words_and_play_lead_through_the_steps(stage: Stage, short_run: str) -> None:
    stage.open_finished(short_run)
    inspector, press = stage.region("Inspector"), stage.page.keyboard.press
    for start, name, step in ((0, "Next step", 1), (0, "Previous step", 0), (LAST, "Next step", LAST)):
        stage.slider.fill(str(start))
        stage.expect_step(start)
        stage.button(name).click()
        stage.expect_step(step)
    stage.region("Timeline").get_by_text("The animal").first.focus()
    for key, step in (("Home", 0), ("ArrowRight", 1), ("End", LAST), ("ArrowLeft", LAST - 1)):
        press(key)
        stage.expect_step(step)
    stage.look_at("#step=2&layer=4&head=3")
    for key, place in (("ArrowUp", "Layer 5 ▸ Head 3"), ("]", "Layer 5 ▸ Head 4"), ("ArrowDown", "Layer 4 ▸ Head 4")):
        press(key)
        expect(inspector).to_contain_text(place)
    pictures = set()
    for step in (3, 1, LAST):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        expect(stage.region("Timeline")).to_contain_text(f"Step {step}, decode")
        pictures.add(stage.painted().picture("Model map"))
    assert len(pictures) == 3
    stage.words.nth(2).click()
    stage.expect_step(2)
    stage.slider.fill("3")
    stage.expect_step(3)
    stage.page.evaluate(WATCH)
    stage.button("Play").click()
    stage.expect_phase("done")
    stage.expect_step(LAST)
    shown = stage.page.evaluate("window.shown")
    assert list(shown) == ["3", "4", "5"]
    assert len(set(shown.values())) == 3


def test_an_address_is_followed_wherever_it_comes_from(
    stage: Stage, server: Server, short_run: str, new_page: NewPage
) -> None:
    page, session = stage.page, share(server, short_run).id
    place = "#step=1&layer=4&head=2&query=7&key=3&view=pair"
    page.goto(f"{server.url}s/{session}?present=1{place}")
    stage.expect_step(1)
    expect(stage.ending).to_be_attached()
    expect(page).to_have_url(f"{server.url}s/{session}?present=1{place}")
    page.evaluate("location.hash = 'step=99999999&layer=-4&head=3&query=2&key=9999&view=block&zoom=9&view=attic'")
    inside = f"{server.url}s/{session}?present=1#step={LAST}&layer=0&head=3&query=2&key=2&view=block"
    for again in (False, True):
        if again:
            page.reload()
        stage.expect_step(LAST)
        expect(page).to_have_url(inside)
    page.go_back()
    stage.expect_step(1)
    expect(page).to_have_url(re.compile(re.escape(place)))
    assert page.locator("html").get_attribute("data-present") == "true"

    stage.at(short_run, 2, "head", head=2, more="&query=9&key=4")
    page.keyboard.press("]")
    page.wait_for_url("**/?run=*#step=2&layer=13&head=3&query=9&key=4&view=head")
    cell = stage.region("Inspector").get_by_text("Query 9, ")
    expect(cell).to_contain_text(f"weight {server.log(short_run).weight(13, 3, 9, 4):.3f}")
    other = Stage(new_page(), server)
    other.page.goto(page.url)
    other.expect_step(2)
    for name in ("Inspector", "Next token", "KV cache", "Time"):
        expect(stage.region(name)).not_to_contain_text("Asking the model")
        # Each page has asked for the exact values in the Inspector itself.
        alike = same_but_for_rounding if name == "Inspector" else operator.eq
        expect_same_text(other.region(name), stage.region(name), alike)
    stage.look_at(f"#step={LAST}&layer=13&head=8&query=15&key=1&view=head")
    page.keyboard.press("Home")
    stage.expect_step(0)
    expect(stage.region("Inspector")).to_contain_text(f"is computed in step {LAST}")


def test_a_link_to_no_run_says_so_and_leaves_the_page_usable(stage: Stage, complaints: Complaints) -> None:
    complaints.allow("status of 404")
    stage.page.goto(f"{stage.server.url}?run=<b>x</b>")
    expect(stage.alert).to_be_visible()
    stage.run("Hello", 2)
    stage.expect_phase("done")


def test_a_step_that_is_shown_is_told_even_if_the_next_follows_at_once(stage: Stage, short_run: str) -> None:
    """The sentence may be ahead of the panels, never behind them; it is read out once the slider rests."""
    stage.open_finished(short_run)
    told = stage.page.evaluate(
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
    assert all(told >= shown for shown, told in told)
    expect(stage.region("Timeline").get_by_role("paragraph")).to_contain_text(f"Step {LAST}, decode")


def test_a_long_prompt_is_painted_to_its_last_layer_and_nothing_of_a_step_that_was_left_stays(stage: Stage) -> None:
    """Its map is painted over several frames; the next step may be there before the last of them."""
    run = stage.server.finished_run("A step is left before its picture is whole. " * 23, max_new_tokens=3)
    stage.at(run, 1, "head")
    empty_lines = """({ width, height, data }) => {
      let empty = 0;
      for (let y = Math.round(height * 0.12); y < height * 0.8; y++) {
        let painted = 0;
        for (let x = 0; x < width; x++) if (data[4 * (y * width + x) + 3]) painted++;
        if (painted < width / 3) empty++;
      }
      return empty / height;
    }"""
    eventually(lambda: seen(stage.map.locator("canvas"), empty_lines) < 0.15)
    whole = stage.painted().picture("Model map")
    for gap in (4, 6):
        stage.page.keyboard.press("Home")
        stage.frames(gap)
        stage.page.keyboard.press("ArrowRight")
        stage.expect_step(1)
        eventually(lambda: stage.picture("Model map") == whole, 10)


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
        stage.at(run, 0, "head")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/head?" in request.url else None)
    with page.expect_request("**/head?step=31&*"):
        stood = dict(page.evaluate(SCRUB, 30))
    allowed = {31, *(step for step, ms in stood.items() if ms >= SLOWER * SETTLE_MS)}
    assert len(allowed) < 10, "the machine was too slow to scrub"
    assert {int(parse_qs(urlsplit(url).query)["step"][0]) for url in asked} <= allowed
