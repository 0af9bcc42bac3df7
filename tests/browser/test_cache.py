"""The cache, opened large: twins really run, the algebra of a step, bytes, against the logs and the model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import requests
from playwright.sync_api import Locator, Response, expect

from kvscope.model.log import frames as codec
from tests.support.screens import violations
from tests.support.server import Log, Server
from tests.support.stage import Stage
from tests.support.waiting import eventually

STEP, LAYER, HEAD = 4, 13, 8
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@pytest.fixture(scope="module")
def run(_server: Server) -> str:
    """A finished run of this module's own, without twins at first."""
    _server.wait_until_ready()
    return _server.finished_run("The cat sat on the mat and looked at the", max_new_tokens=6)


def opened(stage: Stage, run: str, step: int = STEP) -> Stage:
    stage.open(run, f"#step={step}&layer={LAYER}&head={HEAD}&view=cache")
    stage.expect_step(step)
    return stage


def twin_of(server: Server, run: str, cache: str) -> str:
    family = requests.get(f"{server.url}api/runs/{run}/family", timeout=60).json()
    found = [one["id"] for one in family["runs"] if one["study"] and one["study"].get("cache") == cache]
    assert found, family
    return str(found[-1])


def small(text: str) -> float:
    """A number as the page writes very small ones: 4.1×10⁻⁵."""
    digits, _, exponent = text.partition("×10⁻")
    return float(digits) * 10 ** -int(exponent.translate(SUPERSCRIPTS) or 0)


def cells(table: Locator, name: str) -> list[str]:
    row = table.get_by_role("row").filter(has=table.page.get_by_role("rowheader", name=name))
    return [cell.inner_text().replace("\u202f", " ") for cell in row.get_by_role("cell").all()]


def milliseconds(text: str) -> float:
    value, unit = text.split()
    return float(value) * (1000 if unit == "s" else 1)


def largest_difference(run: Log, twin: Log) -> float:
    """Over the listed logits of all steps, by token."""
    worst = 0.0
    for step in range(len(run.steps)):
        mine, its = (dict(zip(log.ids(step), log.logits(step), strict=True)) for log in (run, twin))
        worst = max(worst, *(abs(float(mine[token]) - float(its[token])) for token in mine.keys() & its.keys()))
    return worst


def test_a_twin_without_a_cache_is_really_run_and_compared(stage: Stage, run: str) -> None:
    opened(stage, run)
    part = stage.region("Why keep K and V")
    log = stage.server.log(run)
    prompt, steps = len(log.open["tokens"]), len(log.steps)
    without = sum(prompt + step for step in range(steps))
    expect(part).to_contain_text(f"it put {prompt + steps - 1} rows through the model")
    expect(part).to_contain_text(f"it would have been {without}")
    stage.button("Run it without a cache").click()
    table = part.get_by_role("table", name="With and without a cache")
    expect(table.get_by_role("caption")).to_have_text(f"All {steps} steps", timeout=60_000)
    expect(part).to_contain_text("Really run without a cache:")

    twin = stage.server.log(twin_of(stage.server, run, "none"))
    assert [step["rows_computed"] for step in twin.steps] == [prompt + step for step in range(steps)]
    assert cells(table, "rows through the model")[:2] == [str(prompt + steps - 1), str(without)]
    for shown, side in zip(cells(table, "time, forward passes"), (log, twin), strict=False):
        spent = sum(step["ms"]["forward"] for step in side.steps)
        assert milliseconds(shown) == pytest.approx(spent, rel=0.011)
    for shown, side in zip(cells(table, "arithmetic"), (log, twin), strict=False):
        value, unit = shown.split()
        work = sum(step["flops"] for step in side.steps)
        assert float(value) * UNITS[unit.removesuffix("FLOP")] == pytest.approx(work, rel=0.006)
    difference = small(cells(table, "largest logit difference")[0].split()[0])
    assert difference == pytest.approx(largest_difference(log, twin), rel=0.06)
    assert [step["token"]["id"] for step in twin.steps] == [step["token"]["id"] for step in log.steps]
    assert cells(table, "text") == [f"the same {steps} tokens"]


def test_a_twin_that_is_there_already_is_shown(stage: Stage, run: str) -> None:
    with_twin(stage.server, run, "none")
    opened(stage, run)
    expect(stage.button("Run it without a cache again")).to_be_visible()
    expect(stage.region("Why keep K and V").get_by_role("table", name="With and without a cache")).to_be_visible()


