"""Own prompts, live: typed, refused, started, paused, stepped, stopped, and what is shown while one goes through."""

from __future__ import annotations

import re

import pytest
import requests
from playwright.sync_api import Route, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.waiting import eventually

LONG = 200
"""New tokens of a run that is still being generated when the test is through with it."""
PROMPT = " ".join(["It was the best of times, it was the worst of times,"] * 20)
"""Goes through the model in several passes."""
BEGINNING = "The old lighthouse keeper walked along the cliff every evening, and he always carried a lamp."


def most_tokens(stage: Stage) -> int:
    """The most tokens of a prompt, which depends on the machine's memory."""
    answer = requests.post(f"{stage.server.url}/api/tokens", json={"prompt": "a"}, timeout=60)
    return int(answer.json()["limit"])


def test_what_cannot_be_run_is_named_with_its_limit_and_kept(stage: Stage, complaints: Complaints) -> None:
    complaints.allow("status of 413")  # only the server can count tokens
    stage.open()
    shown, form = stage.run_id, stage.page.get_by_role("form", name="New run")
    for prompt, said in (
        ("", "prompt is empty"),
        ("x" * 8193, "prompt, limit 8192"),
        ("a b " * 2048, f"prompt, limit {most_tokens(stage)}"),
    ):
        stage.type_prompt(prompt)
        stage.button("Run").click()
        expect(stage.alert).to_contain_text(said)
        expect(stage.prompt).to_have_value(prompt)
    stage.type_prompt("Keep me")
    for label, field, value, good in (
        ("temperature", "temperature", "0", "1"),
        ("new tokens", "max_new", "99999", "2"),
    ):
        stage.set_number(label, value)
        stage.button("Run").click()
        expect(stage.alert).to_contain_text(field)
        expect(stage.alert).to_contain_text("limit ")
        expect(form.get_by_label(label)).to_have_value(value)
        stage.set_number(label, good)
    expect(stage.prompt).to_have_value("Keep me")
    assert stage.run_id == shown
    stage.set_number("temperature", 0.5)
    expect(form.get_by_label("choose")).to_have_value("sample")
    prompt = "one\ntwo\nthree"
    stage.type_prompt(prompt)
    stage.button("Run").hover()  # once it stands still: the field above it grows with its lines
    stage.button("Run").click(delay=80)
    expect(stage.page.locator(f"html:not([data-run='{shown}'])")).to_be_attached()
    stage.skip_to_the_end()
    opened = stage.server.opened(stage.run_id)
    assert opened["prompt"] == prompt
    assert opened["sampling"] | {"strategy": "sample", "temperature": 0.5} == opened["sampling"]


@pytest.mark.parametrize(
    "prompt",
    ["<img src=x onerror=alert(1)><b>bold</b> {{7*7}} <script>alert(1)</script>", "שלום \u202e 👩‍👩‍👧‍👦 é\u200b\tx"],
)
def test_a_prompt_is_never_markup(stage: Stage, prompt: str) -> None:
    stage.open()
    run = stage.run(prompt, 2)
    stage.expect_phase("done")
    assert stage.page.locator("img, #page script, .timeline b, .matrix b, [onerror]").count() == 0
    assert stage.server.opened(run)["prompt"] == prompt
    shown = stage.page.get_by_role("group", name="Prompt, ").inner_text()
    assert not set("\u202e\u200b\t") & set(shown)
    assert stage.overflow() <= 0
    stage.ask()
    expect(stage.prompt).to_have_value(prompt)


