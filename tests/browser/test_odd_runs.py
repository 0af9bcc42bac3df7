"""Runs that are as small, as long or as strange as they can be, and viewers who go away in the middle of one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from playwright.sync_api import Locator, expect

from tests.support import tiny_files as tiny
from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP, PHONE, VIEWS
from tests.support.server import Server
from tests.support.stage import Stage, box_of
from tests.support.written import missing_values, written_out

MARKUP = "<img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "שלום עולם"
OVERRIDE = "\u202eabc"
LONG_WORD = "x" * 200
LINES = "\n\n\n"
WORDS = (MARKUP, RIGHT_TO_LEFT, OVERRIDE, LONG_WORD, LINES)
FAMILY = "👩‍👩‍👧"
"""Seventeen bytes and a token of its own for each."""
ODD_PROMPT = f"{MARKUP}{RIGHT_TO_LEFT}{LONG_WORD}{OVERRIDE}{LINES} the {FAMILY} in\tit\n"

NOT_GIVEN = re.compile(
    "did not give|could not be|cannot be reached|is not there|Asking the model|Computing the (best guess|exact values)"
)


@dataclass(frozen=True)
class Odd:
    """A finished run, where it is and how many steps it has."""

    server: Server
    run: str

    @property
    def last(self) -> int:
        return int(self.server.status(self.run)["steps"]) - 1


@pytest.fixture(scope="module")
def smallest(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A random model of one layer and one head, whose vocabulary has the odd words."""
    folder = tmp_path_factory.mktemp("smallest")
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1}
    tiny.write_folder(folder, "llama", words=WORDS, max_position_embeddings=256, **sizes)
    return start_server("--model", str(folder))


