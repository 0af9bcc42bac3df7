"""Every number on the page is the frame's, or arithmetic on it."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import Locator, expect

from tests.support.numbers import fixed, number
from tests.support.stage import Stage
from tests.support.traffic import requests_of

LAYER, HEAD, STEP = 13, 2, 4


def hover_lower_left(cells: Locator) -> None:
    """A cell that no mask hides: an early key of a late query."""
    box = cells.bounding_box()
    assert box is not None
    cells.hover(position={"x": box["width"] * 0.25, "y": box["height"] * 0.6})


def opened(stage: Stage, run: str) -> Stage:
    stage.open(run, f"#step={STEP}&layer={LAYER}&head={HEAD}")
    stage.expect_step(STEP)
    return stage


def test_the_matrix_tells_the_weight_under_the_pointer(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    hover_lower_left(stage.matrix)
    note = stage.matrix.get_by_text(re.compile(r"^query \d+, key \d+$"))
    found = re.fullmatch(r"query (\d+), key (\d+)", note.inner_text())
    assert found
    query, key = int(found[1]), int(found[2])
    log = stage.server.log(short_run)
    weight = log.weight(LAYER, HEAD, query, key)
    expect(stage.matrix.get_by_text(re.compile(r"^weight \d\."))).to_contain_text(f"weight {weight:.3f} ± 0.004")
    looker, seen = (log.tokens[position]["text"].strip() for position in (query, key))
    expect(stage.matrix.get_by_text(f"“{looker}” looks at “{seen}”")).to_be_visible()


def test_a_chosen_cell_is_computed_from_the_models_own_float32(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    hover_lower_left(stage.matrix)
    stage.page.mouse.down()
    stage.page.mouse.up()
    stage.page.wait_for_url(re.compile(r"query=\d+&key=\d+"))
    query, key = (int(value) for value in re.findall(r"(?:query|key)=(\d+)", stage.page.url))
    line = stage.region("Inspector").get_by_text("softmax over")
    expect(line).to_contain_text(f"softmax over {query + 1} keys")  # and no longer of the cell before
    shown = re.search(r"= (\S+) ÷ √64 = (\S+) → softmax over (\d+) keys → (\S+)", " ".join(line.inner_text().split()))
    assert shown, line.inner_text()

    log = stage.server.log(short_run)
    step = max(0, query - len(log.open["tokens"]) + 1)
    values = stage.server.head(short_run, step, LAYER, HEAD)
    row = query if step == 0 else 0
    dot = float(np.dot(values["q"][row].astype(np.float64), values["k"][key].astype(np.float64)))
    assert abs(number(shown[1]) - dot) <= 0.0051
    assert abs(number(shown[2]) - float(values["scores"][row, key])) <= 0.0051
    assert int(shown[3]) == query + 1
    assert abs(number(shown[4]) - float(values["weights"][row, key])) <= 0.00051


def test_where_a_token_looks_is_told_alike_whether_the_run_plays_or_rests(stage: Stage, short_run: str) -> None:
    """The log's weights, to whole percents: exact ones that come with a pause must not change a number in sight."""
    opened(stage, short_run)
    log = stage.server.log(short_run)
    newest = len(log.open["tokens"]) + STEP - 1
    weights = np.array([log.weight(LAYER, HEAD, newest, key) for key in range(newest + 1)])
    strongest = np.argsort(-weights, kind="stable")[:3]
    inspector = stage.region("Inspector")
    expect(inspector).to_contain_text("softmax over")
    lines = inspector.get_by_role("table", name=re.compile("^Where “.+” looks")).get_by_role("row")
    for line, key in zip(lines.all()[:3], strongest, strict=True):
        expect(line.get_by_role("rowheader")).to_contain_text(log.tokens[key]["text"].strip())
        expect(line.get_by_role("cell")).to_have_text(f"{100 * weights[key]:.0f}\u202f%")
    expect(inspector.get_by_role("heading", level=2)).to_contain_text(f"“{log.tokens[strongest[0]]['text'].strip()}”")


