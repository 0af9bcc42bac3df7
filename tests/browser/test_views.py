"""The model, the next token, the cache and time, opened large: what the engine says of the same step, used by hand.

What they say of a recording's own numbers is in snapshots/.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import requests
from playwright.sync_api import Locator, expect

from kvscope.model.log import frames as codec
from tests.support.complaints import Complaints
from tests.support.numbers import number
from tests.support.server import Server
from tests.support.stage import Stage, box_of, found_in
from tests.support.traffic import requests_of
from tests.support.waiting import eventually

STEP = 3
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
LOGITS, WARM, TOP_K, TOP_P, PICK = range(5)


def cells(table: Locator, name: str | re.Pattern[str]) -> list[str]:
    row = table.get_by_role("row").filter(has=table.page.get_by_role("rowheader", name=name))
    expect(row.first).to_be_visible()
    return [cell.inner_text().replace("\u202f", " ") for cell in row.get_by_role("cell").all()]


def small(text: str) -> float:
    """A number as the page writes very small ones: 4.1×10⁻⁵."""
    digits, _, exponent = text.partition("×10⁻")
    return float(digits) * 10 ** -int(exponent.translate(SUPERSCRIPTS) or 0)


def shown(text: str) -> str:
    """A token's text as the page shows it."""
    return text.replace(" ", "·").replace("\u00a0", "␣").replace("\n", "⏎")


