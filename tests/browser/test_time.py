"""Time, opened large: every figure is the log's measured time, or arithmetic on it."""

from __future__ import annotations

import re
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support.numbers import fixed
from tests.support.server import Server
from tests.support.stage import Stage

STEP = 3
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def opened(stage: Stage, run: str, step: int = STEP) -> Stage:
    stage.open(run, f"#step={step}&view=time")
    stage.expect_step(step)
    expect(stage.region("Two phases")).to_be_visible()
    return stage


def milliseconds(ms: float) -> str:
    """As the page writes a time."""
    value, digits, unit = (ms / 1000, 2, "s") if ms >= 1000 else (ms, 0 if ms >= 10 else 1 if ms >= 1 else 2, "ms")
    return f"{fixed(value, digits)}\u202f{unit}"


def figures(table: Locator, name: str) -> list[float]:
    """A row's two numbers, prefixes of units applied."""
    row = table.get_by_role("row").filter(has=table.page.get_by_role("rowheader", name=name))
    found = [
        re.match(r"([\d,.]+)\s*(?:([kMG]?)(?:FLOP|B)|ms|s|$)", cell.inner_text())
        for cell in row.get_by_role("cell").all()
    ]
    assert all(found), row.inner_text()
    return [float(one[1].replace(",", "")) * PREFIXES[one[2] or ""] for one in found if one]


def test_every_step_stands_in_the_chart_with_its_measured_time(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    steps = stage.server.log(short_run).steps
    table = stage.page.get_by_role("table", name="Milliseconds of each step; step 0 is prefill")
    rows = table.get_by_role("row")
    expect(rows).to_have_count(1 + len(steps))  # the chart is drawn once its size is known
    shown = [row.get_by_role("cell").inner_text() for row in rows.all()[1:]]
    assert shown == [milliseconds(step["ms"]["total"]) for step in steps]
    part = stage.region("Step by step")
    expect(part).to_contain_text(f"Until the first token (TTFT) it took {milliseconds(steps[0]['ms']['total'])}")
    quiet = [step for step in steps[1:] if not step["conditions"]["disturbed"]]
    middle = median(step["ms"]["total"] for step in quiet or steps[1:])
    expect(part).to_contain_text(f"took {milliseconds(middle)}, which is {1000 / middle:.1f} tokens a second")


def test_the_chart_is_read_and_steered_with_the_keyboard(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    steps = stage.server.log(short_run).steps
    part = stage.region("Step by step")
    chart = part.get_by_role("group", name="Milliseconds of each step; step 0 is prefill. Arrow keys read it.")
    chart.focus()
    stage.page.keyboard.press("ArrowLeft")
    expect(part).to_contain_text(
        re.compile(rf"step {STEP - 1}\s*took\s*{milliseconds(steps[STEP - 1]['ms']['total'])}")
    )
    stage.expect_step(STEP)
    stage.page.keyboard.press("Enter")
    stage.expect_step(STEP - 1)
    expect(stage.region(f"Inside step {STEP - 1}")).to_be_visible()


def test_the_phases_figures_are_those_of_the_logged_forward_passes(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    log = stage.server.log(short_run)
    prefill, decode = log.steps[0], log.steps[1:]
    prompt = len(log.open["tokens"])
    table = stage.page.get_by_role("table", name="Prefill and decode side by side")
    middle = {name: median(step[name] for step in decode) for name in ("flops", "bytes_read")}
    assert figures(table, "rows in one step") == [prompt, 1]
    for name, key in (("arithmetic computed", "flops"), ("memory read computed", "bytes_read")):
        assert figures(table, name) == pytest.approx([prefill[key], middle[key]], rel=0.006)
    intensities = [prefill["flops"] / prefill["bytes_read"], middle["flops"] / middle["bytes_read"]]
    assert figures(table, "arithmetic intensity") == pytest.approx(intensities, rel=0.006)
    spent = [prefill["ms"]["forward"], median(step["ms"]["forward"] for step in decode)]
    rates = [1000 * prefill["flops"] / spent[0], 1000 * middle["flops"] / spent[1]]
    assert figures(table, "arithmetic done per second") == pytest.approx(rates, rel=0.006)
    row = table.get_by_role("row").filter(has=stage.page.get_by_role("rowheader", name="forward pass"))
    assert [cell.inner_text() for cell in row.get_by_role("cell").all()] == [milliseconds(ms) for ms in spent]


def test_a_steps_time_is_split_as_it_was_measured_down_to_the_layers(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    ms = stage.server.log(short_run).steps[STEP]["ms"]
    part = stage.page.get_by_role("region", name=f"Inside step {STEP}")
    for name in ("forward", "capture", "sample"):
        expect(part.get_by_role("definition").filter(has_text=milliseconds(ms[name])).first).to_be_visible()
    table = part.get_by_role("table", name="Milliseconds of each layer in this step")
    rows = table.get_by_role("row")
    expect(rows).to_have_count(1 + len(ms["layers"]))
    shown = [row.get_by_role("cell").inner_text() for row in rows.all()[1:]]
    assert shown == [milliseconds(layer) for layer in ms["layers"]]
    expect(part).to_contain_text(
        f"Together {milliseconds(sum(ms['layers']))} of the forward pass's {milliseconds(ms['forward'])}"
    )


def test_the_summary_opens_it_by_keyboard(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=1")
    stage.button("Where does it go?").focus()
    stage.page.keyboard.press("Enter")
    expect(stage.region("Two phases")).to_be_visible()
    stage.page.wait_for_url("**view=time*")


def test_a_run_of_one_step_has_prefill_alone(stage: Stage) -> None:
    run = stage.server.finished_run("Hi", max_new_tokens=1)
    opened(stage, run, step=0)
    expect(stage.region("Two phases")).to_contain_text("Decode has not begun.")
    stage.page.get_by_role("navigation", name="Zoom").get_by_role("button", name="Cache", exact=True).click()
    expect(stage.region("One step, operation by operation")).to_contain_text("nothing can be reused")
    expect(stage.region("Why keep K and V")).to_contain_text("With one step there is nothing to keep yet")


def test_nothing_is_wider_than_a_phone(new_page: Any, server: Server, short_run: str) -> None:
    phone = Stage(new_page(viewport={"width": 390, "height": 844}, has_touch=True), server)
    opened(phone, short_run)
    phone.button("Inspector").click()
    expect(phone.region(f"Inside step {STEP}")).to_be_visible()
    assert phone.overflow() <= 0
    assert phone.region("Inspector").evaluate("region => region.scrollWidth - region.clientWidth") <= 0