def test_the_prompt_is_cut_into_tokens_as_it_is_typed(stage: Stage, short_run: str, complaints: Complaints) -> None:
    stage.open(short_run, "#step=1&view=head")
    stage.ask()
    region = stage.region("The prompt as tokens")
    said, tokens = region.get_by_role("status"), region.get_by_role("button")

    def texts() -> list[str]:
        return [each.split("\n")[0] for each in tokens.all_inner_texts()]

    stage.prompt.fill("Antidisestablishmentarianism  cats\nשלום")
    expect(said).to_have_text("13 tokens with their ids. Press one to open it.")
    pieces = ["Ant", "idis", "establish", "ment", "arianism", "·", "·cats", "⏎", "ש", "ל", "ו", "\\xD7", "\\x9D"]
    assert texts() == pieces
    stage.page.get_by_label("chat").check()
    expect(said).to_contain_text("The chat template is included.")
    stage.page.get_by_label("chat").uncheck()
    stage.prompt.fill("a b " * 2048)
    expect(tokens).to_have_count(most_tokens(stage))
    stage.prompt.fill("a" * 8193)
    expect(said).to_have_text("The prompt has 8,193 characters; at most 8,192 are allowed.")
    complaints.allow("tokens")
    half = "(e) => { e.value = 'half \\ud83d'; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    stage.prompt.evaluate(half)
    expect(said).to_have_text("prompt is not valid Unicode: it contains half of a surrogate pair.")

    held: list[Route] = []
    stage.page.route("**/api/tokens", lambda route: route.continue_() if held else held.append(route))
    with stage.page.expect_request(lambda request: (request.post_data_json or {}).get("prompt") == "one"):
        stage.prompt.fill("one")
    stage.prompt.fill("Dogs, cats")
    expect(tokens).to_have_count(3)
    held[0].continue_()
    stage.rest()
    assert texts() == ["Dogs", ",", "·cats"], "the newest answer wins"
    stage.prompt.focus()
    for key in ("Tab", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        stage.page.keyboard.press(key)
    dialog = stage.page.get_by_role("dialog", name="·cats token 7,680")
    told = stage.page.request.get(f"{stage.server.url}api/embedding?token=7680").json()
    near = dialog.get_by_role("region", name="Nearest rows").get_by_role("listitem")
    expect(near).to_have_count(12)
    cosines = [f"{each['cosine']:.3f}" for each in told["nearest"]]
    assert [text.split()[-1] for text in near.all_inner_texts()] == cosines
    expect(dialog).to_contain_text(f"It keeps {100 * told['plane']['kept']:.1f}\u202f% of their variance")
    near.first.get_by_role("button").press("Enter")
    stage.page.get_by_role("button", name="Back to ·cats").click()
    complaints.allow("embedding")
    stage.page.route("**/api/embedding?*", lambda route: route.abort())
    near.last.get_by_role("button").click()
    expect(stage.page.get_by_role("dialog").get_by_role("status")).to_contain_text("Check that it is still running")
    stage.page.keyboard.press("Escape")
    expect(stage.prompt).to_have_value("Dogs, cats")


def test_a_run_is_paused_stepped_walked_followed_and_stopped(stage: Stage) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    expect(stage.button("Share")).to_be_disabled()
    expect(stage.words.nth(2)).to_be_attached()
    stage.slider.fill("1")
    stage.expect_step(1)
    grown = stage.words.count()
    expect(stage.words.nth(grown + 1)).to_be_attached()
    stage.expect_step(1)
    stage.button("Play").click()
    stage.button("Pause").click()
    eventually(lambda: stage.server.status(run)["status"] == "paused")
    made = stage.server.status(run)["steps"]
    expect(stage.words).to_have_count(made)
    stage.slider.press("End")
    stage.expect_step(made - 1)
    stage.button("Next step").click()
    stage.expect_step(made)
    stage.server.finished_run("Hi", max_new_tokens=3)  # each pass of the model is for all runs that go on
    assert stage.server.status(run)["steps"] == made + 1, "exactly one token"
    stage.button("Why a cache?").click()
    expect(stage.button("Run it without a cache")).to_be_disabled()
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name=re.compile("^Head")).click()
    stage.button("Live").click()
    eventually(lambda: stage.server.status(run)["steps"] > made + 2)
    stage.button("Stop").click()
    expect(stage.ending).to_have_text("stopped", timeout=60_000)
    stage.expect_phase("done")
    stage.expect_step(len(stage.server.log(run).steps) - 1)
    expect(stage.button("Share")).to_be_enabled()
    stage.button("Why a cache?").click()
    expect(stage.button("Run it without a cache")).to_be_enabled()


def test_whoever_follows_a_run_of_another_device_neither_stops_nor_resumes_it(
    stage: Stage, new_page: NewPage, server: Server
) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    expect(stage.words.nth(2)).to_be_attached()
    stage.button("Pause").click()
    eventually(lambda: server.status(run)["status"] == "paused")
    other = Stage(new_page(), server).open(run)
    expect(other.button("Live")).to_be_visible()
    expect(other.button("Stop")).to_have_count(0)
    other.button("Live").click()
    other.slider.press("End")
    other.button("Next step").click()
    made = server.status(run)
    server.finished_run("Hi", max_new_tokens=3)  # each pass of the model is for all runs that go on
    assert server.status(run) == made == {**made, "status": "paused"}
    stage.button("Stop").click()
    expect(stage.ending).to_have_text("stopped", timeout=60_000)


def test_the_newest_token_of_a_live_run_is_in_sight_and_late_viewers_see_all_of_it(
    stage: Stage, new_page: NewPage, server: Server
) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    stage.open()
    run = stage.run("Once upon a time there was a small robot", 64)
    other = Stage(new_page(), server).open(run)
    stage.button("Live").click()
    seen = stage.page.evaluate(
        """async () => {
          const text = document.querySelector('[aria-label="Prompt and answer"]');
          const frame = () => new Promise(requestAnimationFrame);
          const wait = (ms) => new Promise((done) => setTimeout(done, ms));
          const seen = [];
          while (document.documentElement.dataset.state !== 'done') {
            const newest = [...text.querySelectorAll('[aria-label=Answer] [data-step]')].at(-1);
            const overflows = text.scrollHeight > text.clientHeight;
            // It is scrolled to a little after it was painted, however long a frame takes.
            for (const ms of [0, 100, 50]) await frame().then(() => wait(ms));
            if (overflows) seen.push(newest.getBoundingClientRect().bottom <= text.getBoundingClientRect().bottom + 1);
          }
          return seen;
        }"""
    )
    assert len(seen) > 4, "the tokens fit into the window"
    assert all(seen), seen
    other.skip_to_the_end()
    expect(other.words).to_have_count(len(server.log(run).steps))