def test_what_a_run_writes_without_its_memory_stands_beside_the_real_text(stage: Stage, run: str) -> None:
    opened(stage, run)
    stage.button("Forget the cache between steps").click()
    part = stage.region("Why keep K and V")
    expect(stage.button("Forget the cache between steps again")).to_be_visible(timeout=60_000)
    log = stage.server.log(run)
    twin = stage.server.log(twin_of(stage.server, run, "forgotten"))
    table = part.get_by_role("table", name="With and without what was cached")
    for name, side in (("with the cache", log), ("cache forgotten", twin)):
        texts = [text.replace("·", " ").replace("⏎", "\n") for text in cells(table, name)]
        assert texts == [step["token"]["text"] for step in side.steps]
    pairs = zip(log.steps, twin.steps, strict=False)
    parting = next((step for step, (a, b) in enumerate(pairs) if a["token"]["id"] != b["token"]["id"]), None)
    assert parting is not None, "this prompt no longer shows what forgetting does"
    expect(part).to_contain_text(f"From step {parting} on the model writes something else")


def test_a_twin_can_be_stopped_and_says_so(stage: Stage) -> None:
    long = stage.server.finished_run("Tell me everything about", max_new_tokens=120)
    opened(stage, long, step=1)
    stage.button("Run it without a cache").click()
    part = stage.region("Why keep K and V")
    part.get_by_role("button", name="Stop", exact=True).click()
    expect(part).to_contain_text("It was stopped before its end.")
    twin = twin_of(stage.server, long, "none")
    eventually(lambda: stage.server.status(twin)["reason"] == "stopped")
    done = len(stage.server.log(twin).steps)
    assert done < 120
    if done:
        expect(part.get_by_role("caption").first).to_have_text(f"The first {done} of 120 steps")


def test_a_run_that_is_not_over_has_no_twin_yet_and_the_page_says_why(stage: Stage) -> None:
    stage.open()
    own = stage.run("Once upon a time", 200)
    stage.button("Pause").click()
    eventually(lambda: stage.server.status(own)["status"] == "paused")
    stage.button("Why a cache?").click()
    expect(stage.button("Run it without a cache")).to_be_disabled()
    expect(stage.region("Why keep K and V")).to_contain_text("Possible when the run has ended.")
    requests.post(f"{stage.server.url}api/runs/{own}/control", json={"action": "stop"}, timeout=60)
    expect(stage.button("Run it without a cache")).to_be_enabled()


def test_the_operations_add_up_to_what_the_engine_counted(stage: Stage, run: str) -> None:
    opened(stage, run)
    step = stage.server.log(run).steps[STEP]
    part = stage.region("One step, operation by operation")
    expect(part).to_contain_text(f"✓ The engine counted the same: {step['flops']:,} FLOP")
    table = part.get_by_role("table", name="Eight operations of one layer")
    keys = step["kv"]["positions"]
    assert cells(table, "k and v")[:3] == ["2 × 1 × 192", f"2 × {keys} × 192", f"{keys - 1} reused from the cache"]
    assert cells(table, "scores")[:2] == [f"9 × 1 × {keys}", f"9 × {keys} × {keys}"]


def test_every_operation_was_really_run_both_ways(stage: Stage, run: str) -> None:
    with stage.page.expect_response(f"**/operations?step={STEP}&*") as answered:
        opened(stage, run)
    part = stage.region("One step, operation by operation")
    expect(part).to_contain_text("was really run both ways")
    told = answered.value.json()
    by_name = {each["name"]: each for each in told["operations"]}
    table = part.get_by_role("table", name="Eight operations of one layer")
    for row, points in (("k and v", ("attn.k_rot", "attn.v")), ("mix", ("attn.mixed",))):
        old, new = (max(by_name[point][rows]["largest"] for point in points) for rows in ("old", "new"))
        assert small(cells(table, row)[3]) == pytest.approx(old, rel=0.06)
        assert small(cells(table, row)[4]) == pytest.approx(new, rel=0.06)
    assert cells(table, "append")[3:5] == ["–", "–"]


