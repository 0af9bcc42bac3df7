"""Own prompts, live: started, paused, stepped, stopped."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.screens import SCHEMES, violations
from tests.support.stage import Stage
from tests.support.waiting import eventually

LONG = 200
"""New tokens of a run that is still being generated when the test is through with it."""
PROMPT = " ".join(["It was the best of times, it was the worst of times,"] * 20)
"""Goes through the model in several passes."""


def test_a_typed_prompt_is_run_and_plays_to_its_end_without_another_touch(stage: Stage) -> None:
    stage.open()
    run = stage.run("The capital of France is", 4)
    stage.expect_phase("running")
    stage.expect_phase("done")
    log = stage.server.log(run)
    assert log.open["prompt"] == "The capital of France is"
    expect(stage.words).to_have_count(4)
    for chip, step in zip(stage.words.all(), log.steps, strict=True):
        expect(chip).to_contain_text(step["token"]["text"].strip())
    stage.expect_step(3)


def test_the_newest_token_of_a_live_run_is_in_sight(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    stage.open()
    stage.run("Once upon a time there was a small robot", 96)
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


def test_while_a_prompt_goes_through_the_map_has_its_places_and_says_how_far_it_is(stage: Stage) -> None:
    server = stage.server
    run = server.start_run(PROMPT, max_new_tokens=2)
    rows = r"Prefill: (\d+) of (\d+) prompt rows have gone through the model"
    eventually(lambda: server.status(run)["last_seq"] > 0)
    with server.engine_asleep():
        assert server.status(run)["steps"] == 0
        stage.page.goto(f"{server.url}?run={run}")
        progress = stage.region("Model map").get_by_role("progressbar")

        def told_alike() -> re.Match[str] | None:
            """In words and by the bar: rows that were on their way still come in."""
            told = re.search(rows, stage.region("Model map").inner_text())
            return told if told and progress.get_attribute("value") == told[1] else None

        told = eventually(told_alike)
        assert 0 < int(told[1]) < int(told[2]) == len(server.log(run).open["tokens"])
        for title in ("Columns", "Attention", "KV cache"):
            expect(stage.region("Model map").get_by_role("heading", name=title)).to_be_visible()
        expect(stage.region("Look here")).to_contain_text("once the prompt has gone through")
        stage.map.hover(position={"x": 100, "y": 100})
        expect(stage.page.get_by_role("tooltip")).to_have_count(0)
        empty = stage.picture("Model map")
    expect(stage.ending).to_be_visible(timeout=60_000)
    expect(stage.region("Model map").get_by_role("progressbar")).to_have_count(0)
    eventually(lambda: stage.picture("Model map") != empty)  # it is painted in frames to come


def test_while_a_prompt_goes_through_every_panel_has_its_places_and_nothing_in_them(
    new_page: Callable[..., Page], stage: Stage
) -> None:
    server = stage.server
    run = server.start_run(PROMPT, max_new_tokens=2)
    eventually(lambda: server.status(run)["last_seq"] > 0)
    viewers = {scheme: Stage(new_page(color_scheme=scheme), server) for scheme in SCHEMES}
    with server.engine_asleep():
        for scheme, viewer in viewers.items():
            viewer.page.goto(f"{server.url}?run={run}")
            expect_places_alone(viewer, run)
            assert violations(viewer.page) == [], scheme
            inspector = viewer.region("Inspector")
            inspector.get_by_role("button", name="Query·key").click()
            expect(inspector).to_contain_text("This comes with the first step.")
            inspector.get_by_role("button", name="Head 0", exact=True).click()
            expect(viewer.matrix).to_be_visible()
    for viewer in viewers.values():
        expect(viewer.ending).to_be_visible(timeout=60_000)
        expect(viewer.region("KV cache")).to_contain_text("the formula agrees")
        expect(viewer.region("Inspector").get_by_role("heading", level=2)).to_contain_text(re.compile(r"^“.+” looks"))
        expect(viewer.matrix).not_to_contain_text("No weights yet")


def expect_places_alone(viewer: Stage, run: str) -> None:
    """Every panel says what it knows before the first step."""
    opened = viewer.server.log(run).open
    model, rows = opened["model"], len(opened["tokens"])
    inspector = viewer.region("Inspector")
    expect(inspector).to_contain_text("With the first step, this shows where a head looks.")
    expect(inspector).to_contain_text(f"prefill: {rows} rows at once")
    expect(inspector).to_contain_text("Heads 0, 1 and 2 read the same K and V")
    expect(viewer.matrix).to_contain_text("No weights yet")
    viewer.matrix.press("ArrowUp")
    viewer.matrix.press("Enter")
    viewer.matrix.hover(position={"x": 150, "y": 120})
    expect(viewer.page.get_by_role("tooltip")).to_have_count(0)
    expect(viewer.matrix).to_contain_text("No weights yet")

    expect(viewer.region("Next token")).to_contain_text("appear here when the amber column has reached the top")
    expect(viewer.region("Next token").get_by_role("list").get_by_role("button")).to_have_count(0)
    cache = viewer.region("KV cache")
    each = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * model["element_bytes"]
    expect(cache).to_contain_text(f"+{each:,}")
    expect(cache).to_contain_text(f"{each * rows / 1e6:.1f}\u202fMB when the prompt is read")
    expect(cache).not_to_contain_text("measured")
    expect(viewer.region("Time")).to_contain_text(re.compile(r"\d+ rows so far"))


def test_a_head_that_is_linked_to_or_chosen_while_a_prompt_goes_through_stays(
    new_page: Callable[..., Page], stage: Stage
) -> None:
    server = stage.server
    run = server.start_run(PROMPT, max_new_tokens=2)
    eventually(lambda: server.status(run)["last_seq"] > 0)
    linked, chosen = Stage(new_page(), server), Stage(new_page(), server)
    with server.engine_asleep():
        linked.page.goto(f"{server.url}?run={run}#layer=4&head=5")
        chosen.page.goto(f"{server.url}?run={run}")
        for watched in (linked, chosen):
            expect(watched.region("Inspector")).to_contain_text("With the first step, this shows where a head looks.")
        for name in ("Layer 4", "Head 5"):
            expect(linked.region("Inspector").get_by_role("button", name=name, exact=True)).to_be_visible()
        expect(linked.region("Inspector")).to_contain_text("Heads 3, 4 and 5 read the same K and V")
        chosen.map.press("ArrowRight")
        expect(chosen.region("Inspector").get_by_role("button", name="Head 1", exact=True)).to_be_visible()
    for watched, head in ((linked, "Layer 4 ▸ Head 5"), (chosen, "Layer 0 ▸ Head 1")):
        expect(watched.ending).to_be_visible(timeout=60_000)
        expect(watched.region("Inspector")).to_contain_text(head)
        expect(watched.region("Inspector").get_by_role("heading", level=2)).to_contain_text("looks")


def test_pause_stops_the_engine_and_play_lets_it_go_on(stage: Stage) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    stage.button("Pause").click()
    eventually(lambda: stage.server.status(run)["status"] == "paused")
    frames = stage.server.status(run)["last_seq"]
    stage.server.finished_run("Hi", max_new_tokens=3)  # each pass of the model is for all runs that go on
    assert stage.server.status(run)["last_seq"] == frames
    stage.expect_phase("paused")
    stage.button("Play").click()
    eventually(lambda: stage.server.status(run)["last_seq"] > frames)
    assert stage.server.status(run)["status"] == "running"
    stage.button("Stop").click()
    stage.skip_to_the_end()
    expect(stage.ending).to_have_text("stopped")
    assert stage.server.status(run)["reason"] == "stopped"


def test_next_step_at_the_live_edge_of_a_paused_run_makes_exactly_one_token(stage: Stage) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    stage.button("Pause").click()
    eventually(lambda: stage.server.status(run)["status"] == "paused")
    made = stage.server.status(run)["steps"]
    expect(stage.words).to_have_count(made)
    stage.slider.press("End")
    stage.expect_step(made - 1)
    stage.button("Next step").click()
    stage.expect_step(made)
    expect(stage.words).to_have_count(made + 1)
    stage.server.finished_run("Hi", max_new_tokens=3)  # each pass of the model is for all runs that go on
    assert stage.server.status(run)["steps"] == made + 1
    stage.expect_step(made)
    stage.button("Stop").click()
    expect(stage.ending).to_have_text("stopped")


def test_live_stays_at_the_newest_step(stage: Stage) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    stage.button("Live").click()
    stage.button("Stop").click()
    expect(stage.ending).to_be_visible(timeout=60_000)
    stage.expect_phase("done")
    stage.expect_step(len(stage.server.log(run).steps) - 1)


def test_steps_can_be_walked_while_the_run_grows(stage: Stage) -> None:
    stage.open()
    stage.run("Once upon a time", LONG)
    expect(stage.words.nth(4)).to_be_visible()
    stage.slider.fill("2")
    stage.expect_step(2)
    stage.button("Previous step").click()
    stage.expect_step(1)
    stage.button("Next step").click()
    stage.expect_step(2)
    grown = stage.words.count()
    expect(stage.words.nth(grown + 1)).to_be_visible()
    stage.expect_step(2)
    stage.button("Stop").click()
    expect(stage.ending).to_have_text("stopped")