def test_while_a_prompt_goes_through_every_panel_has_its_places_and_nothing_in_them(
    new_page: NewPage, stage: Stage
) -> None:
    server = stage.server
    linked = Stage(new_page(), server)  # before the run, whose prefill takes less time than a new page
    run = server.start_run(PROMPT, max_new_tokens=2)
    eventually(lambda: server.status(run)["last_seq"] > 0)
    with server.engine_asleep():
        stage.page.goto(f"{server.url}?run={run}")
        linked.page.goto(f"{server.url}?run={run}#layer=4&head=5")
        progress = stage.region("Model map").get_by_role("progressbar")
        rows = r"Prefill: (\d+) of (\d+) prompt rows have gone through the model"

        def told_alike() -> re.Match[str] | None:
            """In words and by the bar: rows that were on their way still come in."""
            told = re.search(rows, stage.region("Model map").inner_text())
            return told if told and progress.get_attribute("value") == told[1] else None

        told = eventually(told_alike)
        assert 0 < int(told[1]) < int(told[2]) == len(server.opened(run)["tokens"])
        expect(stage.region("Strong attention")).to_contain_text("once the prompt has gone through")
        expect(stage.matrix).to_contain_text("No weights yet")
        stage.matrix.press("ArrowUp")
        stage.matrix.press("Enter")
        for place in (stage.map, stage.matrix):
            place.hover(position={"x": 100, "y": 100})
            expect(stage.page.get_by_role("tooltip")).to_have_count(0)
        expect(stage.region("Next token").get_by_role("list").get_by_role("button")).to_have_count(0)
        expect(stage.region("KV cache")).not_to_contain_text("measured")
        expect(linked.region("Inspector")).to_contain_text("Heads 3–5 read the same K and V")
        stage.map.press("ArrowRight")
        stage.region("Inspector").get_by_role("button", name="Query·key").click()
        expect(stage.region("Inspector")).to_contain_text("You see this after the first step.")
        empty = stage.picture("Model map")
    for viewer, place in ((stage, "Layer 0 ▸ Head 1"), (linked, "Layer 4 ▸ Head 5")):
        expect(viewer.ending).to_be_visible(timeout=60_000)
        expect(viewer.region("Inspector")).to_contain_text(place)
        expect(viewer.region("KV cache")).to_contain_text("the formula gives the same")
    eventually(lambda: stage.picture("Model map") != empty)  # it is painted in frames to come


def test_a_run_reads_nothing_of_an_earlier_one_until_the_box_is_ticked(stage: Stage) -> None:
    stage.open()
    for ending in ("", " One night it went out."):
        run = stage.run(BEGINNING + ending, 3)
        stage.skip_to_the_end()
        assert stage.server.opened(run)["reused"] == 0
    stage.ask()
    stage.page.get_by_role("form", name="New run").get_by_label("reuse the cache").check()
    run = stage.run(f"{BEGINNING} Then he slept.", 3)
    stage.skip_to_the_end()
    opened = stage.server.opened(run)
    read, prompt = opened["reused"], len(opened["tokens"])
    assert 0 < read < prompt
    body = stage.page.locator("body")
    for view in ("model", "pair", "tokens", "cache", "time", "head"):
        stage.at(run, 0, view)
        stage.rest()
        assert not re.search(r"\bNaN\b|\bundefined\b|\bnull\b", body.inner_text()), view
    expect(body).to_contain_text(f"{prompt} prompt tokens: {read} read from the cache")
    expect(stage.page.get_by_role("group", name="Prompt").locator(".is-read")).to_have_count(read)
    expect(stage.page.get_by_text(f"The first {read} tokens have no rows here")).to_be_visible()
    stage.at(run, 0, "block", more="&query=2&key=1")
    row = stage.page.get_by_label("Row", exact=True)
    expect(row).to_have_value(str(read))
    expect(row.locator("option:disabled")).to_have_count(read)


def test_a_prompt_that_is_asked_for_by_its_key_takes_letters_in_the_next_frame(stage: Stage, short_run: str) -> None:
    """However much else has to be shown: a processor so slow shows a part of the page in each frame."""
    stage.open(short_run, "#step=0&view=head").rest()
    client = stage.page.context.new_cdp_session(stage.page)
    client.send("Emulation.setCPUThrottlingRate", {"rate": 20})
    focused = stage.page.evaluate("""() => new Promise((done) => {
      for (const key of ['End', 'p']) document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
      requestAnimationFrame(() => requestAnimationFrame(() => done(document.activeElement.id)));
    })""")
    client.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    assert focused == "prompt"


def test_on_a_phone_the_tokens_of_a_prompt_fit(phone: Stage) -> None:
    stage = phone.open()
    stage.type_prompt("Dogs, cats " * 60)
    stage.region("The prompt as tokens").get_by_role("button").first.tap()
    dialog = stage.page.get_by_role("dialog").filter(has_text="token")
    expect(dialog.get_by_role("listitem")).to_have_count(12)
    assert stage.overflow() <= 0
    assert dialog.evaluate("(e) => e.scrollWidth <= e.clientWidth")