def test_cached_and_recomputed_numbers_are_the_models_own(stage: Stage, run: str) -> None:
    with stage.page.expect_response(f"**/algebra?step={STEP}&*") as answered:
        opened(stage, run)
    values = codec.tensors(answered.value.body())
    part = stage.region("One step, operation by operation")
    group = part.get_by_role("group", name="Numbers of K and V, arrow keys choose one")
    expect(group).to_be_visible()
    sentence = part.get_by_text("Computed again from").inner_text()
    shown = re.search(r"K differs by at most (\S+) and V by at most (\S+) ", sentence)
    assert shown, sentence
    for text, name in zip(shown.groups(), ("k", "v"), strict=True):
        exact = float(np.abs(values[name] - values[f"{name}_again"]).max())
        assert small(text) == pytest.approx(exact, rel=0.06)
    group.focus()
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 5:
        stage.page.keyboard.press(key)
    reading = group.get_by_role("status").inner_text().replace("\u2212", "-")
    read = re.search(r"position 3, .*number 5:\s+(\S+) cached, (\S+) computed again", reading)
    assert read, reading
    assert abs(float(read[1]) - float(values["k"][3, 5])) <= 5.1e-7
    assert abs(float(read[2]) - float(values["k_again"][3, 5])) <= 5.1e-7


def test_memory_is_what_was_measured_and_the_formula_gives_the_same(stage: Stage, run: str) -> None:
    opened(stage, run)
    log = stage.server.log(run)
    kv, model = log.steps[STEP]["kv"], log.open["model"]
    part = stage.region("The memory it takes")
    formula = part.get_by_role("group", name="Bytes by the formula")
    expect(formula).to_contain_text("✓")
    assert formula.inner_text().count(f"{kv['bytes_used']:,}\u202fB") == 2
    expect(part).to_contain_text(f"One more token costs {kv['bytes_used'] // kv['positions']:,}\u202fB")
    table = part.get_by_role("table", name="The same positions in other caches")
    ratio = model["heads"] // model["kv_heads"]
    assert cells(table, "MHA")[0] == f"{kv['bytes_used'] * ratio:,} B"
    assert cells(table, "bf16")[0] == f"{kv['bytes_used'] // 2:,} B"
    expect(part).to_contain_text(f"{100 * (1 - kv['bytes_used'] / kv['bytes_reserved']):.1f}\u202f% waits empty")
    grown = part.get_by_role("table", name="Bytes of the cache by step, measured, and what other caches would take")
    rows = grown.get_by_role("row")
    expect(rows).to_have_count(1 + len(log.steps))  # the chart is drawn once its size is known
    used = [row.get_by_role("cell").last.inner_text() for row in rows.all()[1:]]
    assert used == [short_bytes(step["kv"]["bytes_used"]) for step in log.steps]


def test_the_summary_opens_it_by_keyboard_and_the_address_remembers(stage: Stage, run: str) -> None:
    stage.open(run, f"#step={STEP}")
    stage.button("Why a cache?").focus()
    stage.page.keyboard.press("Enter")
    expect(stage.region("The memory it takes")).to_be_visible()
    stage.page.wait_for_url("**view=cache*")


def test_nothing_is_wider_than_a_phone(new_page: Any, server: Server, run: str) -> None:
    with_twin(server, run, "none")
    phone = Stage(new_page(viewport={"width": 390, "height": 844}, has_touch=True), server)
    opened(phone, run)
    phone.button("Inspector").click()
    expect(phone.region("The memory it takes").get_by_role("list", name="Blocks of the cache")).to_be_attached()
    assert phone.overflow() <= 0
    panel = phone.region("Inspector").evaluate("region => region.scrollWidth - region.clientWidth")
    assert panel <= 0


def with_twin(server: Server, run: str, cache: str) -> None:
    """A finished twin of the run, whichever test made it."""
    family = requests.get(f"{server.url}api/runs/{run}/family", timeout=60).json()
    if not any(one["study"] and one["study"].get("cache") == cache for one in family["runs"]):
        response = requests.post(f"{server.url}api/runs/{run}/twin", json={"cache": cache}, timeout=60)
        assert response.status_code == 201, response.text
    server.wait_for_the_end(twin_of(server, run, cache))


def short_bytes(count: int) -> str:
    size, unit = (1e6, "MB") if count >= 1e6 else (1e3, "kB")
    value = count / size
    return f"{value:,.0f}\u202f{unit}" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f}\u202f{unit}"