def test_the_map_names_what_is_under_the_pointer(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    box = stage.rest().map.bounding_box()
    assert box is not None
    stage.map.hover(position={"x": box["width"] * 0.45, "y": box["height"] * 0.4})
    title = stage.map.get_by_text(re.compile(r"^Layer \d+, head \d+: .* looks at "))
    layer, head = (int(value) for value in re.findall(r"(?:Layer|head) (\d+)", title.inner_text()))
    place = re.search(
        r"query at position (\d+), key at position (\d+)", stage.map.get_by_text("query at position").inner_text()
    )
    assert place
    weight = stage.server.log(short_run).weight(layer, head, int(place[1]), int(place[2]))
    expect(stage.map.get_by_text(re.compile(r"^weight \d\."))).to_contain_text(f"weight {weight:.3f}")
    expect(stage.region("Inspector")).to_contain_text(f"Layer {layer} ▸ Head {head}")
    stage.map.click(position={"x": box["width"] * 0.45, "y": box["height"] * 0.4})
    stage.page.wait_for_url(f"**layer={layer}&head={head}*")


def test_a_cell_that_is_clicked_stays_under_the_pointer(stage: Stage, short_run: str) -> None:
    stage.open(short_run, f"#step={STEP}&layer={LAYER}&head={HEAD}&view=head")
    stage.expect_step(STEP)
    before = stage.rest().matrix.bounding_box()
    assert before
    stage.page.mouse.click(before["x"] + before["width"] * 0.3, before["y"] + before["height"] * 0.6)
    expect(stage.region("Inspector")).to_contain_text("locked on")
    assert stage.rest().matrix.bounding_box() == before


def test_candidates_are_the_softmax_of_the_stored_logits(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    log = stage.server.log(short_run)
    step = log.steps[STEP]
    shares = np.exp(log.logits(STEP).astype(np.float64) - step["log_z"])
    rows = stage.region("Next token").get_by_role("listitem")
    for row, token, share in zip(rows.all()[:3], step["top_tokens"], shares, strict=False):
        expect(row).to_contain_text(token["text"].strip())
        shown = re.search(r"([\d.]+)\s%", row.inner_text())
        assert shown
        assert abs(number(shown[1]) - 100 * share) <= 0.11
    expect(stage.region("Next token")).to_contain_text(f"{100 * step['token']['prob']:.0f}\u202f%“")


def test_a_what_if_redraws_the_candidates_without_asking_the_server(stage: Stage, short_run: str) -> None:
    stage.open(short_run, f"#step={STEP}&layer={LAYER}&head={HEAD}&view=tokens")
    stage.expect_step(STEP)
    stage.rest()  # what opening asks for has been asked
    asked = requests_of(stage.page)
    inspector, panel = stage.region("Inspector"), stage.region("Next token")
    inspector.get_by_label("What-if temperature").fill("0.1")
    inspector.get_by_label("What-if top-p").fill("0.05")
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name=f"Head {HEAD}", exact=True).click()
    expect(panel).to_contain_text("what if it were drawn so. Nothing is run again.")
    expect(panel.get_by_role("listitem").first).to_contain_text("100.0")
    expect(panel.get_by_role("listitem").nth(1)).to_contain_text("cut by top-p")
    stage.rest()
    assert [url for url in asked if "/api/" in url and "/head?" not in url] == []


def test_looking_at_a_what_if_leaves_the_next_runs_settings_until_they_are_taken(stage: Stage, short_run: str) -> None:
    stage.open(short_run, f"#step={STEP}&view=tokens")
    stage.expect_step(STEP)
    form = stage.page.get_by_role("form", name="New run")
    inspector = stage.region("Inspector")
    inspector.get_by_label("What-if temperature").fill("0.5")
    stage.ask()
    expect(form.get_by_label("choose")).to_have_value("greedy")
    expect(form.get_by_label("temperature")).to_have_value("1")
    stage.button("Cancel").click()
    stage.button("Use for the next run").click()
    stage.ask()
    expect(form.get_by_label("choose")).to_have_value("sample")
    expect(form.get_by_label("temperature")).to_have_value("0.5")
    stage.page.keyboard.press("Escape")
    stage.button("Reset to the run's own").click()
    expect(inspector.get_by_label("What-if temperature")).to_have_value("1")
    stage.ask()
    expect(form.get_by_label("temperature")).to_have_value("0.5")


def test_changing_the_next_runs_settings_leaves_the_candidates_as_they_were_drawn(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    panel = stage.region("Next token")
    before = panel.inner_text()
    stage.ask()
    form = stage.page.get_by_role("form", name="New run")
    form.get_by_label("choose").select_option("sample")
    stage.set_number("top-k", 2)
    expect(form.get_by_label("top-k")).to_have_value("2")
    expect(panel).to_have_text(before, use_inner_text=True)


def test_tokens_that_sampling_cut_are_marked(stage: Stage, sampled_run: str) -> None:
    stage.open(sampled_run, "#step=1")
    stage.expect_step(1)
    rows = stage.region("Next token").get_by_role("listitem")
    cut = rows.filter(has_text="cut by top-k")
    expect(cut.first).to_be_visible()
    assert rows.count() - cut.count() == 3
    assert stage.server.log(sampled_run).steps[1]["filters"]["kept_top_k"] == 3


def test_cache_bytes_are_the_frames_and_the_formulas(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    log = stage.server.log(short_run)
    model, kv = log.open["model"], log.steps[STEP]["kv"]
    each = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * model["element_bytes"]
    assert kv["bytes_used"] == each * kv["positions"]
    panel = stage.region("KV cache")
    expect(panel).to_contain_text(f"{kv['bytes_used'] / 1000:.0f}\u202fkB")
    expect(panel).to_contain_text(f"{kv['positions']} positions, +{each:,}\u202fB a token✓ the formula agrees")
    old, room = kv["positions"] - 1, 16 * kv["blocks"] - kv["positions"]
    places = "1 place" if room == 1 else f"{room} places"
    picture = f"{old} positions read from the cache, 1 position written in this step, {places} reserved and empty"
    expect(panel.get_by_role("img", name=picture)).to_be_visible()


def test_times_are_the_measured_ones(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    log = stage.server.log(short_run)
    prefill, here = (log.steps[step]["ms"]["total"] for step in (0, STEP))
    fed = log.steps[STEP - 1]["token"]["text"].strip()
    time = stage.region("Time")
    expect(time).to_contain_text(f"{written(here)}for “{fed}” alone")
    expect(time).to_contain_text(f"of the prompt took {written(prefill)}")


def written(ms: float) -> str:
    return f"{fixed(ms / 1000, 2)}\u202fs" if ms >= 1000 else f"{fixed(ms, 0)}\u202fms"
