"""The view of effects: parts of the model switched off one by one, as the engine says."""

from __future__ import annotations

import re
from typing import Any

import requests
from playwright.sync_api import expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import Stage

STEP = 3
TEXT = "The sky is"


def all_effects(stage: Stage, run: str, of: str) -> list[dict[str, Any]]:
    """What the API says of every part of a kind."""
    found: list[dict[str, Any]] = []
    while True:
        asked = {"step": STEP, "of": of, "first": len(found)}
        answer = requests.get(f"{stage.server.url}/api/runs/{run}/effects", params=asked, timeout=60).json()
        found += answer["effects"]
        if len(found) == answer["count"]:
            return found


def test_heads_are_switched_off_with_progress_a_stop_and_the_engines_numbers(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, STEP, "effects")
    heads = inspector.get_by_role("region", name="Heads", exact=True)
    after_the_first = re.compile("/effects.*first=[1-9]")
    stage.page.route(after_the_first, lambda route: None)  # held until it is unrouted
    heads.get_by_role("button", name=re.compile("Replace each")).click()
    progress = heads.get_by_role("progressbar", name="Heads replaced")
    expect(progress).to_be_visible()
    heads.get_by_role("button", name="Stop").click()
    stage.page.unroute(after_the_first)
    expect(heads.get_by_text("Stopped after")).to_be_visible()
    known = int(progress.get_attribute("value") or 0)
    heads.get_by_role("button", name="Go on").click()
    expect(heads.get_by_text("variants of this step")).to_be_visible(timeout=200_000)
    effects = all_effects(stage, short_run, "heads")
    assert 0 <= known < len(effects)
    count, per_layer = len(effects), stage.server.opened(short_run)["model"]["heads"]
    largest = max(range(count), key=lambda at: effects[at]["kl"])
    layer, head = divmod(largest, per_layer)
    table = heads.get_by_role("table")
    first = table.get_by_role("row").nth(1)
    expect(first.get_by_role("rowheader")).to_have_text(f"L{layer} h{head}")
    expect(first.get_by_role("cell").nth(2)).to_have_text(f"{effects[largest]['kl']:.3f}")
    first.get_by_role("button").click()
    stage.page.wait_for_url(re.compile(f"layer={layer}&head={head}"))
    pressed = heads.locator("[aria-pressed='true']")
    expect(pressed).to_have_count(2)
    # The map's cells are moved through with the arrow keys; the page's own keys do nothing meanwhile.
    pressed.last.focus()
    down = layer == stage.server.opened(short_run)["model"]["layers"] - 1
    stage.page.keyboard.press("ArrowDown" if down else "ArrowUp")
    stage.page.wait_for_url(re.compile(f"layer={layer - 1 if down else layer + 1}&head={head}"))
    stage.expect_step(STEP)
    # What was measured is kept while the reader looks elsewhere, and named beside where heads look.
    heads.get_by_role("button", name="Open this head").click()
    matters = stage.region("Strong attention").get_by_role("button", name=re.compile("Without each head"))
    expect(matters).to_contain_text(f"L{layer} h{head}")
    matters.click()
    expect(heads.get_by_text("variants of this step")).to_be_visible()


def test_another_token_of_the_answer_is_chosen_where_its_effects_are_shown(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, STEP, "effects")
    chosen = inspector.get_by_role("combobox", name="Token of the answer")
    expect(chosen).to_have_value(str(STEP))
    chosen.select_option("0")
    stage.expect_step(0)
    first = stage.server.log(short_run).steps[0]["token"]["text"].strip()
    expect(inspector.get_by_role("heading", level=2)).to_contain_text(first)


def test_tokens_are_left_out_and_layers_switched_off(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, STEP, "effects")
    tokens = inspector.get_by_role("region", name="Tokens of the text")
    tokens.get_by_role("button", name="Leave out each token").click()
    expect(tokens.get_by_text("variants of this step")).to_be_visible(timeout=200_000)
    effects = all_effects(stage, short_run, "tokens")
    cells = tokens.get_by_role("list").get_by_role("button")
    expect(cells).to_have_count(len(effects))
    largest = max(range(len(effects) - 1), key=lambda at: effects[at]["kl"])  # but for the last token
    expect(cells.nth(largest)).to_have_attribute("aria-pressed", "true")
    expect(cells.nth(largest)).to_have_accessible_name(re.compile(f"{effects[largest]['kl']:.3f}"))
    layers = inspector.get_by_role("region", name="Layers", exact=True)
    layers.get_by_role("button", name=re.compile("Replace each")).click()
    expect(layers.get_by_text("variants of this step")).to_be_visible(timeout=200_000)
    mlp = all_effects(stage, short_run, "mlp")
    first = layers.get_by_role("button", name=re.compile(r"the MLP of layer 0:"))
    expect(first).to_have_accessible_name(re.compile(f"KL {mlp[0]['kl']:.3f}"))


