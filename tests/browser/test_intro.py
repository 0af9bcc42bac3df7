"""The first thirty seconds: for whom they are, what they say, and how one moves in them. By accessible names."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.runs import export, share
from tests.support.screens import PHONE, SCHEMES, violations
from tests.support.server import Log, Server
from tests.support.stage import Stage

HEADINGS = [
    "finish this sentence",
    "all {prompt} tokens at once",
    "“it” looks back at “animal”",
    "“far”: the likeliest",
    "a key and a value: the KV cache",
    "only “far” is computed",
    "only “away”",
    "for {prompt} tokens",
    "{without} columns to compute instead of {rows}",
]
"""A part of what each moment says."""
LOOK, CHOICE, AGAIN, PACE, LAST = 2, 3, 6, 7, len(HEADINGS) - 1


class Intro:
    """The intro as its names tell it."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.page = stage, stage.page
        self.main = stage.page.get_by_role("main", name="The first thirty seconds")
        self.slider = stage.page.get_by_role("slider", name="Moment")

    def whole(self) -> Intro:
        """Until all of its run is there, and with it every moment."""
        expect(self.page.get_by_role("button", name="Watch")).to_be_visible()
        expect(self.slider).to_have_attribute("max", str(len(HEADINGS) - 1))
        return self

    @property
    def heading(self) -> Locator:
        return self.main.get_by_role("heading", level=2)

    def go(self, moment: int) -> None:
        self.slider.fill(str(moment))
        expect(self.slider).to_have_value(str(moment))

    def list(self, name: str) -> Locator:
        return self.page.get_by_role("list", name=name)

    def bars(self, moment: int, name: str) -> list[tuple[str, str]]:
        """What each bar of a moment is called and says."""
        self.go(moment)
        expect(self.list(name)).to_be_visible()
        rows = self.list(name).get_by_role("listitem").all_inner_texts()
        return [(called, said) for called, said in (row.split("\n") for row in rows)]

    def expect_moment(self, moment: int, log: Log) -> None:
        expect(self.slider).to_have_value(str(moment))
        expect(self.heading).to_contain_text(said(moment, log))


def said(moment: int, log: Log) -> str:
    prompt, steps = len(log.open["tokens"]), len(log.steps)
    without = sum(prompt + step for step in range(steps))
    return HEADINGS[moment].format(prompt=prompt, without=without, rows=prompt + steps - 1)


@pytest.fixture
def newcomer(stage: Stage) -> Intro:
    """Somebody who has never been here, at the front page."""
    stage.page.goto(stage.server.url)
    return Intro(stage).whole()


@pytest.fixture
def log(newcomer: Intro) -> Log:
    return newcomer.stage.server.log(newcomer.stage.run_id)


def test_watching_plays_to_the_end_where_three_ways_lead_on(newcomer: Intro, log: Log) -> None:
    expect(newcomer.main.get_by_role("paragraph").first).to_contain_text(log.open["prompt"])
    newcomer.page.get_by_role("button", name="Watch").click()
    newcomer.stage.expect_phase("running")
    newcomer.expect_moment(1, log)
    newcomer.slider.press("End")
    newcomer.slider.press("ArrowLeft")
    newcomer.stage.expect_phase("paused")
    newcomer.stage.button("Play").click()
    newcomer.expect_moment(LAST, log)
    newcomer.stage.expect_phase("done")
    for question in ("Why this token?", "What does it look at?", "Why a cache?"):
        expect(newcomer.main.get_by_role("button", name=question)).to_be_visible()
    assert newcomer.page.get_by_role("button").count() <= 15


def test_keys_go_through_the_moments_and_leave_them(newcomer: Intro, log: Log) -> None:
    for moment in range(1, LAST + 1):
        newcomer.page.keyboard.press("ArrowRight")
        newcomer.expect_moment(moment, log)
    newcomer.page.keyboard.press("ArrowLeft")
    newcomer.expect_moment(LAST - 1, log)
    newcomer.page.keyboard.press("Home")
    newcomer.expect_moment(0, log)
    newcomer.page.keyboard.press("End")
    newcomer.expect_moment(LAST, log)
    newcomer.page.keyboard.press("Escape")
    newcomer.stage.expect_view("head")


def test_its_numbers_are_the_logs(newcomer: Intro, log: Log) -> None:
    chosen = log.steps[0]["token"]
    candidates = dict(newcomer.bars(CHOICE, "Likely next tokens"))
    assert list(candidates) == [token["text"].strip() for token in log.steps[0]["top_tokens"][:3]]
    assert number(candidates[chosen["text"].strip()]) == round(100 * chosen["prob"])

    words = [token["text"].strip() for token in log.tokens]
    mix = dict(newcomer.bars(LOOK, "Shares of the mix"))
    assert number(mix["animal"]) == round(100 * log.weight(13, 8, words.index("it"), words.index("animal")))
    assert sum(map(number, mix.values())) == pytest.approx(100, abs=2)

    kv = log.steps[2]["kv"]
    memory = dict(newcomer.bars(AGAIN, "Memory of the cache"))
    assert list(memory)[:2] == [f"{times * kv['positions']} tokens" for times in (1, 2)]
    first, *more = map(number, memory.values())
    assert first == pytest.approx(kv["bytes_used"] / 1e3, abs=0.5)
    assert more == [pytest.approx(times * kv["bytes_used"] / 1e6, abs=0.01) for times in (2, 4)]

    times = [number(said) for _, said in newcomer.bars(PACE, "Times of steps")]
    assert times == [round(step["ms"]["total"]) for step in log.steps[: len(times)]]

    newcomer.go(LAST)
    sentence = newcomer.main.get_by_role("paragraph").filter(has_text=log.open["prompt"]).first
    assert sentence.inner_text().strip() == "".join(token["text"] for token in log.tokens)


