"""The next token, large: each stage's numbers are the log's, filters say what they cut, and "why not" has an answer."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.numbers import number
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.traffic import requests_of

STEP = 3
LOGITS, WARM, TOP_K, TOP_P, PICK = range(5)


def opened(stage: Stage, run: str, step: int = STEP) -> Locator:
    """The table of the path to the token that a step chose."""
    stage.open(run, f"#step={step}&view=tokens")
    stage.expect_step(step)
    table = stage.region("Inspector").get_by_role("group", name="From logits to the next token")
    expect(table).to_be_visible()
    return table


def cells(table: Locator, name: str) -> list[str]:
    """What a candidate's row shows, stage by stage."""
    header = table.page.get_by_role("rowheader", name=re.compile(rf"^\d+ ·?{name}$"))
    row = table.get_by_role("row").filter(has=header)
    expect(row).to_have_count(1)
    return [cell.inner_text() for cell in row.get_by_role("cell").all()]


def share(text: str) -> float:
    return number(text.split("\u202f")[0]) / 100


def test_every_stage_of_a_sampled_step_equals_the_stored_logits(stage: Stage, sampled_run: str) -> None:
    table = opened(stage, sampled_run)
    log = stage.server.log(sampled_run)
    step, logits = log.steps[STEP], log.logits(STEP).astype(np.float64)
    kept = np.exp((logits[:3] - logits[0]) / 0.8)
    for rank, token in enumerate(step["top_tokens"][:3]):
        shown = cells(table, re.escape(token["text"].strip()))
        assert abs(number(shown[LOGITS]) - logits[rank]) <= 0.0051
        assert abs(share(shown[TOP_K]) - kept[rank] / kept.sum()) <= 0.00051
        assert abs(share(shown[WARM]) - kept[rank] / kept.sum() * step["filters"]["mass_top_k"]) <= 0.0011
    assert cells(table, re.escape(step["top_tokens"][3]["text"].strip()))[TOP_K] == "cut"
    cut = 49152 - step["filters"]["kept_top_k"]
    mass = 1 - step["filters"]["mass_top_k"]
    foot = table.get_by_role("row", name=re.compile("^what it did"))
    expect(foot).to_contain_text(f"top-k 3 cut {cut:,} tokens holding {100 * mass:.1f}\u202f%")


def test_the_seeds_number_is_told_as_the_range_the_log_gives(stage: Stage, sampled_run: str) -> None:
    table = opened(stage, sampled_run)
    log = stage.server.log(sampled_run)
    step, logits = log.steps[STEP], log.logits(STEP).astype(np.float64)
    kept = np.exp((logits[:3] - logits[0]) / 0.8)
    sums = np.concatenate([[0], np.cumsum(kept / kept.sum())])
    rank = [token["id"] for token in step["top_tokens"]].index(step["token"]["id"])
    expect(table.get_by_role("row", name=re.compile("^what it did"))).to_contain_text(
        f"seed 4: its number fell between {sums[rank]:.3f} and {sums[rank + 1]:.3f}"
    )


def test_a_slider_in_the_table_acts_at_once_and_asks_the_server_nothing(stage: Stage, short_run: str) -> None:
    table = opened(stage, short_run)
    stage.rest()  # what opening asks for has been asked
    asked = requests_of(stage.page)
    table.get_by_label("What-if temperature").fill("1.5")
    table.get_by_label("What-if top-k").fill("2")
    expect(table.get_by_role("row", name=re.compile("^what it did"))).to_contain_text("top-k 2 cut")
    log = stage.server.log(short_run)
    first, second, third = (re.escape(token["text"].strip()) for token in log.steps[STEP]["top_tokens"][:3])
    two = np.exp(log.logits(STEP)[:2].astype(np.float64) / 1.5)
    assert abs(share(cells(table, first)[TOP_K]) - two[0] / two.sum()) <= 0.00051
    assert abs(share(cells(table, second)[TOP_P]) - two[1] / two.sum()) <= 0.00051
    assert cells(table, third)[TOP_K] == "cut"
    stage.rest()
    assert asked == []


def test_a_cut_makes_the_bars_that_are_left_longer_on_one_scale(stage: Stage, short_run: str) -> None:
    table = opened(stage, short_run)
    field, slider = table.get_by_label("What-if top-k"), table.get_by_label("Slide top-k")
    box = stage.still() and slider.bounding_box()  # the view grows into its place
    assert box
    assert box["width"] >= 150
    field.fill("5")
    row = table.get_by_role("row").nth(1).get_by_role("cell")
    expect(row.nth(TOP_K)).to_contain_text("%")
    for stage_of_it in (WARM, TOP_K):
        track, bar = (row.nth(stage_of_it).locator(part).bounding_box() for part in ("span span", "i"))
        assert track is not None
        assert bar is not None
        said = share(row.nth(stage_of_it).inner_text())
        assert abs(bar["width"] / track["width"] - said) < 0.02
    assert share(row.nth(TOP_K).inner_text()) > share(row.nth(WARM).inner_text())
    expect(stage.region("Inspector")).to_contain_text("nothing is run again")
    slider.press("Home")
    expect(field).to_have_value("1")
    slider.press("End")
    expect(field).to_have_value("")