@pytest.fixture(scope="module")
def gpt2(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A random GPT-2: no gate in its MLP, learned positions, as many K/V heads as query heads."""
    folder = tmp_path_factory.mktemp("gpt2")
    tiny.write_folder(folder, "gpt2", n_positions=256)
    return start_server("--model", str(folder))


@pytest.fixture(scope="module")
def one_token(_server: Server) -> Odd:
    """One token of prompt and one new one: a single row through the model."""
    _server.wait_until_ready()
    run = _server.finished_run("Hello", max_new_tokens=1)
    assert len(_server.log(run).tokens) == 2
    return Odd(_server, run)


@pytest.fixture(scope="module")
def full_length(_server: Server) -> Odd:
    """512 positions."""
    _server.wait_until_ready()
    run = _server.finished_run("one two " * 250, max_new_tokens=12)
    assert _server.log(run).steps[-1]["position"] == 511
    return Odd(_server, run)


@pytest.fixture(scope="module")
def odd_words(smallest: Server) -> Odd:
    """Every odd word in the prompt of one layer and one head; a branch that was given 200 characters as one token."""
    smallest.wait_until_ready()
    root = smallest.finished_run(ODD_PROMPT, max_new_tokens=12)
    prompt = smallest.opened(root)["tokens"]
    assert set(WORDS) <= {token["text"] for token in prompt}
    return Odd(smallest, smallest.forked_run(root, len(prompt) + 2, len(tiny.VOCAB) + WORDS.index(LONG_WORD)))


@pytest.fixture(scope="module")
def one_of_everything(smallest: Server) -> Odd:
    """One layer, one head, one token."""
    smallest.wait_until_ready()
    return Odd(smallest, smallest.finished_run("a", max_new_tokens=1))


@pytest.fixture(scope="module")
def gpt2_run(gpt2: Server) -> Odd:
    gpt2.wait_until_ready()
    return Odd(gpt2, gpt2.finished_run("the 👩 thing in it", max_new_tokens=12))


RUNS = ["one_token", "full_length", "odd_words", "one_of_everything", "gpt2_run"]


@pytest.fixture
def odd(request: pytest.FixtureRequest) -> Odd:
    run: Odd = request.getfixturevalue(request.param)
    return run


def crumb(stage: Stage) -> Locator:
    """The name of the view in sight, in the path over the inspector."""
    return stage.page.get_by_role("navigation", name="Zoom").locator("[aria-current=page]")


def look(stage: Stage, odd: Odd, view: str, step: int) -> Locator:
    """Open a view at a step of a run and wait for the values it fetches; the inspector."""
    stage.show(odd.run, f"#step={step}&layer=0&head=0&view={view}")
    inspector = stage.region("Inspector")
    expect(stage.page.locator("html[data-step]")).to_have_attribute("data-step", str(step))
    expect(crumb(stage)).to_have_count(1)
    stage.page.wait_for_url(re.compile(f"view={view}"))
    expect(inspector.get_by_role("heading", level=2)).not_to_be_empty()
    stage.rest(100)  # what a view asks the model for, it asks for once it is drawn
    expect(inspector.get_by_text(NOT_GIVEN)).to_have_count(0)
    return inspector


@pytest.mark.parametrize("odd", RUNS, indirect=True)
def test_an_odd_run_is_whole_in_every_view(new_page: NewPage, odd: Odd) -> None:
    for screen, steps in ((DESKTOP, {0, odd.last}), (PHONE, {odd.last})):
        stage = Stage(new_page(**screen, reduced_motion="reduce"), odd.server)
        for view, step in product(VIEWS if screen is DESKTOP else ("block", "pair", "tokens"), sorted(steps)):
            look(stage, odd, view, step)
            place = f"{view}, step {step}"
            assert stage.overflow() <= 0, place
            written = written_out(stage.page)
            assert missing_values(written) == [], place
            assert "\u202e" not in written[0].replace(ODD_PROMPT, ""), place
            assert stage.page.locator("#page img, #page script, [onerror]").count() == 0, place


def test_one_of_everything_is_walked_without_going_anywhere(new_page: NewPage, one_of_everything: Odd) -> None:
    stage = Stage(new_page(), one_of_everything.server)
    inspector = look(stage, one_of_everything, "block", 0)
    for neighbour in inspector.get_by_role("group", name="Layer", exact=True).get_by_role("button").all():
        expect(neighbour).to_be_disabled()
    stage.map.press("ArrowUp")
    stage.map.press("ArrowRight")
    stage.page.wait_for_url(re.compile("layer=0&head=0"))
    expect(stage.slider).to_have_attribute("max", "0")
    for name in ("Next step", "Previous step", "Play"):
        stage.button(name).click()
        stage.expect_phase("done")
    expect(look(stage, one_of_everything, "time", 0)).to_contain_text("Decode has not started")


def test_the_last_of_512_positions_can_be_read_term_by_term(new_page: NewPage, full_length: Odd) -> None:
    stage = Stage(new_page(), full_length.server)
    weights = full_length.server.head(full_length.run, full_length.last, 0, 0)["weights"][-1]
    assert len(weights) == 512
    inspector = look(stage, full_length, "pair", full_length.last)
    rows = inspector.get_by_role("table").last.get_by_role("row")
    listed = rows.filter(has=stage.page.get_by_role("button", name=re.compile(r"\d$")))
    expect(rows).to_have_count(listed.count() + 3)  # names, the rest, sum
    expect(rows.nth(-2)).to_contain_text(f"{512 - listed.count()} more keys")
    for row in listed.all():
        key = int(row.get_by_role("rowheader").inner_text().split()[-1])
        weight = row.get_by_role("cell").nth(2).inner_text()
        assert float(weight) == pytest.approx(float(weights[key]), abs=6e-4), key
    assert rows.last.get_by_role("cell").nth(2).inner_text().strip() == "1.000"
    before = listed.count()
    rows.nth(-2).get_by_role("button").click()
    expect(listed).to_have_count(before + 50)


def test_gpt2_has_no_gate_and_does_not_turn_its_keys(new_page: NewPage, gpt2_run: Odd) -> None:
    stage = Stage(new_page(), gpt2_run.server)
    inspector = look(stage, gpt2_run, "block", 3)
    drawing = inspector.get_by_role("application", name=re.compile("Page Up and Page Down between vectors"))
    value = stage.page.locator(f"[id='{drawing.get_attribute('aria-describedby')}']")
    told: list[str] = []
    while len(told) == len(set(told)):  # they go round
        before = value.inner_text()
        drawing.press("PageDown")
        expect(value).not_to_have_text(before)
        told.append(value.inner_text())
    words = " ".join(told)
    for said in ("LayerNorm", "gelu", "k of KV head 3"):
        assert said in words
    for unsaid in ("RoPE", "gate", "silu", "RMSNorm", "rotated"):
        assert unsaid not in words
    assert len(set(told)) > 30
    expect(look(stage, gpt2_run, "head", 3)).to_contain_text("has its own K and V")


def test_odd_tokens_stay_text_and_keep_their_place(new_page: NewPage, odd_words: Odd) -> None:
    stage = Stage(new_page(), odd_words.server)
    look(stage, odd_words, "model", 0)
    cells = stage.page.get_by_role("group", name="Tokens and ids of this step").get_by_role("row")
    prompt = odd_words.server.opened(odd_words.run)["tokens"]
    expect(cells).to_have_count(1 + len(prompt))
    shown = ["<img·src=x·onerror=aler…", "שלום·עולם", "x" * 23 + "…", "\\u{202E}abc", "⏎⏎⏎"]
    stage.button("Tokens").click()
    names = stage.page.get_by_role("group", name=f"Prompt, {len(prompt)} tokens").locator("bdi")
    for text, name in zip(shown, names.all(), strict=False):
        expect(name).to_have_text(text)
    fed = [row.inner_text().split("\t") for row in cells.all()[1:]]
    assert [row[0].strip() for row in fed] == [str(position) for position in range(len(prompt))]
    assert [row[-1].strip() for row in fed] == [str(token["id"]) for token in prompt]
    family = [row[1].strip() for row in fed if row[1].strip().startswith("\\x")]
    assert bytes(int(name[2:], 16) for name in family).decode() == FAMILY
    word = stage.page.get_by_title(re.compile("set by this branch"))
    expect(word).to_have_attribute("title", re.compile(f"^{LONG_WORD}\\b"))
    box = box_of(word)
    assert box["width"] < 240, "a token of 200 characters is cut where it is small"


def growing(stage: Stage, view: str, new_tokens: int) -> str:
    """Start a run of the real model and look at it in a view while it grows."""
    stage.open()
    run = stage.run("Once upon a time", new_tokens)
    expect(stage.words.nth(1)).to_be_visible()
    stage.page.goto(f"{stage.server.url}?run={run}#view={view}")
    expect(crumb(stage)).to_have_count(1)
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_be_visible()  # its code has come
    return run


def whole(stage: Stage, run: str) -> int:
    """Wait until the page has every step of a run; how many."""
    log = stage.server.log(run)
    expect(stage.slider).to_have_attribute("max", str(len(log.steps) - 1), timeout=60_000)
    return len(log.steps)


def test_a_connection_dropped_in_a_wide_view_comes_back_to_all_of_it(stage: Stage, complaints: Complaints) -> None:
    complaints.allow(r"ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|WebSocket connection to|dynamically imported")
    run = growing(stage, "block", 40)
    stage.page.context.set_offline(True)
    stage.button("Next step").click()
    stage.slider.fill("1")
    stage.expect_step(1)
    stage.server.wait_for_the_end(run)
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_be_visible()
    stage.page.context.set_offline(False)
    steps = whole(stage, run)
    stage.slider.press("End")
    stage.expect_step(steps - 1)
    expect(stage.region("Inspector").get_by_text(NOT_GIVEN)).to_have_count(0)


def test_code_of_a_part_opened_without_a_network_comes_when_it_is_back(
    stage: Stage, complaints: Complaints, short_run: str
) -> None:
    complaints.allow(r"ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|dynamically imported|WebSocket connection to")
    inspector = look(stage, Odd(stage.server, short_run), "block", 3)
    part = inspector.get_by_role("group").filter(has_text="What each head adds, and their sum")
    stage.page.context.set_offline(True)
    part.get_by_text("What each head adds, and their sum").click()
    expect(part.get_by_role("alert")).to_contain_text("This could not be loaded")
    stage.page.context.set_offline(False)
    expect(part.get_by_role("alert")).to_have_count(0)
    expect(part.get_by_role("group", name="Head")).to_be_visible()


def test_values_asked_for_without_a_network_come_when_it_is_back(
    stage: Stage, complaints: Complaints, short_run: str
) -> None:
    complaints.allow(r"ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|dynamically imported|WebSocket connection to")
    inspector = look(stage, Odd(stage.server, short_run), "block", 3)
    stage.page.context.set_offline(True)
    stage.slider.fill("4")
    expect(inspector).to_contain_text("The model did not give the exact values")
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Time").click()
    expect(inspector.get_by_role("alert")).to_contain_text("The view could not be loaded")
    stage.page.context.set_offline(False)
    expect(inspector.get_by_role("heading", level=2)).to_contain_text(re.compile(r"Prefill of \d+ tokens took"))
    expect(inspector.get_by_role("alert")).to_have_count(0)
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Layer 0").click()
    expect(inspector.get_by_text(NOT_GIVEN)).to_have_count(0)


def test_a_tab_asleep_for_an_hour_goes_on_where_it_was(new_page: NewPage, server: Server, short_run: str) -> None:
    stage = Stage(new_page(own=True), server)
    stage.page.clock.install()
    stage.open(short_run, "#step=1&layer=13&head=8&view=model").expect_step(1)
    stage.page.get_by_label("Speed").select_option("¼×")
    stage.button("Play").click()
    stage.page.clock.pause_at(time.time() + 3600)
    assert int(stage.slider.input_value()) <= 2
    stage.page.clock.resume()
    stage.expect_phase("running")
    stage.skip_to_the_end()
    stage.expect_phase("done")


def test_a_frozen_tab_catches_up_with_a_run_that_grew(stage: Stage) -> None:
    run = growing(stage, "time", 80)
    stage.play_at("¼×")  # three seconds a step, whatever else takes its time
    before = int(stage.slider.input_value())
    client = stage.page.context.new_cdp_session(stage.page)
    client.send("Debugger.enable")
    client.send("Debugger.pause")  # a tab in sight cannot be frozen: here its script stops in the middle
    stage.server.wait_for_the_end(run)
    client.send("Debugger.disable")
    woken = int(stage.slider.input_value())
    assert woken <= before + 10, "it did not sleep"
    steps = whole(stage, run)
    # It plays on meanwhile; what it must not do is to be at the end at once.
    assert int(stage.slider.input_value()) <= woken + 20 < steps - 1, "the playhead ran ahead of what can be followed"
    stage.slider.press("End")
    stage.expect_step(steps - 1)


LOSE = """(canvas) => {
  canvas.dispatchEvent(new Event("contextlost"));
  canvas.getContext("2d").reset();
}"""
RESTORE = """(canvas) => canvas.dispatchEvent(new Event("contextrestored"))"""


def test_a_canvas_the_browser_has_lost_is_drawn_again(stage: Stage, short_run: str) -> None:
    picture = "canvas => canvas.toDataURL()"
    drawn = 0
    for view in VIEWS:
        look(stage, Odd(stage.server, short_run), view, 3)
        before = stage.painted().page.locator("canvas").evaluate_all(f"all => all.map({picture})")
        for canvas, painted in zip(stage.page.locator("canvas").all(), before, strict=True):
            canvas.evaluate(LOSE)
            assert canvas.evaluate(picture) != painted, f"{view}: it was blank to begin with"
            canvas.evaluate(RESTORE)
            assert canvas.evaluate(picture) == painted, view
            drawn += 1
    assert drawn > len(VIEWS)  # the map, and what the views draw themselves
