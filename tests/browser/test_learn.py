"""Lessons in a browser: steps, predictions, tasks, the picture, runs of one's own, on a phone, and as a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from playwright.sync_api import FrameLocator, Locator, Page, expect

from kvscope.app.paths import LESSONS
from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import PHONE
from tests.support.server import Server

LESSON = "test-one"
"""In tests/fixtures/lessons."""
SHIPPED = sorted((LESSONS / "en").glob("*.md"))
ZERO, THREE, LAYER, TASK, BYTES = range(1, 6)
"""Its steps."""
SMALL_DESKTOP = {"width": 1024, "height": 768}
TO_THE_TOP = "part => part.ownerDocument.querySelectorAll('*').forEach((each) => each.scrollTo(0, 0))"

COUNT_PRINTS = """() => {
  document.documentElement.dataset.prints = 0;
  window.print = () => { document.documentElement.dataset.prints++; };
}"""
INK = """image => {
  const { naturalWidth: width, naturalHeight: height } = image;
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  return data.filter((value, at) => at % 4 === 1 && value < 250).length / (data.length / 4);
}"""
"""The share of a picture's pixels that are not white."""


class Lesson:
    """A lesson that is open in a page."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        page.goto(address)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()

    @property
    def picture(self) -> FrameLocator:
        return self.page.frame_locator("iframe")

    def expect_at(self, step: int) -> None:
        """Steps are counted from 1."""
        button = self.page.get_by_role("button", name=f"Step {step}", exact=True)
        expect(button).to_have_attribute("aria-current", "step")

    def expect_shown(self, **values: object) -> None:
        """What the Stage in the picture shows."""
        for name, value in values.items():
            expect(self.picture.locator(f"html[data-{name}='{value}']")).to_be_attached()

    def next(self) -> None:
        """Goes to the next step; an open question is shown its answer first."""
        if (show := self.page.get_by_role("button", name="Show me", exact=True)).is_visible():
            show.click()
        self.page.get_by_role("button", name="Next", exact=True).click()


def part_of(lesson: Lesson, name: str) -> Locator:
    """What brings a part into sight: its own element, or the outline in the drawing of a layer."""
    return lesson.picture.locator(f".view [data-lit='{name}'], .view [data-names~='{name}']").first


@pytest.fixture
def learn(new_page: NewPage, server: Server) -> Callable[..., Lesson]:
    """Opens a lesson at a step."""

    def open_it(step: int = ZERO, **options: object) -> Lesson:
        return Lesson(new_page(**options), f"{server.url}learn/{LESSON}#{step}")

    return open_it


def test_steps_go_forwards_and_backwards_by_buttons_keys_and_history(learn: Callable[..., Lesson]) -> None:
    lesson = learn()
    lesson.expect_shown(step=0)
    lesson.next()
    lesson.expect_at(2)
    lesson.expect_shown(step=3)
    lesson.page.keyboard.press("ArrowRight")
    lesson.expect_at(3)
    lesson.expect_shown(step=0)
    lesson.page.keyboard.press("ArrowLeft")
    lesson.expect_at(2)
    lesson.page.go_back()
    lesson.expect_at(3)
    lesson.page.get_by_role("button", name="Back", exact=True).click()
    lesson.expect_at(2)
    lesson.page.reload()
    lesson.expect_at(2)


def test_a_number_is_compared_with_that_of_the_run_and_stays(learn: Callable[..., Lesson]) -> None:
    lesson = learn(BYTES)
    box = lesson.page.get_by_role("region", name="Prediction")
    field, check = box.get_by_role("textbox"), box.get_by_role("button", name="Check")
    field.fill("lots")
    check.click()
    expect(box.get_by_role("status")).to_contain_text("is not a number")
    box.get_by_role("button", name="Hint").click()
    box.get_by_role("button", name="Next hint").click()
    field.fill("23 040")
    field.press("Enter")
    said = "You said 23,040 B, it is 46,080 B."
    expect(box.get_by_role("status")).to_contain_text(said)
    lesson.page.get_by_role("button", name="Back", exact=True).click()
    lesson.next()
    expect(box.get_by_role("status")).to_contain_text(said)
    lesson.page.reload()
    expect(box.get_by_role("status")).to_contain_text(said)


def test_a_wrong_choice_says_why_and_the_answer_brings_its_picture(learn: Callable[..., Lesson]) -> None:
    lesson = learn(LAYER)
    box = lesson.page.get_by_role("region", name="Prediction")
    box.get_by_role("button", name="street").click()
    expect(box.get_by_role("group", name="Answers")).to_contain_text("Its share is 0.")
    expect(box.get_by_role("button", name="street")).to_be_focused()
    more = lesson.page.get_by_role("article").get_by_text("Attention says more")
    expect(more).not_to_be_visible()
    lesson.page.get_by_role("button", name="Show me").click()
    expect(box.get_by_role("status")).to_be_focused()  # or the next Tab would begin at the top of the page
    expect(box.get_by_role("button", name="animal")).to_be_disabled()
    expect(lesson.picture.get_by_text("Locked:")).to_be_visible()
    expect(more).to_be_visible()


def test_the_next_step_waits_for_an_answer_once(learn: Callable[..., Lesson]) -> None:
    lesson = learn(ZERO)
    page = lesson.page
    expect(page.get_by_role("button", name="Next, after your answer")).to_be_disabled()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("region", name="Prediction")).to_be_focused()
    lesson.expect_at(1)
    page.get_by_role("textbox").fill("5")
    page.get_by_role("textbox").press("Enter")
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_enabled()
    page.reload()
    page.get_by_role("heading", level=1).first.press("ArrowRight")
    lesson.expect_at(2)


def test_a_lesson_opens_where_its_reader_was(learn: Callable[..., Lesson], server: Server) -> None:
    page = learn(BYTES - 1).page
    page.get_by_role("link", name="Lessons", exact=True).click()
    expect(page.get_by_role("link", name=f"Continue lesson {len(SHIPPED) + 1}, step {BYTES - 1}")).to_be_visible()
    page.goto(f"{server.url}learn/{LESSON}")
    expect(page.get_by_role("button", name=f"Step {BYTES - 1}", exact=True)).to_have_attribute("aria-current", "step")


def test_large_type_is_remembered_and_large(learn: Callable[..., Lesson]) -> None:
    page = learn(viewport=SMALL_DESKTOP).page
    heading = page.get_by_role("heading", level=1).first
    small = heading.bounding_box()
    page.get_by_role("button", name="Large type").click()
    page.reload()
    expect(page.get_by_role("button", name="Large type", pressed=True)).to_be_visible()
    large = heading.bounding_box()
    assert small
    assert large
    assert large["height"] >= 40 > small["height"]


def test_a_printed_lesson_has_lines_to_write_on_and_its_key_on_another_page(learn: Callable[..., Lesson]) -> None:
    page = learn().page
    page.emulate_media(media="print")
    questions, key = page.locator(".lesson-handout > section:not(.lesson-key)"), page.locator(".lesson-key")
    expect(questions.nth(LAYER - 1).get_by_text("☐ animal")).to_be_visible()
    expect(questions.nth(LAYER - 1)).not_to_contain_text("Its share is")
    expect(questions.nth(BYTES - 1).get_by_text("Your prediction")).to_be_visible()
    expect(key).to_contain_text("Its share is 0.")
    expect(key).to_contain_text("46,080 B")
    assert key.evaluate("key => getComputedStyle(key).breakBefore") == "page"
    expect(questions.nth(ZERO - 1)).to_contain_text("The picture of step 1 is missing: only the button Print")


def test_print_takes_the_picture_of_each_step_and_then_prints(learn: Callable[..., Lesson]) -> None:
    lesson = learn(THREE, color_scheme="dark")
    lesson.expect_shown(step=3, theme="dark")
    page = lesson.page
    page.evaluate(COUNT_PRINTS)
    page.get_by_role("button", name="Print", exact=True).click()
    expect(page.get_by_role("dialog", name="Preparing the handout")).to_contain_text("Picture of step 1 of 5")
    lesson.expect_shown(theme="light")
    expect(page.locator("html[data-prints='1']")).to_be_attached(timeout=120_000)
    page.emulate_media(media="print")
    steps = page.locator(".lesson-handout > section:not(.lesson-key)")
    ink = [steps.nth(step - 1).locator("img").evaluate(INK) for step in range(ZERO, TASK + 1)]
    assert all(share > 0.02 for share in ink)
    assert len(set(ink)) == len(ink)  # each has its own
    expect(steps.nth(BYTES - 1)).to_contain_text(f"See the picture of step {TASK}.")
    assert steps.first.evaluate("step => getComputedStyle(step).breakInside") == "avoid"
    page.emulate_media(media="screen")
    lesson.expect_at(THREE)
    lesson.expect_shown(step=3, theme="dark")


def test_printing_can_be_cancelled(learn: Callable[..., Lesson]) -> None:
    lesson = learn(THREE)
    lesson.expect_shown(step=3)
    page = lesson.page
    page.evaluate(COUNT_PRINTS)
    page.get_by_role("button", name="Print", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    lesson.expect_shown(step=3)
    expect(page.locator(".lesson-handout img")).to_have_count(0)
    assert page.evaluate("document.documentElement.dataset.prints") == "0"


def test_a_picture_that_no_run_can_be_loaded_for_is_named_on_paper(new_page: NewPage, server: Server) -> None:
    page = new_page(own=True)
    page.clock.install()
    page.route("**/?run=*", lambda route: route.abort())
    page.route("**/s/*", lambda route: route.abort())
    page.goto(f"{server.url}learn/{LESSON}")
    page.evaluate(COUNT_PRINTS)
    page.get_by_role("button", name="Print", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.clock.run_for(60_000)
    expect(page.locator("html[data-prints='1']")).to_be_attached()
    for step in range(ZERO, BYTES + 1):
        said = page.get_by_text(f"The picture of step {step} is missing: The page did not show it.")
        expect(said).to_have_count(1)


def test_a_step_is_shared_by_its_link_and_embedded(learn: Callable[..., Lesson], server: Server) -> None:
    page = learn(THREE).page
    page.get_by_role("button", name="Share, embed").click()
    expect(page.get_by_role("textbox", name="Link")).to_have_value(f"{server.url}learn/{LESSON}#{THREE}")
    expect(page.get_by_role("textbox", name="Text to paste")).to_have_value(
        re.compile(f'/embed/learn/{LESSON}#{THREE}"')
    )


def test_a_task_is_done_in_the_picture_and_stays_done(learn: Callable[..., Lesson]) -> None:
    lesson = learn(TASK)
    task = lesson.page.get_by_role("region", name="Task")
    expect(task.get_by_role("status")).to_contain_text("notices")
    lesson.picture.get_by_role("button", name="Open the layer above").click()
    expect(task.get_by_role("status")).to_contain_text("Done")
    lesson.page.reload()
    expect(lesson.page.get_by_role("region", name="Task").get_by_role("status")).to_contain_text("Done")


def test_prose_and_picture_have_one_clock_and_light_each_other(learn: Callable[..., Lesson]) -> None:
    lesson = learn()
    lesson.page.get_by_role("textbox").fill("4")
    lesson.page.get_by_role("button", name="Check").click()
    lesson.picture.get_by_role("slider", name="Step").fill("3")
    lesson.expect_at(THREE)
    lesson.next()
    name = lesson.page.get_by_role("button", name="64 numbers")
    expect(lesson.picture.locator("[data-lit='attn.change']")).to_be_attached()
    name.hover()
    expect(lesson.picture.locator("[data-lit='attn.change']")).not_to_be_attached()
    expect(lesson.picture.locator("[data-lit='attn.mixed']")).to_be_attached()


def test_a_lesson_is_computed_over_the_viewers_own_run_and_goes_back(learn: Callable[..., Lesson]) -> None:
    lesson = learn(LAYER)
    page, stage = lesson.page, lesson.picture
    stage.get_by_role("button", name="Try your own").click()
    stage.get_by_role("textbox", name="Prompt").fill("My old dog likes to run because he is")
    stage.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("numbers are those of your own run")).to_be_visible()
    expect(page.get_by_role("region", name="Prediction")).to_contain_text("old")
    page.get_by_role("button", name="Back to the lesson’s run").click()
    expect(page.get_by_text("numbers are those of your own run")).not_to_be_visible()
    expect(page.get_by_role("region", name="Prediction")).to_contain_text("animal")


@pytest.mark.parametrize(
    ("step", "button"),
    [("08-choosing-the-next-token#7", "Search"), ("09-the-loop#6", "Run it without a cache")],
)
def test_a_task_is_done_once_an_experiment_on_the_viewers_own_run_has_ended(
    new_page: NewPage, server: Server, step: str, button: str
) -> None:
    lesson = Lesson(new_page(), f"{server.url}learn/{step}")
    stage, task = lesson.picture, lesson.page.get_by_role("region", name="Task").get_by_role("status")
    stage.get_by_role("button", name="Try your own").click()
    stage.get_by_role("textbox", name="Prompt").fill("The dog likes")
    stage.get_by_role("button", name="Run", exact=True).click()
    expect(lesson.page.get_by_text("numbers are those of your own run")).to_be_visible()
    expect(task).to_contain_text("notices")
    stage.get_by_role("button", name=button, exact=True).click()
    expect(task).to_contain_text("Done")


def test_times_are_predicted_from_those_of_the_viewers_own_run(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(), f"{server.url}learn/12-two-phases#7")
    page, stage = lesson.page, lesson.picture
    stage.get_by_role("button", name="Try your own").click()
    stage.get_by_role("textbox", name="Prompt").fill("My old dog likes to run because he is")
    stage.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("numbers are those of your own run")).to_be_visible()
    expect(page.get_by_role("region", name="Task").get_by_role("status")).to_contain_text("Done")
    run = stage.locator("html").get_attribute("data-run")
    assert run
    steps = server.log(run).steps
    prefill, *decode = [step["ms"]["total"] for step in steps]
    expect(page.get_by_role("article")).to_contain_text(f"Decode step 1 took {decode[0]:,.1f} ms, as measured.")
    page.get_by_role("textbox", name="Your prediction").fill("1000000")
    page.get_by_role("button", name="Check").click()
    verdict = page.get_by_role("region", name="Prediction").get_by_role("status")
    expect(verdict).to_contain_text(f"it is {round(sum(decode)):,} ms")
    lesson.next()
    expect(page.get_by_role("article")).to_contain_text(f"Prefill computed {steps[0]['rows_computed']} rows.")
    page.get_by_role("button", name="Show me").click()
    expect(verdict).to_contain_text(f"It is {round(prefill):,} ms.")


def test_the_picture_can_be_kept(learn: Callable[..., Lesson]) -> None:
    lesson = learn(THREE)
    lesson.expect_shown(step=3)
    lesson.page.get_by_role("link", name="Leave, keep this picture").click()
    expect(lesson.page.locator("html[data-step='3']")).to_be_attached()
    expect(lesson.page.get_by_role("button", name="Try your own")).to_be_visible()


def test_on_a_phone_the_prose_is_a_sheet_over_the_picture(learn: Callable[..., Lesson]) -> None:
    lesson = learn(**PHONE)
    lesson.expect_shown(step=0)
    prose = lesson.page.get_by_role("heading", level=1).first
    lesson.page.get_by_role("button", name="Show the picture").click()
    expect(prose).not_to_be_visible()
    lesson.page.get_by_role("button", name="Show the text").click()
    expect(prose).to_be_visible()
    lesson.next()
    lesson.expect_at(2)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ("10-why-keep-k-and-v#3", "what-if-mask"),
        ("08-choosing-the-next-token#7", "beams"),
    ],
)
def test_on_a_phone_what_a_step_names_is_in_sight_until_the_viewer_looks_elsewhere(
    new_page: NewPage, server: Server, step: str, named: str
) -> None:
    lesson = Lesson(new_page(**PHONE), f"{server.url}learn/{step}")
    part = lesson.picture.locator(f".view [data-names~='{named}']")
    expect(part).to_be_in_viewport()
    part.evaluate(TO_THE_TOP)  # as a page does whose parts above grow
    expect(part).to_be_in_viewport()
    lesson.picture.locator("body").dispatch_event("touchstart")
    part.evaluate(TO_THE_TOP)
    part.evaluate("part => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(part).not_to_be_in_viewport(ratio=0.999)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ("02-six-steps#6", ["logits", "choice"]),
        ("05-heads#6", ["attn.scores", "cache.k"]),
        ("07-inside-a-block#3", ["mlp.gate", "mlp.raised", "mlp.hidden"]),
    ],
)
def test_all_that_a_step_names_is_in_sight_where_it_fits(
    new_page: NewPage, server: Server, step: str, named: list[str]
) -> None:
    lesson = Lesson(new_page(viewport=SMALL_DESKTOP), f"{server.url}learn/{step}")
    for name in named:
        expect(part_of(lesson, name)).to_be_in_viewport(ratio=0.999)


def test_what_a_step_names_is_in_sight_again_with_an_answer(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(viewport=SMALL_DESKTOP), f"{server.url}learn/10-why-keep-k-and-v#5")
    operations = part_of(lesson, "cache-step")
    expect(operations).to_be_in_viewport()
    lesson.picture.locator("body").dispatch_event("pointerdown")
    operations.evaluate(TO_THE_TOP)
    expect(operations).not_to_be_in_viewport()
    lesson.page.get_by_role("button", name="Still one").click()
    expect(operations).to_be_in_viewport()


def test_what_a_step_names_is_in_sight_again_after_its_task(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(viewport=SMALL_DESKTOP), f"{server.url}learn/07-inside-a-block#4")
    change = part_of(lesson, "attn.change")
    expect(change).to_be_in_viewport(ratio=1)
    lesson.picture.get_by_role("button", name="Open the layer above").click()  # scrolls up to it
    expect(lesson.page.get_by_role("region", name="Task").get_by_role("status")).to_contain_text("Done")
    expect(change).to_be_in_viewport(ratio=1)


def test_a_choice_that_is_right_stands_alone(learn: Callable[..., Lesson]) -> None:
    box = learn(LAYER).page.get_by_role("region", name="Prediction")
    box.get_by_role("button", name="animal").click()
    expect(box.get_by_role("status")).to_contain_text("Right: animal")


def test_on_a_phone_a_task_leads_to_the_picture_and_what_is_said_afterwards_is_in_sight(
    learn: Callable[..., Lesson],
) -> None:
    lesson = learn(TASK, **PHONE)
    page = lesson.page
    task = page.get_by_role("region", name="Task")
    task.get_by_role("button", name="Show the picture").click()
    expect(task).not_to_be_visible()
    lesson.picture.get_by_role("button", name="Open the layer above").click()
    expect(task.get_by_role("status")).to_contain_text("Done")
    expect(task.get_by_role("status")).to_be_in_viewport(ratio=1)


def test_on_a_phone_the_shares_are_in_sight_while_their_slider_moves(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(**PHONE), f"{server.url}learn/08-choosing-the-next-token#3")
    table = lesson.picture.get_by_role("group", name="From logits to the next token")
    slider = lesson.picture.get_by_label("Slide temperature")
    for value in ("0.45", "1.5"):
        slider.fill(value)
        expect(slider).to_be_in_viewport(ratio=1)
        for row in range(5):
            for share in table.locator("tbody tr").nth(row).locator(".path-cell:has(.is-whole)").all():
                for part in (share.locator(".track"), share.locator("b")):
                    expect(part).to_be_in_viewport(ratio=0.99)
                fits = share.evaluate("({ parentElement: cell }) => cell.scrollWidth <= cell.clientWidth")
                assert fits, "no number leaves its column"


def test_on_a_phone_a_verdict_is_in_sight(learn: Callable[..., Lesson]) -> None:
    page = learn(BYTES, **PHONE).page
    box = page.get_by_role("region", name="Prediction")
    box.get_by_role("textbox").fill("46080")
    box.get_by_role("textbox").press("Enter")
    expect(box.get_by_role("status")).to_contain_text("it is 46,080")
    expect(box.get_by_role("status")).to_be_in_viewport(ratio=1)


def test_the_list_of_tokens_is_at_the_positions_that_a_step_speaks_of(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(**PHONE), f"{server.url}learn/01-what-is-a-token#3")
    expect(lesson.picture.get_by_role("button", name="·assistant: its row")).to_be_in_viewport()
    lesson.page.get_by_role("button", name="At position 34 no space stands before it").click()
    expect(lesson.picture.locator("[data-locked]").first).to_contain_text("ass")
    expect(lesson.picture.locator("[data-locked]").last).to_be_in_viewport()
    lesson.expect_shown(step=0)


def test_a_long_token_is_whole_where_its_list_is_alone(new_page: NewPage, server: Server) -> None:
    lesson = Lesson(new_page(), f"{server.url}learn/01-what-is-a-token#4")
    expect(lesson.picture.get_by_role("button", name="<|im_start|>: its row").first).to_have_text("<|im_start|>")


def test_a_link_beyond_the_end_of_a_lesson_opens_its_last_step(new_page: NewPage, server: Server) -> None:
    Lesson(new_page(), f"{server.url}learn/05-heads#8").expect_at(7)


def test_a_saved_lesson_plays_without_a_network(new_page: NewPage, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "lesson.html"
    file.write_bytes(requests.get(f"{server.url}api/lessons/{LESSON}.html", timeout=60).content)
    page = new_page(own=True)
    page.context.set_offline(True)
    lesson = Lesson(page, file.as_uri())
    lesson.expect_shown(step=0)
    page.get_by_role("textbox").fill("4")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("region", name="Prediction").get_by_role("status")).to_contain_text("it is 4")
    lesson.next()
    lesson.expect_shown(step=3)


def test_every_step_of_every_lesson_shows_its_picture(
    new_page: NewPage, server: Server, complaints: Complaints
) -> None:
    page = new_page()
    for listed in requests.get(f"{server.url}api/lessons", timeout=60).json()["lessons"]:
        lesson = Lesson(page, f"{server.url}learn/{listed['id']}#1")
        for step in range(1, listed["steps"] + 1):
            expect(lesson.picture.locator("html[data-lesson]"), f"{listed['id']}#{step}").to_be_attached()
            expect(lesson.picture.locator("html[data-state='error']")).not_to_be_attached()
            expect(page.locator(".lesson-problem")).to_have_count(0)
            if step < listed["steps"]:  # not *Next*, which would ask for the pictures of all answers too
                page.get_by_role("button", name=f"Step {step + 1}", exact=True).click()
                lesson.expect_at(step + 1)
    assert complaints.heard == []


def test_a_section_opens_in_two_actions_and_sections_and_questions_lead_somewhere(
    new_page: NewPage, server: Server, complaints: Complaints
) -> None:
    page = new_page()
    page.goto(f"{server.url}learn")
    document = page.get_by_role("group").filter(has_text="The Illustrated Transformer")
    document.get_by_text("The Illustrated Transformer").click()
    document.get_by_role("link", name="The Beast With Many Heads").click()
    expect(page.get_by_role("button", name="Step 1", exact=True)).to_have_attribute("aria-current", "step")
    page.goto(f"{server.url}learn")
    links = page.locator(".learn-document a, .learn-questions a")
    leads = sorted(set(links.evaluate_all("links => links.map(({ href }) => href)")))
    assert len(leads) > 30
    # Their places are checked where they are read (app/learn/paths.py), so one of each lesson is opened here.
    for lead in {lead.partition("#")[0]: lead for lead in leads}.values():
        page.goto(lead)
        lesson, _, step = lead.removeprefix(f"{server.url}learn/").partition("#")
        if lesson[0].isdecimal():
            current = page.get_by_role("button", name=f"Step {step or 1}", exact=True)
            expect(current, lead).to_have_attribute("aria-current", "step")
            expect(page.frame_locator("iframe").locator("html[data-lesson]"), lead).to_be_attached()
        else:
            expect(page.get_by_role("heading", level=1).first, lead).to_be_visible()
    assert complaints.heard == []