def test_leaving_a_token_out_and_switching_its_row_off_lead_to_each_other(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, STEP, "effects")
    cell = inspector.get_by_role("list", name="Tokens before the next one").get_by_role("button").nth(2)
    cell.click()
    tokens = inspector.get_by_role("region", name="Tokens of the text")
    expect(tokens).to_contain_text("Switching its row off gives other numbers")
    tokens.get_by_role("button", name=re.compile(r"^What if… Switch off token .* \(position 2\)$")).click()
    panel = stage.page.get_by_role("dialog", name="What if", exact=True)
    expect(panel.get_by_role("listitem")).to_contain_text("Leaving the token out makes it shorter")
    inspector.get_by_role("button", name="Model", exact=True).click()
    panel.get_by_role("button", name="Leave it out, in Effects").click()
    stage.page.wait_for_url(re.compile("key=2&view=effects"))
    expect(cell).to_be_focused()
    expect(cell).to_have_attribute("aria-pressed", "true")


def test_another_measure_asks_nothing_again_and_another_switch_shows_how_far_both_agree(
    new_page: NewPage, tiny: Server
) -> None:
    stage, short_run = Stage(new_page(), tiny), tiny.finished_run(TEXT, max_new_tokens=6)
    inspector = stage.at(short_run, STEP, "effects", layer=0, head=0)
    heads = inspector.get_by_role("region", name="Heads", exact=True)
    heads.get_by_role("button", name=re.compile("Replace each")).click()
    expect(heads.get_by_text("variants of this step")).to_be_visible(timeout=200_000)
    expect(heads.get_by_role("img", name=re.compile("^Total against direct effect"))).to_be_visible(timeout=60_000)
    asked: list[str] = []
    stage.page.on("request", lambda request: asked.append(request.url) if "/effects?" in request.url else None)
    inspector.get_by_label("Measure the").select_option("difference")
    expect(inspector.get_by_role("combobox", name=re.compile("^Foil"))).to_be_visible()
    expect(heads.get_by_role("columnheader", name="total")).to_be_visible()
    effects = all_effects(stage, short_run, "heads")
    answer = requests.get(
        f"{stage.server.url}/api/runs/{short_run}/effects", params={"step": STEP, "of": "heads"}, timeout=60
    ).json()
    base = answer["base"]["logit"] - answer["base"]["foil"]["logit"]
    totals = [base - (each["logit"] - each["foil"]["logit"]) for each in effects]
    largest = max(totals, key=abs)
    expect(heads.get_by_role("row").nth(1)).to_contain_text(f"{abs(largest):.2f}")
    assert asked == []
    inspector.get_by_label("Replace a part by").select_option("mean")
    heads.get_by_role("button", name=re.compile("Replace each")).click()
    expect(heads.get_by_text(re.compile("by zeros: rank correlation"))).to_be_visible(timeout=200_000)
    assert all("switch=mean" in url for url in asked)


def test_a_prompt_of_another_length_is_refused_with_both_lengths_and_stays_typed(
    new_page: NewPage, tiny: Server, complaints: Complaints
) -> None:
    complaints.allow("status of 422")
    stage, short_run = Stage(new_page(), tiny), tiny.finished_run(TEXT, max_new_tokens=6)
    inspector = stage.at(short_run, STEP, "effects", layer=0, head=0)
    patches = inspector.get_by_role("region", name="Patches from another prompt")
    typed = patches.get_by_role("textbox")
    typed.fill("O")
    typed.blur()
    patches.get_by_role("button", name=re.compile("Patch each")).click()
    expect(patches.get_by_text(re.compile(r"has 1 tokens and the run's prompt has \d+"))).to_be_visible(timeout=60_000)
    expect(typed).to_have_value("O")
    typed.fill(TEXT)
    typed.blur()
    patches.get_by_role("button", name=re.compile("Patch each|Try again")).click()
    # The same prompt has the same rows.
    expect(patches.get_by_text("No patch changes this measure")).to_be_visible(timeout=300_000)