def test_greedy_shows_no_columns_of_filters_it_does_not_use(stage: Stage, short_run: str) -> None:
    table = opened(stage, short_run)
    row = table.get_by_role("row").nth(1).get_by_role("cell")
    expect(row.nth(WARM)).to_contain_text("%")
    for column in (TOP_K, TOP_P):
        expect(row.nth(column)).not_to_contain_text("%")


def test_why_a_token_was_not_chosen_is_answered(stage: Stage, short_run: str) -> None:
    table = opened(stage, short_run)
    log = stage.server.log(short_run)
    best, second = (token["text"].strip() for token in log.steps[STEP]["top_tokens"][:2])
    logits = log.logits(STEP).astype(np.float64)
    inspector = stage.region("Inspector")
    inspector.get_by_label("Why not this token?").fill(second)
    answer = inspector.get_by_role("status").filter(has_text="could not be chosen")
    expect(answer).to_contain_text(f"“{second}” could not be chosen.")
    expect(answer).to_contain_text(f"has logit {logits[1]:.2f}, number 2 of 49,152")
    expect(answer).to_contain_text(f"Greedy always takes the largest logit, here {logits[0] - logits[1]:.2f} higher")
    table.get_by_label("What-if top-k").fill("1")
    expect(answer).to_contain_text("top-k 1 keeps only the 1 largest")
    table.get_by_label("What-if top-k").fill("40")
    expect(
        inspector.get_by_role("status").filter(has_text=f"With these settings “{second}” could be drawn")
    ).to_be_visible()
    stage.button("Reset to the run's own").click()
    table.get_by_role("button", name=re.compile(rf"^1 ·?{best}$")).click()
    expect(inspector.get_by_role("status").filter(has_text=f"“{best}” was taken")).to_be_visible()


def test_any_word_of_the_vocabulary_is_looked_up_in_the_model(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    why = stage.region("Why not this token")
    with stage.page.expect_response(re.compile(r"/candidates\?")) as response:
        why.get_by_label("Why not this token?").fill("banana")
    best = response.value.json()["candidates"][0]
    assert best["text"].strip() == "banana"
    assert best["rank"] >= 256
    log = stage.server.log(short_run)
    assert best["logit"] <= log.logits(STEP)[-1]
    assert best["prob"] == pytest.approx(np.exp(best["logit"] - log.steps[STEP]["log_z"]), rel=1e-3)
    expect(why.get_by_role("status")).to_contain_text(
        f"“banana” has logit {best['logit']:.2f}, number {best['rank'] + 1:,} of 49,152".replace("-", "\u2212")
    )
    expect(why.get_by_role("status")).to_contain_text("Greedy always takes the largest logit")


def test_the_panel_opens_the_large_view_and_the_address_keeps_it(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2")
    stage.region("Next token").get_by_role("button", name="Why this token?").click()
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_contain_text("comes next")
    stage.page.wait_for_url("**view=tokens*")
    stage.page.reload()
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_contain_text("comes next")


def test_on_a_phone_the_large_view_comes_to_the_viewer(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    stage = Stage(new_page(viewport={"width": 390, "height": 844}, has_touch=True), server)
    stage.open(short_run, "#step=2")
    stage.page.get_by_role("navigation", name="Panels").get_by_role("button", name="Next token").click()
    stage.button("Why this token?").click()
    expect(stage.region("Inspector").get_by_role("heading", level=2)).to_be_in_viewport()
    assert stage.overflow() <= 0


def test_beam_search_finds_what_its_log_says_and_compares_it_with_greedy(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, 1)
    beams = stage.region("Beam search")
    beams.get_by_label("beams").fill("2")
    beams.get_by_label("length").fill("4")
    with stage.page.expect_response(re.compile("/beam$")) as response:
        beams.get_by_role("button", name="Search", exact=True).click()
    search = response.value.json()["id"]
    stage.server.wait_for_the_end(search)
    frames = stage.server.log(search).of_kind("beams")
    nodes = {node["id"]: node for frame in frames for node in frame["nodes"]}
    best = nodes[frames[-1]["best"]]
    table = beams.get_by_role("table")
    row = table.get_by_role("row").nth(1)
    expect(row).to_contain_text(f"{best['total']:.2f}".replace("-", "\u2212"))
    path = [best]
    while path[0]["parent"] is not None:
        path.insert(0, nodes[path[0]["parent"]])
    shown = "".join(row.get_by_role("rowheader").locator("bdi").all_inner_texts())
    assert shown.replace("·", " ").replace("⏎", "\n") == "".join(node["token"]["text"] for node in path)
    log = stage.server.log(short_run)
    own = sum(np.log(step["token"]["raw_prob"]) for step in log.steps[1:5])
    expect(table.get_by_role("row", name=re.compile("this run: greedy"))).to_contain_text(
        f"{own:.2f}".replace("-", "\u2212")
    )
    times = np.exp(abs(best["total"] - own))
    caption = table.get_by_role("caption")
    expect(caption).to_contain_text("times as likely" if times >= 1.005 else re.compile("the same|equally"))
    stage.page.reload()
    expect(stage.region("Beam search").get_by_role("table")).to_be_visible()


def test_a_search_that_is_out_of_bounds_is_not_sent(stage: Stage, short_run: str) -> None:
    opened(stage, short_run, 2)
    asked = requests_of(stage.page)
    beams = stage.region("Beam search")
    beams.get_by_label("beams").fill("9")
    beams.get_by_role("button", name="Search", exact=True).click()
    stage.rest()
    assert not [url for url in asked if url.endswith("/beam")]