def test_smaller_caches_are_really_stored_and_what_they_lose_is_told(stage: Stage, run: str) -> None:
    opened(stage, run)
    answers: list[Response] = []
    stage.page.on("response", lambda response: answers.append(response) if "/smaller?" in response.url else None)
    stage.button("Measure on this run").click()
    expect(stage.button("Measure again")).to_be_enabled(timeout=60_000)
    table = stage.region("What smaller caches lose").get_by_role("table")
    positions = len(stage.server.log(run).open["tokens"]) + 5
    forms = (
        ("bf16", "dtype=bfloat16&kv_heads=3", 23_040),
        ("int8", "dtype=int8&kv_heads=3", 11_880),
        ("int4", "dtype=int4&kv_heads=3", 6_120),
        ("float32, 3 KV heads merged to 1", "dtype=float32&kv_heads=1", 15_360),
    )
    for answer, (form, asked, each) in zip(answers, forms, strict=True):
        assert answer.url.endswith(asked)
        told = answer.json()
        shown = cells(table, form)
        assert told["bytes"] == positions * each
        assert shown[:2] == [f"{each:,} B", f"{positions * each:,} B"]
        look = told["furthest"]
        assert f"{abs(look['was'] - look['became']):.3f}" in shown[3]
        assert f"layer {look['layer']}, head {look['head']}" in shown[3]
        parts = [step for step, (was, now) in enumerate(told["likeliest"]) if was["id"] != now["id"]]
        assert (f"parts at step {parts[0]}" if parts else "the same in 6 steps") in shown[5]
    assert violations(stage.page) == []


def test_without_the_mask_every_row_before_would_change(stage: Stage, run: str) -> None:
    opened(stage, run)
    with stage.page.expect_response(f"**/mask?step={STEP}*") as answered:
        stage.button("Run it without the mask").click()
    told = answered.value.json()
    rows = len(told["without"]["by_position"])
    said = stage.region("One step, operation by operation").get_by_role("status").filter(has_text="was appended")
    # Some processors add up other numbers of rows in another order.
    expect(said).to_contain_text(
        re.compile("With the mask the rows before it changed by (exactly 0|at most [0-9] × 10⁻)")
    )
    expect(said).to_contain_text(f"Without it {rows} of {rows} rows changed")
    expect(said).to_contain_text(f"by {round(100 * max(told['without']['by_position']))}")
    assert max(told["with_mask"]["by_layer"]) < 1e-5


def test_a_token_elsewhere_turns_q_and_k_and_not_v(stage: Stage, run: str) -> None:
    opened(stage, run)
    with stage.page.expect_response("**/positions?*") as answered:
        stage.button("Run it at both").click()
    table = stage.region("One step, operation by operation").get_by_role("table", name="What the place changes")
    expect(table).to_be_visible()
    assert [cells(table, name)[0] for name in ("q, before RoPE", "k, before RoPE", "v")] == ["0", "0", "0"]
    position = len(stage.server.log(run).open["tokens"]) + STEP - 1
    told = answered.value.json()
    assert cells(table, "q, as it asks") == [f"{100 * told['changes']['attn.q_rot']:.1f} %".replace(" ", " ")]
    # The first pair is turned by one radian a position.
    degrees = round(np.degrees(position) % 360)
    expect(stage.page.get_by_role("img", name=f"pair 0: turned by {degrees}° at position {position}")).to_be_visible()
    assert violations(stage.page) == []


def test_k_and_v_are_weighed_against_all_that_was_computed(stage: Stage, run: str) -> None:
    opened(stage, run)
    stage.button("Weigh it").click()
    said = stage.region("One step, operation by operation").get_by_role("status").filter(has_text="every operation")
    told = requests.get(f"{stage.server.url}api/runs/{run}/everything?step={STEP}", timeout=60).json()
    positions = len(stage.server.log(run).open["tokens"]) + STEP - 1
    assert told["kv"] == positions * 46_080
    expect(said).to_contain_text(
        f"K and V are {told['kv']:,}\u202fB of it, {100 * told['kv'] / told['everything']:.1f}"
    )


def test_a_longer_run_is_announced_before_it_starts_and_shows_how_far_it_is(stage: Stage, run: str) -> None:
    opened(stage, run)
    start = stage.region("Why keep K and V").get_by_role("button", name=re.compile(r"Run this text \d+ times over"))
    count = re.search(r"\d+", start.inner_text())
    assert count
    expect(stage.region("Why keep K and V")).to_contain_text(
        f"a new run, whose prompt is {count[0]} copies of this one"
    )
    start.click()
    expect(stage.region("Inspector").get_by_role("progressbar", name="Prompt rows")).to_be_visible()
    expect(stage.page.locator(f"html:not([data-run='{run}'])")).to_be_attached()
    stage.page.wait_for_url(re.compile(rf"run={stage.run_id}"), timeout=90_000)  # once it has a step
    stage.page.go_back()
    expect(stage.page.locator(f"html[data-run='{run}']")).to_be_attached()