def test_each_layer_tells_its_guess_and_leads_to_its_zooms(stage: Stage, short_run: str) -> None:
    with stage.page.expect_response(f"**/lens?step={STEP}*") as answered:
        inspector = stage.at(short_run, STEP, "model")
    read = answered.value.json()
    for layer in (0, 13, 29):
        row = inspector.get_by_role("row").filter(has=stage.button(f"Layer {layer}"))
        reading = read["layers"][layer]
        expect(row.get_by_role("cell").last).to_have_text(f"{reading['chosen']['rank'] + 1:,}")
        told = [text.strip() for text in row.get_by_role("cell").all_inner_texts()]
        assert told[-4].startswith(f"{100 * reading['top'][0]['prob']:.0f}")
        assert shown(reading["top"][0]["text"])[:10] in told[-5].replace("…", "")
    first = [reading["chosen"]["rank"] for reading in read["layers"]].index(0)
    expect(inspector.get_by_text(re.compile(rf"best guess .*after.* layer,? {first}\b"))).to_be_visible()
    inspector.get_by_role("button", name="Layer 4", exact=True).click()
    for button, place in (("Open layer 4", "layer=4*view=block"), ("Attention", "layer=4*view=head")):
        inspector.get_by_role("button", name=button, exact=True).click()
        stage.page.wait_for_url(f"**{place}")
        inspector.get_by_role("button", name="Model", exact=True).click()
    inspector.get_by_role("group", name="Tokens and ids of this step").get_by_role("button").first.click()
    expect(stage.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(12)
    stage.page.keyboard.press("Escape")
    inspector.get_by_role("button", name=f"Go to step {STEP + 1}").click()
    stage.expect_step(STEP + 1)
    for _ in range(4):
        stage.page.keyboard.press(".")
    expect(inspector).to_contain_text("not computed yet, from here up")
    stage.page.keyboard.press("ArrowLeft")
    expect(inspector).not_to_contain_text("not computed yet")


def test_stages_of_a_sampled_step_equal_the_stored_logits(stage: Stage, sampled_run: str) -> None:
    table = stage.at(sampled_run, STEP, "tokens").get_by_role("group", name="From logits to the next token")
    log = stage.server.log(sampled_run)
    step, logits = log.steps[STEP], log.logits(STEP).astype(np.float64)
    kept = np.exp((logits[:3] - logits[0]) / 0.8)
    shares = kept / kept.sum()

    def of(rank: int) -> list[str]:
        return cells(table, re.compile(rf"^{rank + 1} ·?{re.escape(step['top_tokens'][rank]['text'].strip())}$"))

    for rank in range(3):
        told = of(rank)
        assert abs(number(told[LOGITS]) - logits[rank]) <= 0.0051
        assert abs(number(told[TOP_K].split()[0]) / 100 - shares[rank]) <= 0.00051
        assert abs(number(told[WARM].split()[0]) / 100 - shares[rank] * step["filters"]["mass_top_k"]) <= 0.0011
    assert of(3)[TOP_K] == "cut"
    sums = np.concatenate([[0], np.cumsum(shares)])
    rank = [token["id"] for token in step["top_tokens"]].index(step["token"]["id"])
    foot = table.get_by_role("row", name=re.compile("^effect"))
    expect(foot).to_contain_text(f"Seed 4: the random number was between {sums[rank]:.3f} and {sums[rank + 1]:.3f}")
    panel = stage.at(sampled_run, 1, "head") and stage.region("Next token").get_by_role("listitem")
    expect(panel.filter(has_text="cut by top-k").first).to_be_visible()


def test_a_what_if_acts_at_once_asks_nobody_and_is_taken_for_the_next_run(stage: Stage, short_run: str) -> None:
    inspector = stage.at(short_run, STEP, "tokens")
    table = inspector.get_by_role("group", name="From logits to the next token")
    field, slider = table.get_by_label("What-if top-k"), table.get_by_label("Slide top-k")
    stage.rest()  # what opening asks for has been asked
    asked = requests_of(stage.page)
    table.get_by_label("What-if temperature").fill("1.5")
    field.fill("2")
    expect(table.get_by_role("row", name=re.compile("^effect"))).to_contain_text("top-k 2 cut")
    two = np.exp(stage.server.log(short_run).logits(STEP)[:2].astype(np.float64) / 1.5)
    row = table.get_by_role("row").nth(1).get_by_role("cell")
    share = number(row.nth(TOP_K).inner_text().split("\u202f")[0]) / 100
    assert abs(share - two[0] / two.sum()) <= 0.00051
    track, bar = (box_of(row.nth(TOP_K).locator(part)) for part in ("span span", "i"))
    assert abs(bar["width"] / track["width"] - share) < 0.02
    for key, value in (("Home", "1"), ("End", "")):
        slider.press(key)
        expect(field).to_have_value(value)
    stage.rest()
    assert asked == []
    form = stage.page.get_by_role("form", name="New run")
    stage.ask()
    expect(form.get_by_label("temperature")).to_have_value("1")
    stage.button("Cancel").click()
    stage.button("Use for the next run").click()
    stage.ask()
    expect(form.get_by_label("choose")).to_have_value("sample")
    expect(form.get_by_label("temperature")).to_have_value("1.5")
    stage.page.keyboard.press("Escape")
    table.get_by_label("What-if top-p").fill("0.05")
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Head 8", exact=True).click()
    panel = stage.region("Next token")
    expect(panel.get_by_role("listitem").nth(1)).to_contain_text("cut by top-p")
    stage.button("Why this token?").click()
    stage.button("Reset to this run's settings").click()
    expect(table.get_by_label("What-if temperature")).to_have_value("1")


def test_why_not_a_word_and_training_are_answered_by_the_model(
    stage: Stage, short_run: str, complaints: Complaints
) -> None:
    stage.at(short_run, STEP, "tokens")
    why, log = stage.region("Why not this token"), stage.server.log(short_run)
    second = log.steps[STEP]["top_tokens"][1]["text"].strip()
    logits = log.logits(STEP).astype(np.float64)
    why.get_by_label("Why not this token?").fill(second)
    status = why.get_by_role("status")
    expect(status).to_contain_text(f"Greedy always chooses the largest logit, here {logits[0] - logits[1]:.2f} higher")
    stage.page.get_by_label("What-if top-k").fill("1")
    expect(status).to_contain_text("top-k keeps only the 1 largest")
    stage.button("Reset to this run's settings").click()
    with stage.page.expect_response(re.compile(r"/candidates\?.*banana")) as response:
        why.get_by_label("Why not this token?").fill("banana")
    far = response.value.json()["candidates"][0]
    assert far["rank"] >= 256
    assert far["prob"] == pytest.approx(np.exp(far["logit"] - log.steps[STEP]["log_z"]), rel=1e-3)
    told = f"“banana” has logit {far['logit']:.2f}, number {far['rank'] + 1:,} of 49,152"
    expect(status).to_contain_text(told.replace("-", "\u2212"))

    panel = stage.region("Training beside inference")
    with stage.page.expect_response("**/losses") as answered:
        panel.get_by_role("button", name="Ask the model").press("Enter")
    training, prompt = answered.value.json(), log.open["tokens"]
    rows = panel.get_by_role("table").first.get_by_role("row")
    expect(rows).to_have_count(len(prompt) + 1)
    for place, each in enumerate(training["positions"][:-1]):
        predicted, came, loss = rows.nth(place + 1).get_by_role("cell").all_inner_texts()[1:]
        assert predicted.startswith(shown(each["best"]["text"]))
        assert came.startswith(shown(prompt[place + 1]["text"]))
        assert number(loss) == pytest.approx(each["came"]["loss"], abs=0.0051)
        assert each["came"]["loss"] == pytest.approx(-math.log(each["came"]["prob"]), rel=1e-6)
    expect(panel).to_contain_text(f"the mean is {training['loss']:.3f}, a perplexity of {training['perplexity']:.1f}")
    assert training["bytes"]["kv"] == log.steps[0]["kv"]["bytes_used"]
    complaints.allow("losses")
    stage.page.route("**/losses", lambda route: route.abort())
    stage.page.reload()
    panel.get_by_role("button", name="Ask the model").click()
    expect(panel.get_by_role("status")).to_contain_text("Check that it is still running")


def test_beam_search_finds_what_its_log_says(stage: Stage, short_run: str) -> None:
    stage.at(short_run, 1, "tokens")
    beams = stage.region("Beam search")
    asked = requests_of(stage.page)
    beams.get_by_label("beams").fill("9")
    beams.get_by_role("button", name="Search", exact=True).click()
    beams.get_by_label("beams").fill("2")
    beams.get_by_label("length").fill("4")
    assert not [url for url in asked if url.endswith("/beam")], "9 beams are too many"
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
    text = "".join(row.get_by_role("rowheader").locator("bdi").all_inner_texts())
    assert text == shown("".join(node["token"]["text"] for node in path))
    own = sum(np.log(step["token"]["raw_prob"]) for step in stage.server.log(short_run).steps[1:5])
    greedy = table.get_by_role("row", name=re.compile("this run: greedy"))
    expect(greedy).to_contain_text(f"{own:.2f}".replace("-", "\u2212"))
    stage.page.reload()
    expect(table).to_be_visible()


@pytest.fixture(scope="module")
def run(_server: Server) -> str:
    """A finished run of this module's own, without twins at first."""
    _server.wait_until_ready()
    return _server.finished_run("The cat sat on the mat and looked at the", max_new_tokens=6)


def twin_of(server: Server, run: str, cache: str) -> str:
    family = requests.get(f"{server.url}api/runs/{run}/family", timeout=60).json()
    found = [one["id"] for one in family["runs"] if one["study"] and one["study"].get("cache") == cache]
    assert found, family
    return str(found[-1])


def test_twins_are_really_run_compared_stopped_and_found_again(stage: Stage, run: str) -> None:
    stage.at(run, 4, "cache")
    part, log = stage.region("Why cache K and V"), stage.server.log(run)
    prompt, steps = len(log.open["tokens"]), len(log.steps)
    stage.button("Run it without a cache").click()
    table = part.get_by_role("table", name="With and without a cache")
    expect(table.get_by_role("caption")).to_have_text(f"All steps: {steps}", timeout=60_000)
    twin = stage.server.log(twin_of(stage.server, run, "none"))
    rows = [prompt + step for step in range(steps)]
    assert [step["rows_computed"] for step in twin.steps] == rows
    expect(part).to_contain_text(f"Measured without a cache: {sum(rows)} rows instead of {prompt + steps - 1}.")
    assert cells(table, "rows through the model")[:2] == [str(prompt + steps - 1), str(sum(rows))]
    for text, side in zip(cells(table, "time, forward passes"), (log, twin), strict=False):
        value, unit = text.split()
        spent = sum(step["ms"]["forward"] for step in side.steps)
        assert float(value) * (1000 if unit == "s" else 1) == pytest.approx(spent, rel=0.011)
    worst = 0.0
    for step in range(steps):
        mine, its = (dict(zip(each.ids(step), each.logits(step), strict=True)) for each in (log, twin))
        worst = max(worst, *(abs(float(mine[token]) - float(its[token])) for token in mine.keys() & its.keys()))
    assert small(cells(table, "largest logit difference")[0].split()[0]) == pytest.approx(worst, rel=0.06)
    assert cells(table, "text") == [f"the same {steps} tokens"]

    stage.button("Clear the cache between steps").click()
    expect(stage.button("Clear the cache between steps again")).to_be_visible(timeout=60_000)
    forgotten = stage.server.log(twin_of(stage.server, run, "forgotten"))
    answers = part.get_by_role("group", name="Tokens with the cache, above, and with a cleared cache")
    texts = answers.locator("[data-side=b] .token").all_inner_texts()
    assert texts == [shown(step["token"]["text"]) for step in forgotten.steps]
    stage.page.reload()
    expect(stage.button("Run it without a cache again")).to_be_visible()

    long = stage.server.finished_run("Tell me everything about", max_new_tokens=64)
    stage.at(long, 1, "cache")
    stage.button("Run it without a cache").click()
    part.get_by_role("button", name="Stop", exact=True).click()
    expect(part).to_contain_text("The run was stopped before its end.")
    eventually(lambda: stage.server.status(twin_of(stage.server, long, "none"))["reason"] == "stopped")


def test_three_policies_are_really_run_with_a_budget_and_found_again(stage: Stage, run: str) -> None:
    stage.at(run, 4, "cache")
    part, log = stage.region("Keep only some positions"), stage.server.log(run)
    budget = part.get_by_role("slider", name="Positions kept in each layer")
    budget.focus()
    budget.press("Home")
    expect(part.get_by_role("status").first).to_be_visible()
    part.get_by_role("button", name="Run the three policies", exact=True).click()
    expect(part.get_by_role("button", name="Run the three policies again")).to_be_visible(timeout=60_000)
    table = stage.region("What each policy keeps and loses").get_by_role("table")
    for name, cache in (("Sliding window", "window"), ("Attention sinks", "sinks"), ("Heavy hitters", "heavy")):
        family = requests.get(f"{stage.server.url}api/runs/{run}/family", timeout=60).json()["runs"]
        twins = {one["study"]["tokens"]: one for one in family if (one["study"] or {}).get("cache") == cache}
        assert {one["study"]["budget"] for one in twins.values()} == {8}
        given, own = (stage.server.log(twins[tokens]["id"]) for tokens in ("given", "own"))
        assert [step["token"]["id"] for step in given.steps] == [step["token"]["id"] for step in log.steps]
        size, blocks, _, _, kl, _ = cells(table, name)
        kept = 8 * log.steps[0]["kv"]["bytes_written"] / len(log.open["tokens"])
        assert number(size.removesuffix("B")) == given.steps[-1]["kv"]["bytes_used"] == kept
        assert int(blocks) == 1
        mean, most = kl.split(", ")
        measured = [step["kl"] for step in given.steps]
        assert (small(mean), small(most)) == pytest.approx((np.mean(measured), max(measured)), rel=0.06)
        card = part.get_by_role("region", name=name)
        expect(card.get_by_role("img", name=re.compile("Positions that each step can read"))).to_be_visible()
        expect(card).to_contain_text(shown(own.steps[0]["token"]["text"]).strip("·"))
    stage.page.reload()
    expect(part.get_by_role("button", name="Run the three policies again")).to_be_visible()
    expect(table).to_contain_text("Heavy hitters")


def test_a_steps_operations_are_run_both_ways_and_k_and_v_are_the_models_own(stage: Stage, run: str) -> None:
    with (
        stage.page.expect_response("**/operations?step=4&*") as operations,
        stage.page.expect_response("**/algebra?step=4&*") as algebra,
    ):
        stage.at(run, 4, "cache")
    part, step = stage.region("One step, operation by operation"), stage.server.log(run).steps[4]
    expect(part).to_contain_text(f"✓ The engine counted the same: {step['flops']:,} FLOP")
    expect(part).to_contain_text("was computed both ways")
    by_name = {each["name"]: each for each in operations.value.json()["operations"]}
    table = part.get_by_role("table", name="Eight operations of one layer")
    for row, points in (("k and v", ("attn.k_rot", "attn.v")), ("weighted sum of V", ("attn.mixed",))):
        for column, rows in ((3, "old"), (4, "new")):
            largest = max(by_name[point][rows]["largest"] for point in points)
            assert small(cells(table, row)[column]) == pytest.approx(largest, rel=0.06)
    values = codec.tensors(algebra.value.body())
    says = part.get_by_text("Computed again from").inner_text()
    differs = found_in(says, r"K differs by at most (\S+) and V by at most (\S+) ")
    for text, name in zip(differs.groups(), ("k", "v"), strict=True):
        assert small(text) == pytest.approx(float(np.abs(values[name] - values[f"{name}_again"]).max()), rel=0.06)
    group = part.get_by_role("group", name=re.compile("Numbers of the step; arrow keys select one"))
    group.focus()
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 5:
        stage.page.keyboard.press(key)
    reading = group.get_by_role("status").inner_text().replace("\u2212", "-")
    read = found_in(reading, r"K of .*position 3\), number 5:\s+(\S+) computed again; (\S+) in the cache")
    assert abs(float(read[1]) - float(values["k_again"][3, 5])) <= 5.1e-7
    assert abs(float(read[2]) - float(values["k"][3, 5])) <= 5.1e-7
    for _ in range(3):  # V, S, A
        stage.page.keyboard.press("PageDown")
    reading = group.get_by_role("status").inner_text().replace("\u2212", "-")
    read = found_in(reading, r"A = softmax\(S\), query .*position 3\), key .*\(3\):\s+(\S+) now; (\S+) in a pass")
    assert abs(float(read[1]) - float(values["weights_again"][3, 3])) <= 5.1e-7
    earlier = values.get("weights_before", values["weights_again"])
    assert abs(float(read[2]) - float(earlier[3, 3])) <= 5.1e-7


def test_what_is_asked_of_the_cache_is_answered_by_the_engine(stage: Stage, run: str) -> None:
    stage.at(run, 4, "cache")
    part = stage.region("One step, operation by operation")
    with stage.page.expect_response("**/mask?step=4*") as mask:
        stage.button("Run it without the mask").click()
    without = mask.value.json()["without"]["by_position"]
    expect(part).to_contain_text(f"Without the mask, {len(without)} of {len(without)} rows changed")
    assert max(mask.value.json()["with_mask"]["by_layer"]) < 1e-5
    with stage.page.expect_response("**/positions?*") as places:
        stage.button("Run it at both positions").click()
    table = part.get_by_role("table", name="What the position changes")
    expect(table).to_be_visible()
    assert [cells(table, name)[0] for name in ("q, before RoPE", "k, before RoPE", "v")] == ["0", "0", "0"]
    assert cells(table, "q, after RoPE") == [f"{100 * places.value.json()['changes']['attn.q_rot']:.1f} %"]
    stage.button("Compare their sizes").click()
    told = requests.get(f"{stage.server.url}api/runs/{run}/everything?step=4", timeout=60).json()
    share = 100 * told["kv"] / told["everything"]
    expect(part).to_contain_text(f"K and V take {told['kv']:,}\u202fB of it, {share:.1f}")

    answers: list[dict[str, object]] = []
    stage.page.on("response", lambda each: answers.append(each.json()) if "/smaller?" in each.url else None)
    stage.button("Measure on this run").click()
    expect(stage.button("Measure again")).to_be_enabled(timeout=60_000)
    lost = stage.region("Differences of smaller caches").get_by_role("table")
    for answer, form in zip(answers, ("bf16", "int8", "int4", "float32, 3 KV heads merged to 1"), strict=True):
        assert cells(lost, form)[1] == f"{answer['bytes']:,} B"
        assert f"layer {answer['furthest']['layer']}, head {answer['furthest']['head']}" in cells(lost, form)[3]  # type: ignore[index]

    start = stage.region("Why cache K and V").get_by_role("button", name=re.compile("Run this prompt repeated"))
    start.click()
    expect(stage.region("Inspector").get_by_role("progressbar", name="Prompt rows")).to_be_visible()
    stage.page.wait_for_url(re.compile(rf"run=(?!{run})"), timeout=90_000)  # once it has a step
    stage.page.go_back()
    expect(stage.page.locator(f"html[data-run='{run}']")).to_be_attached()


def test_the_summaries_open_their_views_by_keyboard_and_a_chart_steers(stage: Stage, short_run: str) -> None:
    stage.at(short_run, STEP, "head")
    for button, view in (("Why a cache?", "cache"), ("Why this token?", "tokens"), ("Where does the time go?", "time")):
        stage.button(button).focus()
        stage.page.keyboard.press("Enter")
        stage.page.wait_for_url(f"**view={view}*")
        stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Head 8", exact=True).click()
        stage.page.wait_for_url("**view=head*")
    stage.at(short_run, STEP, "time")
    part = stage.region("Step by step")
    part.get_by_role("group", name="Milliseconds of each step; step 0 is prefill.").focus()
    stage.page.keyboard.press("ArrowLeft")
    expect(part).to_contain_text(re.compile(rf"step {STEP - 1}\s*took"))
    stage.expect_step(STEP)
    stage.page.keyboard.press("Enter")
    stage.expect_step(STEP - 1)