def number(text: str) -> float:
    """The first in a text."""
    return float(re.search(r"[\d.]+", text)[0])  # type: ignore[index]


def test_skipping_leads_to_the_stage_and_is_remembered(newcomer: Intro) -> None:
    stage = newcomer.stage
    stage.button("Skip to everything").click()
    stage.expect_view("head")
    stage.expect_phase("running", "done")
    stage.page.goto("about:blank")
    stage.page.goto(stage.server.url)
    stage.expect_view("head")
    expect(newcomer.main).to_have_count(0)


@pytest.mark.parametrize("hash", ["", "#step=2", "#view=cache"])
def test_a_link_to_a_run_passes_it_by(stage: Stage, short_run: str, hash: str) -> None:
    stage.open(short_run, hash)
    expect(stage.page.get_by_role("main", name="The first thirty seconds")).to_have_count(0)


def test_a_question_leads_to_its_view_and_back_leads_back(newcomer: Intro, log: Log) -> None:
    newcomer.slider.press("End")
    newcomer.main.get_by_role("button", name="What does it look at?").click()
    newcomer.stage.expect_view("head")
    newcomer.page.wait_for_url(re.compile("layer=13&head=8&query=8&key=1&view=head"))
    newcomer.stage.look_at("#view=intro")
    newcomer.expect_moment(LAST, log)


def test_on_a_phone_a_question_leads_to_what_answers_it(new_page: Callable[..., Page], server: Server) -> None:
    stage = Stage(new_page(**PHONE), server)
    stage.page.goto(server.url)
    Intro(stage).whole().go(LAST)
    stage.page.get_by_role("button", name="Why a cache?").tap()
    stage.expect_view("cache")
    expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_in_viewport()


def test_a_prompt_of_ones_own_is_told_in_the_same_moments(newcomer: Intro) -> None:
    stage = newcomer.stage
    before = stage.run_id
    stage.button("Try your own").click()
    field = newcomer.page.get_by_role("textbox", name="Prompt")
    expect(field).to_be_focused()
    field.fill("")
    stage.button("Run").click()
    expect(stage.alert).to_be_visible()
    newcomer.page.get_by_label("choose").select_option("sample")
    newcomer.page.get_by_label("new tokens").fill("3")
    field.fill("My favourite colour is")
    field.press("Enter")
    expect(stage.page.locator(f"html:not([data-run='{before}'])")).to_be_attached(timeout=60_000)
    expect(newcomer.heading).to_contain_text("all 4 tokens at once", timeout=30_000)
    stage.button("Pause").click()
    stage.expect_phase("paused")
    log = stage.server.log(stage.run_id)
    assert log.open["prompt"] == "My favourite colour is"
    assert log.open["sampling"]["strategy"] == "sample"


def test_what_is_typed_takes_the_place_of_the_old_prompt_but_not_of_ones_own(newcomer: Intro) -> None:
    page = newcomer.page
    newcomer.stage.button("Try your own").click()
    field = page.get_by_role("textbox", name="Prompt")
    page.get_by_label("top-k").click()
    field.click()
    expect(field).to_have_js_property("selectionStart", 0)
    page.keyboard.type("One ")
    page.get_by_label("top-k").click()
    field.click()
    page.keyboard.press("End")
    page.keyboard.type("two")
    expect(field).to_have_value("One two")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "screen",
    [{}, PHONE, {"viewport": {"width": 320, "height": 640}}, {"viewport": {"width": 844, "height": 390}}],
    ids=["desk", "phone", "small", "low"],
)
def test_no_moment_breaks_a_rule_is_wider_than_its_window_or_hides_its_controls(
    new_page: Callable[..., Page], server: Server, scheme: str, screen: dict[str, object]
) -> None:
    stage = Stage(new_page(**screen, color_scheme=scheme, reduced_motion="reduce"), server)
    stage.page.goto(server.url)
    intro = Intro(stage).whole()
    for moment in range(len(HEADINGS)):
        expect(intro.slider).to_have_value(str(moment))
        assert violations(stage.page) == [], moment
        assert stage.overflow() <= 0, moment
        assert smallest_letter(stage.page) >= 12, moment
        expect(stage.page.get_by_role("group", name="Playback")).to_be_in_viewport(ratio=1)
        stage.page.keyboard.press("ArrowRight")


def test_an_embed_and_a_file_play_it_too(
    new_page: Callable[..., Page], server: Server, shared_run: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = new_page(viewport={"width": 700, "height": 500})
    page.goto(f"{server.url}embed/{shared_run}?view=intro")
    embedded = Intro(Stage(page, server))
    page.get_by_role("button", name="Watch").click()
    expect(embedded.heading).to_contain_text("tokens at once")
    expect(page.get_by_role("button", name="Try your own")).to_have_count(0)
    file = export(server, shared_run, tmp_path_factory.mktemp("file"))
    offline = new_page(offline=True)
    offline.goto(f"{file.as_uri()}#view=intro")
    saved = Intro(Stage(offline, server)).whole()
    offline.keyboard.press("End")
    expect(saved.heading).to_contain_text("Without the cache")
    expect(offline.get_by_role("button", name="Try your own")).to_have_count(0)


@pytest.fixture(scope="module")
def shared_run(_server: Server, short_run: str) -> str:
    return share(_server, short_run).id


SMALLEST = """() => Math.min(...[...document.querySelectorAll(".page *")]
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((each) => each.checkVisibility())
  .map((each) => parseFloat(getComputedStyle(each).fontSize)))"""


def smallest_letter(page: Page) -> float:
    """In CSS pixels, of all text that is laid out."""
    return float(page.evaluate(SMALLEST))
